package grounding_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"baton/internal/grounding"
)

// missing are the facts of a text that do not stand in the sources.
func missing(g *grounding.Ground, text string) (list []string) {
	for _, f := range grounding.Find(text) {
		if !g.Holds(f) {
			list = append(list, f.Text)
		}
	}
	slices.Sort(list)
	return list
}

const shown = `{"data": {"columns": ["id", "placed", "total", "status"], "rows": [
	["48-2217", "2026-11-12T10:30:00Z", "1284.50", "late"],
	["48-2218", "2026-11-13T08:05:00Z", "99.999", "late"],
	["48-2219", "2026-11-14T08:05:00Z", "20", "sent"]],
	"rate": 0.125, "amount_cents": 24000, "people": 1840, "contact": "anna@example.org", "see": "https://shop.example/orders/48-2217",
	"rates": [1.085, 0.945, 0.8525], "batch": "B-12-7", "german": "1.234 und 2.000", "big": 9007199254740993, "refund": "RF-77A/2"}}`

// R: A5
func TestAFigureIsHeldInEveryWayOfWritingIt(t *testing.T) {
	t.Parallel()
	var g grounding.Ground
	g.AddJSON(json.RawMessage(shown))
	for _, text := range []string{
		"It cost 1284.5.", "It cost €1,284.50.", "It cost 1.284,50 EUR.", "It cost 1’284.50 CHF.", "It cost 1 284,50 €.",
		"Order 48-2217 was placed on 12 November 2026 at 10:30.", "Placed November 12th.", "Placed on 12 Nov.", "12.11.2026", "12/11/2026", "11/12/2026", "于 2026年11月12日 下单。", "11月12日",
		"In November 2026.", "In 2026.", "The rate is 12.5 %.", "The rate is 12.5 percent.", "We gave back 240.00 EUR.", "1,840 people", "1840人", "about 1,800 people", "around 1.8k people", "大约 2千: 1,840",
		"The first of 3 orders; 2 are late, three in all.", "100.00 on the second.", "100.0", "Ask anna@example.org.", "See https://shop.example/orders/48-2217.",
		"9007199254740993", "Refund RF-77A/2 and rf-77a/2.", "Between 12 and 14 November 2026, on 12-14 November, am 12. November, am 12., am 12.11. um 10.30 Uhr, le 12 novembre, el 12 de noviembre, 10:30 am, 8.05 a.m.",
		"At half past ten; two and a half weeks; one in three.", "## 2. Heading\n| 1 | 48-2217 |\n| 7 | 48-2218 |", "It cost 1285 EUR, or 9007199254740993.", "1. First point\n2. Second point\n14) Fourteenth", "the 3rd time", "B2B business",
	} {
		if lost := missing(&g, text); len(lost) > 0 {
			t.Errorf("%q: not held: %q", text, lost)
		}
	}
}

// R: A5
// case: harness A25
func TestAFigureWithoutASourceIsFound(t *testing.T) {
	t.Parallel()
	var g grounding.Ground
	g.AddJSON(json.RawMessage(shown))
	for text, want := range map[string][]string{
		"Revenue was 4,711.":                       {"4,711"},
		"It cost 1284.51 and 12845.":               {"1284.51", "12845"},
		"Placed on 15 November.":                   {"15 November"},
		"Placed on 12 November 2025.":              {"12 November 2025"},
		"In October 2026.":                         {"October 2026"},
		"于 11月15日 下单，共 7 件。":                       {"11月15日", "7"},
		"Batch B-12.":                              {"B-12"},
		"Order 48-2216.":                           {"48-2216"},
		"At 10:31.":                                {"10:31"},
		"Ask anne@example.org.":                    {"anne@example.org"},
		"https://shop.example/orders/48":           {"https://shop.example/orders/48"},
		"9007199254740992":                         {"9007199254740992"},
		"Seven orders, RF-77B/2.":                  {"RF-77B/2", "Seven"},
		"About 2,400 people.":                      {"2,400"},
		"The rate is 13 %.":                        {"13"},
		"48-2217 and 2217-48, and 8-221":           {"2217-48", "8-221"},
		"Tried 7 times.":                           {"7"},
		"Between 14 and 17 November 2026.":         {"17 November 2026"},
		"At 11 am.":                                {"11"},
		"It cost 1283 EUR.":                        {"1283"},
		"It is 1e9.":                               {"1e9"},
		"7 times " + strings.Repeat("9", 40):       {"7", strings.Repeat("9", 40)},
		"12.5 of something that was never counted": {"12.5"},
	} {
		if lost := missing(&g, text); !slices.Equal(lost, want) {
			t.Errorf("%q: %q is not held, want %q", text, lost, want)
		}
	}
}

// R: A5
func TestWhatIsDerivedIsComputedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, operation string
		of               []string
		fault            string
	}{
		{"1,304.50", "sum", []string{"1284.50", "20"}, ""},
		{"1,264.50 EUR", "difference", []string{"20", "1,284.50"}, ""},
		{"652", "average", []string{"1284.50", "20"}, ""},
		{"652.3", "average", []string{"1284.50", "20"}, ""},
		{"64.2", "quotient", []string{"1284.50", "20"}, ""},
		{"64.225", "quotient", []string{"1284.50", "20"}, ""},
		{"2569", "product", []string{"1284.50", "2"}, ""},
		{"66.7 %", "percent", []string{"2", "3"}, ""},
		{"0.961", "average", []string{"1.085", "0.945", "0.8525"}, ""},
		{"3234", "sum", []string{"1.234", "2.000"}, ""},
		{"2", "count", []string{"48-2217", "48-2218"}, ""},
		{"2", "days_between", []string{"12 November 2026", "2026-11-14"}, ""},
		{"1,305.50", "sum", []string{"1284.50", "20"}, "comes out as 1304.5"},
		{"55", "sum", []string{"44", "11"}, "stands in nothing"},
		{"5", "quotient", []string{"20", "0.000"}, "stands in nothing"},
		{"many", "sum", []string{"20"}, "is not one number"},
		{"20", "sum", nil, "derived of nothing"},
		{"20", "sum", []string{"late"}, "is not one number"},
		{"20", "days_between", []string{"2026"}, "two dates"},
		{"1", "count", []string{"48-2299"}, "stands in nothing"},
	} {
		var g grounding.Ground
		g.AddJSON(json.RawMessage(shown))
		err := g.Derive(grounding.Derivation{Value: c.value, Operation: c.operation, Of: c.of})
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s of %q as %q: %v, want %q", c.operation, c.of, c.value, err, c.fault)
		}
		if err == nil && len(missing(&g, c.value)) > 0 {
			t.Errorf("%s is derived and not held", c.value)
		}
	}
}

// R: A5
func TestSentencesEndWhereTheyEnd(t *testing.T) {
	t.Parallel()
	got := grounding.Sentences("It cost 1,284.50 EUR. It is late! 已退款。再见\nEnd")
	want := []string{"It cost 1,284.50 EUR. ", "It is late! ", "已退款。", "再见\n", "End"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A text holds its own facts: over-refusal would teach a model to say nothing.
// R: A5
func FuzzATextHoldsItself(f *testing.F) {
	for _, seed := range []string{"1,284.50 EUR on 2026-11-12, 48-2217", "1.2.3 a_1-", "\xff9\xff,9", "35/40 月1日", "~3k 二 5万", "1,", "9'9", "12 May 12 May 2026", "https://1.x/?a=2, 3", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		var g grounding.Ground
		g.Add(text)
		for _, fact := range grounding.Find(text) {
			if !g.Holds(fact) {
				t.Errorf("%q does not hold its own %s %q", text, fact.Kind, fact.Text)
			}
		}
	})
}

// R: A5
func TestNumbersAreHeldByValueAlone(t *testing.T) {
	t.Parallel()
	held := func(a, b uint32) bool {
		var g grounding.Ground
		x, y := uint64(a)+1000, uint64(b)+1000
		raw, _ := json.Marshal(x)
		g.AddJSON(raw)
		other, _ := json.Marshal(y)
		return len(missing(&g, "It is "+string(other)+".")) == 0 == (x == y)
	}
	if err := quick.Check(held, nil); err != nil {
		t.Error(err)
	}
}

// R: A5
func TestListsAreCounted(t *testing.T) {
	t.Parallel()
	got := grounding.Lists("Two of Anna's orders, O-1001 and O-1004, went out as P-1, P-3, and P-7; O-9 did not. O-1、O-2和O-3")
	if want := []int{2, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for word, want := range map[string]int{"one": 1, "Four": 4, "12": 12, "many": -1} {
		if got := grounding.Whole(word); got != want {
			t.Errorf("%s is %d, want %d", word, got, want)
		}
	}
}
