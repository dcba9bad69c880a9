package i18n

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"

	"baton/internal/problem"
)

//go:embed locales/*.json
var locales embed.FS

// catalogue is read once and never changed.
var catalogue = sync.OnceValue(func() map[Language]*goi18n.Localizer {
	bundle := goi18n.NewBundle(language.English)
	bundle.RegisterUnmarshalFunc("json", json.Unmarshal)
	for _, l := range Languages() {
		if _, err := bundle.LoadMessageFileFS(locales, "locales/"+string(l)+".json"); err != nil {
			panic(fmt.Sprintf("the embedded catalogue is broken: %v", err))
		}
	}
	said := map[Language]*goi18n.Localizer{}
	for _, l := range Languages() {
		said[l] = goi18n.NewLocalizer(bundle, string(l))
	}
	return said
})

// T says the sentence with this key in the language of ctx's reader. The
// values of its placeholders follow as name, value, name, value; whole numbers
// are written the reader's way (1,840), so pass a number that is a name (a
// year, an order) as a string. The value named "n", a whole number, chooses
// the plural form.
//
// An unknown key is returned as it stands: a page with an odd word serves its
// reader better than none. Tests find such keys.
func T(ctx context.Context, key string, pairs ...any) string {
	args := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		args[name] = pairs[i+1]
	}
	return say(ctx, key, args)
}

// A Message is a sentence whose reader is not known yet. It can be stored as
// JSON.
type Message struct {
	Key    string         `json:"key"`
	Params map[string]any `json:"params,omitempty"`
}

// Say makes a Message from pairs of names and values, as T takes them.
func Say(key string, pairs ...any) Message {
	m := Message{Key: key}
	for i := 0; i+1 < len(pairs); i += 2 {
		if m.Params == nil {
			m.Params = make(map[string]any, len(pairs)/2)
		}
		name, _ := pairs[i].(string)
		m.Params[name] = pairs[i+1]
	}
	return m
}

// In says the message in the language of ctx's reader.
func (m Message) In(ctx context.Context) string { return say(ctx, m.Key, m.Params) }

// IsZero says whether there is nothing to say.
func (m Message) IsZero() bool { return m.Key == "" }

func say(ctx context.Context, key string, args map[string]any) string {
	config := goi18n.LocalizeConfig{MessageID: key}
	if len(args) > 0 {
		data := make(map[string]any, len(args))
		for name, v := range args {
			data[name] = v
			if f, ok := figureOf(v); ok {
				data[name] = f.In(ctx)
			}
			if n, whole := wholeNumber(v); whole {
				data[name] = Number(ctx, n)
				if name == "n" {
					config.PluralCount = n
				}
			}
		}
		config.TemplateData = data
	}
	s, err := catalogue()[Of(ctx)].Localize(&config)
	if s == "" && err != nil {
		return key
	}
	// A value that wasn't given leaves a gap that reads as one.
	return strings.ReplaceAll(s, "<no value>", "…")
}

// wholeNumber also takes the float64 that a stored Message's number comes back
// as from JSON.
func wholeNumber(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case int32:
		return int64(v), true
	case float64:
		const exact = 1 << 53
		if v == float64(int64(v)) && v < exact && v > -exact {
			return int64(v), true
		}
	}
	return 0, false
}

// Problem is a problem in words: what happened, why, and what the reader can
// do about it.
type Problem struct{ What, Why, Do string }

// Explain puts p into words for ctx's reader. A code that has no words of its
// own is explained by its kind.
func Explain(ctx context.Context, p *problem.Error) Problem {
	part := func(name string) string {
		key := "problem." + p.Code + name
		if s := say(ctx, key, p.Params); s != key {
			return s
		}
		return say(ctx, "problem."+p.Kind.String()+name, p.Params)
	}
	return Problem{
		What: strings.TrimSpace(part(".what")),
		Why:  strings.TrimSpace(part(".why")),
		Do:   strings.TrimSpace(part(".do")),
	}
}
