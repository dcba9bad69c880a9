package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"baton/internal/i18n"
)

func draw(t *testing.T, l i18n.Language, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(i18n.With(t.Context(), l), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestInitialsStandForAName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Mara Okafor": "MO", "mara": "M", "Jean-Luc van der Berg": "JB", "陈美琪": "陈", "陈 美琪": "陈", "  ": "?", "": "?", "responder-2": "R2", "émile zola": "ÉZ",
	} {
		if got := Initials(name); got != want {
			t.Errorf("Initials(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestASentenceHasItsElementsWhereItsLanguageWantsThem(t *testing.T) {
	t.Parallel()
	slots := Slots{"at": templ.Raw("<b>14:30</b>")}
	for sentence, want := range map[string]string{
		"Due " + Slot("at") + ", soon": "Due <b>14:30</b>, soon",
		Slot("at") + " 到期":             "<b>14:30</b> 到期",
		"nothing":                      "nothing",
		"lost " + Slot("other") + "!":  "lost !",
		"<i>" + Slot("at"):             "&lt;i&gt;<b>14:30</b>",
	} {
		if got := draw(t, i18n.English, Sentence(sentence, slots)); got != want {
			t.Errorf("%q becomes %q, want %q", sentence, got, want)
		}
	}
}

// R: V4 — no zoned time in what the server renders; the machine's form is exact.
func TestATimeIsWrittenInUTCAndForMachines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 15, 30, 0, 5e6, time.FixedZone("CET", 3600))
	if got, want := draw(t, i18n.English, Time(at)), `<time datetime="2026-11-30T14:30:00.005Z" data-show="moment">30 Nov 2026, 14:30 UTC</time>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := draw(t, i18n.Chinese, Away(at, at.Add(-108*time.Minute))), `<time datetime="2026-11-30T14:30:00.005Z" data-show="away">1 小时 48 分</time>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// R: UI — on a narrow screen too.
func TestAnOrderNumberStaysInOnePiece(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Refund for order 48-2217 is above":  `Refund for order <span class="nowrap">48-2217</span> is above`,
		"SKU-9-B":                            `<span class="nowrap">SKU-9-B</span>`,
		"订单48-2217的退款":                       `订单<span class="nowrap">48-2217</span>的退款`,
		"a <b>1-2</b>":                       `a &lt;b&gt;<span class="nowrap">1-2</span>&lt;/b&gt;`,
		"Month-end sum":                      "Month-end sum",
		"1-" + strings.Repeat("23456-", 9):   "1-" + strings.Repeat("23456-", 9),
		"from 2026-11-30 -5 to --help a-b-c": `from <span class="nowrap">2026-11-30</span> -5 to --help a-b-c`,
	} {
		var b strings.Builder
		if err := Text(text).Render(t.Context(), &b); err != nil || b.String() != want {
			t.Errorf("%q is %q, want %q; %v", text, b.String(), want, err)
		}
	}
}
