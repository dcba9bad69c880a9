package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"baton/internal/redact"
)

// R: S3
// case: abuse A29
func TestSentencesAreTheServersOwn(t *testing.T) {
	t.Parallel()
	spec := Spec{Name: "refund", Sensitive: []string{"/card"}, Words: map[string]Words{
		"en":      {Title: "Refund", Sentence: "Refund {amount} {currency} to {customer.name} ({card.number}), {lines}, {note}{nothing}"},
		"zh-Hans": {Title: "退款", Sentence: "向 {customer.name} 退款 {amount}"},
	}}
	args := json.RawMessage(`{"amount":9007199254740993.10,"currency":"EUR","customer":{"name":"Bob\u202egnp.exe\n{amount}"},"card":{"number":"4111"},"lines":[1,2],"note":"` + strings.Repeat("x", 300) + `"}`)
	title, got := spec.Describe("en", args)
	if want := "Refund 9007199254740993.10 EUR to Bob[U+202E]gnp.exe {amount} (•••), [1,2], " + strings.Repeat("x", 200) + "...–"; title != "Refund" || got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if title, got := spec.Describe("zh-Hans", json.RawMessage(`{"amount":5}`)); title != "退款" || got != "向 – 退款 5" {
		t.Errorf("%s: %s", title, got)
	}
	if title, got := spec.Describe("fr", json.RawMessage(`nonsense`)); title != "Refund" || !strings.HasPrefix(got, "Refund – – to –") {
		t.Errorf("%s: %s", title, got)
	}
	if title, got := (Spec{Name: "x"}).Describe("en", nil); title != "x" || got != "x" {
		t.Errorf("%s: %s", title, got)
	}
}

// A list is no sentence: people read how many there are, or the only one.
// R: S3, T7
func TestSentencesCountLists(t *testing.T) {
	t.Parallel()
	spec := Spec{Name: "send", Words: map[string]Words{"en": {Title: "Send", Sentence: "Send to {mail.to:person|people}"}}}
	list := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"a@b.example",`, n), ",") }
	for to, want := range map[string]string{
		"[" + list(1) + "]": "Send to a@b.example", "[" + list(999) + "]": "Send to 999 people", "[" + list(1840) + "]": "Send to 1,840 people",
		`[{"a":1}]`: "Send to 1 person", "[]": "Send to 0 people", `"a@b.example"`: "Send to a@b.example", "null": "Send to –",
	} {
		if _, got := spec.Describe("en", json.RawMessage(`{"mail":{"to":`+to+`}}`)); got != want {
			t.Errorf("%.40s: %s, want %s", to, got, want)
		}
	}
}

// What is stored of a plan holds no secret, and says whether it is still whole.
// R: O3
func TestStoredPlansHoldNoSecrets(t *testing.T) {
	t.Parallel()
	f := testFacts(t, testTool(t, "pay", EffectSide, func(s *Spec) { s.Sensitive = []string{"/currency"} }))
	r, err := redact.New(redact.Options{Known: []redact.Known{{Name: "k", Value: "known-secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		call    Call
		changed bool
	}{
		"plain":           {call("pay", `{"order":7, "amount":1}`), false},
		"sensitive field": {call("pay", `{"order":7,"amount":1,"currency":"topsecret"}`), true},
		"known value":     {call("pay", `{"order":"known-secret"}`), true},
		"not JSON":        {Call{Tool: "pay", Raw: `{"order": known-secret`}, true},
		"no such tool":    {call("known-secret", `{"a":"known-secret"}`), true},
	} {
		p := Prepare(c.call, f)
		stored, changed := p.Stored(r, f.Tools)
		b, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Replace(string(b), `"tool":"known-secret"`, "", 1); changed != c.changed || strings.Contains(text, "known-secret") || strings.Contains(text, "topsecret") {
			t.Errorf("%s: changed %v: %s", name, changed, text)
		}
		if stored.Exact != p.Exact || stored.Digest != p.Digest || stored.Verdict != p.Verdict {
			t.Errorf("%s: it is another plan", name)
		}
		if !c.changed && string(stored.Call.Args) != string(c.call.Args) {
			t.Errorf("%s: changed without a word", name)
		}
	}
}

// R: T11, Q3
func TestMoneyIsReadWithItsCurrencyAndEveryDigit(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{"value":"2862.00","currency":"EUR"}`:           "EUR 2,862.00",
		`{"value":"500","currency":"EUR"}`:               "EUR 500",
		`{"value":"-1234567.1234","currency":"JPY"}`:     "JPY -1,234,567.1234",
		`{"value":"1e9","currency":"EUR"}`:               "EUR 1e9",
		`{"value":12,"currency":"EUR"}`:                  `{"currency":"EUR","value":12}`,
		`{"value":"1","currency":"EUR","hidden":"2000"}`: `{"currency":"EUR","hidden":"2000","value":"1"}`,
		`["a",{"b":1}]`: `["a",{"b":1}]`,
		`"a\nb"`:        "a b",
		`nonsense`:      "–",
	} {
		if got := ValueText(json.RawMessage(value)); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}
