package i18n

import (
	"context"

	"golang.org/x/text/language"
)

// Language is a language that Baton speaks, as a BCP 47 tag: fit for an HTML
// lang attribute and for storing.
type Language string

// The languages there are a catalogue for.
const (
	English Language = "en"
	Chinese Language = "zh-Hans"
)

// Languages are all of them, in the order in which they are offered. The first
// is what a reader gets whose wishes can't be met.
func Languages() []Language { return []Language{English, Chinese} }

// Name is the language's name in itself, so that its speakers find it in a
// list that they can't read otherwise.
func (l Language) Name() string {
	if l == Chinese {
		return "简体中文"
	}
	return "English"
}

// Known says whether s is exactly one of Languages.
func Known(s string) bool {
	return Language(s) == English || Language(s) == Chinese
}

var matcher = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})

// Match picks the reader's language from their wishes, strongest first: the
// person's setting, the cookie, the Accept-Language header. Each may be empty
// or nonsense, and may list several languages the way the header does.
func Match(wishes ...string) Language {
	for _, wish := range wishes {
		if wish == "" {
			continue
		}
		tags, _, err := language.ParseAcceptLanguage(wish)
		if err != nil || len(tags) == 0 {
			continue
		}
		if _, i, confidence := matcher.Match(tags...); confidence > language.No {
			return Languages()[i]
		}
	}
	return English
}

type readerKey struct{}

// With returns a context whose reader reads l; a language that isn't Known
// leaves the context as it is.
func With(ctx context.Context, l Language) context.Context {
	if !Known(string(l)) {
		return ctx
	}
	return context.WithValue(ctx, readerKey{}, l)
}

// Of is the language of the context's reader; English where none was set.
func Of(ctx context.Context) Language {
	if l, ok := ctx.Value(readerKey{}).(Language); ok {
		return l
	}
	return English
}
