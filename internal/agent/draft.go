package agent

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"baton/internal/clean"
	"baton/internal/redact"
	"baton/internal/sessions"
)

// How often what the model says is shown while it says it, to viewers in this
// process and, which costs a write, to those who are elsewhere; and how much of
// it. The page has room for its end.
const (
	draftEvery    = 100 * time.Millisecond
	draftFarEvery = 300 * time.Millisecond
	draftMost     = 4000 // bytes
)

// draft shows a reply while it comes. It is masked like all text, but for a
// little at its end that is held back until it is known to be no secret.
type draft struct {
	s    *sitting
	ctx  context.Context //nolint:containedctx // of the one request that it is about
	step int             // of the reply
	safe *redact.Stream
	held string // that can't be cleaned yet
	text string

	shown, far time.Time // when it was last
}

func (s *sitting) listen(ctx context.Context) *draft {
	return &draft{s: s, ctx: ctx, step: s.st.steps + 1}
}

func (d *draft) take(piece string) {
	if d.safe == nil {
		d.safe = d.s.redactor.Stream()
	}
	d.held += piece
	ready := clean.Ready(d.held)
	d.text += d.safe.Write(clean.Text(d.held[:ready]))
	d.held = d.held[ready:]
	now := time.Now()
	if d.text == "" || now.Sub(d.shown) < draftEvery {
		return
	}
	d.shown = now
	far := now.Sub(d.far) >= draftFarEvery
	if far {
		d.far = now
	}
	d.text = lastOf(d.text, draftMost)
	d.show(d.text, far)
}

// show shows a text. Whether anybody sees it changes nothing for the session.
func (d *draft) show(text string, far bool) {
	err := d.s.w.Store.ShowDraft(d.ctx, d.s.lease, sessions.Draft{Step: d.step, Text: text}, far)
	if err != nil && d.ctx.Err() == nil {
		d.s.w.Log.DebugContext(d.ctx, "what the model says was not shown", "session", d.s.row.ID, "err", err)
	}
}

// end forgets it: the reply is on record, or didn't come.
func (d *draft) end() {
	if d.shown.IsZero() {
		return
	}
	if d.s.st.steps < d.step {
		d.show("", true)
	}
	d.s.w.Store.EndDraft(d.s.lease)
}

// lastOf is the end of a text, from the beginning of a word, with a mark that
// something stood before it.
func lastOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	if _, rest, found := strings.Cut(text, " "); found {
		text = rest
	}
	return "… " + text
}
