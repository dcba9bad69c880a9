package i18n

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"baton/internal/problem"
)

func reading(l Language) context.Context { return With(context.Background(), l) }

// R: V4, D1 — the reader's language: setting, then cookie, then header.
func TestTheStrongestWishThatCanBeMetWins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		wishes []string
		want   Language
	}{
		{"nothing wished", nil, English},
		{"empty wishes", []string{"", "", ""}, English},
		{"setting beats header", []string{"zh-Hans", "", "en"}, Chinese},
		{"header alone", []string{"", "", "zh-CN,zh;q=0.9,en;q=0.8"}, Chinese},
		{"header by quality", []string{"", "", "zh;q=0.2, en-GB"}, English},
		{"a language we don't speak falls through", []string{"", "fr", "zh-CN"}, Chinese},
		{"only languages we don't speak", []string{"fr-FR,ru;q=0.4"}, English},
		{"nonsense", []string{"\x00<script>", "zh"}, Chinese},
		{"traditional script reads simplified better than English", []string{"zh-TW"}, Chinese},
	} {
		if got := Match(c.wishes...); got != c.want {
			t.Errorf("%s: Match(%q) = %s, want %s", c.name, c.wishes, got, c.want)
		}
	}
}

func TestAContextWithoutALanguageReadsEnglish(t *testing.T) {
	t.Parallel()
	if got := Of(context.Background()); got != English {
		t.Errorf("Of(empty context) = %s", got)
	}
	if got := Of(With(reading(Chinese), "tlh")); got != Chinese {
		t.Errorf("an unknown language replaced a known one: %s", got)
	}
}

func TestNumbersChooseThePluralAndAreGrouped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		l    Language
		n    int
		want string
	}{
		{English, 0, "0 questions wait"},
		{English, 1, "1 question waits"},
		{English, 1840, "1,840 questions wait"},
		{Chinese, 1, "1 个问题等待处理"},
		{Chinese, 1840, "1,840 个问题等待处理"},
	} {
		if got := T(reading(c.l), "inbox.waiting", "n", c.n); got != c.want {
			t.Errorf("%s, %d: %q, want %q", c.l, c.n, got, c.want)
		}
	}
}

func TestAnUnknownKeyIsShownInsteadOfNothing(t *testing.T) {
	t.Parallel()
	if got := T(reading(Chinese), "no.such.key", "n", 1); got != "no.such.key" {
		t.Errorf("T(unknown) = %q", got)
	}
}

// R: UI, I18N — server-made sentences are stored as key and parameters.
func TestAStoredMessageIsSaidInEachReadersLanguage(t *testing.T) {
	t.Parallel()
	stored, err := json.Marshal(Say("inbox.waiting", "n", 2))
	if err != nil {
		t.Fatal(err)
	}
	var m Message
	if err := json.Unmarshal(stored, &m); err != nil {
		t.Fatal(err)
	}
	if got := m.In(reading(English)); got != "2 questions wait" {
		t.Errorf("in English: %q", got)
	}
	if got := m.In(reading(Chinese)); got != "2 个问题等待处理" {
		t.Errorf("in Chinese: %q", got)
	}
}

// R: S3 — what happened, why, what can be done; never the cause.
func TestAProblemIsExplainedWithoutItsCause(t *testing.T) {
	t.Parallel()
	p := problem.Wrap(errors.New("pq: secret table"), problem.NotFound, "not_found", nil)
	for _, l := range Languages() {
		words := Explain(reading(l), p)
		if words.What == "" || words.Why == "" || words.Do == "" {
			t.Errorf("%s: %+v lacks a part", l, words)
		}
	}
}

func TestACodeWithoutWordsIsExplainedByItsKind(t *testing.T) {
	t.Parallel()
	odd := problem.New(problem.Forbidden, "a_code_that_nobody_wrote_words_for", nil)
	plain := problem.New(problem.Forbidden, "forbidden", nil)
	if got, want := Explain(reading(Chinese), odd), Explain(reading(Chinese), plain); got != want {
		t.Errorf("Explain = %+v, want %+v", got, want)
	}
}

func TestNumbersMoneyDatesAndSpansAreWrittenTheReadersWay(t *testing.T) {
	t.Parallel()
	en, zh := reading(English), reading(Chinese)
	at := time.Date(2026, 11, 30, 14, 5, 0, 0, time.UTC)
	for _, c := range []struct{ got, want string }{
		{Number(en, 0), "0"},
		{Number(en, 999), "999"},
		{Number(en, 1000), "1,000"},
		{Number(en, -1234567), "−1,234,567"},
		{Number(en, -9223372036854775808), "−9,223,372,036,854,775,808"},
		{Compact(en, 999), "999"},
		{Compact(en, 61_000), "61k"},
		{Compact(en, 1_250_000), "1.2M"},
		{Compact(en, 123_456), "123k"},
		{Compact(zh, 61_000), "6.1万"},
		{Compact(zh, 9_999), "9,999"},
		{Money(en, "1284.00", "EUR"), "€1,284.00"},
		{Money(en, "-1284.5", "USD"), "−$1,284.5"},
		{Money(en, "9007199254740993.01", "CHF"), "9,007,199,254,740,993.01 CHF"},
		{Money(zh, "100", "CNY"), "¥100"},
		{Money(en, "about 5", "EUR"), "about 5 EUR"},
		{Money(en, "", "EUR"), "EUR"},
		{Money(en, "1e9", "EUR"), "1e9 EUR"},
		{Date(en, at), "30 Nov 2026"},
		{Date(zh, at), "2026年11月30日"},
		{DateTime(en, at), "30 Nov 2026, 14:05 UTC"},
		{DateTime(zh, at), "2026年11月30日 14:05 UTC"},
		{Span(en, 0), "0.0 s"},
		{Span(en, 3*time.Millisecond), "<0.1 s"},
		{Span(en, 420*time.Millisecond), "0.4 s"},
		{Span(en, 9990*time.Millisecond), "9.9 s"},
		{Span(en, 59900*time.Millisecond), "59 s"},
		{Span(en, 6*time.Minute+2*time.Second), "6m 2s"},
		{Span(en, time.Hour), "1h"},
		{Span(en, -108*time.Minute), "1h 48m"},
		{Span(en, 76*time.Hour), "3d 4h"},
		{Span(zh, 15*time.Second), "15 秒"},
		{Span(zh, 108*time.Minute), "1 小时 48 分"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func BenchmarkT(b *testing.B) {
	ctx := reading(Chinese)
	b.ReportAllocs()
	for b.Loop() {
		T(ctx, "nav.inbox")
	}
}
