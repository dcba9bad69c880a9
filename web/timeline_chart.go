package web

import (
	"context"
	"sort"
	"time"
	"unicode"

	"baton/internal/i18n"
	"baton/templates"
)

// chart places moments on the width of a timeline. Time in which nothing ran is
// left out of it. Its scale grows by steps, so that what is drawn stays as it is
// while a session goes on.
type chart struct {
	first time.Time     // at the left end
	gaps  []gap         // in their order
	scale time.Duration // of the whole width
}

// gap is time that is left out, but for a little of it.
type gap struct {
	from, to time.Time
	left     time.Duration // left out up to its end, by those before it too
}

// gapDrawn is what stays of a gap.
const gapDrawn = time.Second

// span is a length of time that is drawn. Without an end it goes on: what runs
// up to now, what is asked to the chart's end.
type span struct {
	look     templates.Look
	from, to time.Time
}

// Places on the chart are in hundredths of a percent.
const (
	whole     = 10_000
	narrowest = 50  // of a bar that is to be seen
	labelGap  = 80  // between a bar and its label
	letter    = 140 // of a label, about
)

// scales are the widths that a chart may have; each can be quartered.
var scales = []time.Duration{
	200 * time.Millisecond, 400 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 12 * time.Second, 20 * time.Second, 40 * time.Second,
	time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 12 * time.Minute, 20 * time.Minute, 40 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// cut leaves the time between two moments out.
func (c *chart) cut(from, to time.Time) {
	left := to.Sub(from) - gapDrawn
	if n := len(c.gaps); n > 0 {
		left += c.gaps[n-1].left
	}
	c.gaps = append(c.gaps, gap{from, to, left})
}

// place is how far a moment is from the left end, gaps left out.
func (c *chart) place(at time.Time) time.Duration {
	d := at.Sub(c.first)
	n := sort.Search(len(c.gaps), func(i int) bool { return !c.gaps[i].from.Before(at) }) // those that begin before it
	if n == 0 {
		return max(0, d)
	}
	g := c.gaps[n-1]
	if !at.Before(g.to) {
		return max(0, d-g.left)
	}
	// Inside of it: its little is shared out.
	into := float64(at.Sub(g.from)) / float64(g.to.Sub(g.from))
	return max(0, c.place(g.from)+time.Duration(into*float64(gapDrawn)))
}

// reach makes room for a moment.
func (c *chart) reach(at time.Time) {
	need := c.place(at)
	need += need / 16 // so that the latest doesn't stick to the border
	if c.scale > 0 && need <= c.scale {
		return
	}
	for _, s := range scales {
		if s >= need {
			c.scale = s
			return
		}
	}
	c.scale = max(c.scale, scales[len(scales)-1])
	for c.scale < need {
		c.scale *= 2
	}
}

func (c *chart) part(at time.Time) int {
	if c.scale == 0 {
		return 0
	}
	return int(min(whole, int64(c.place(at))*whole/int64(c.scale)))
}

// draw makes bars of spans, with a label beside the last.
func (c *chart) draw(spans []span, label string) (bars []templates.Bar, l templates.Label) {
	end := 0
	for _, s := range spans {
		b := templates.Bar{Look: s.look, X: c.part(s.from)}
		switch {
		case !s.to.IsZero():
			end = c.part(s.to)
		case s.look == templates.LookRunning:
			b.Since, b.PerPart = s.from, c.scale/100
			end = max(b.X, c.part(time.Now())) // it may be about to begin
		default:
			end = whole
		}
		b.W = end - b.X
		thin := s.look == templates.LookWait || s.look == templates.LookQueue || s.look == templates.LookRunning && time.Now().Before(s.from)
		if !thin && b.W < narrowest {
			b.X = min(b.X, whole-narrowest)
			b.W = narrowest
		}
		end = b.X + b.W
		bars = append(bars, b)
	}
	if label == "" || len(bars) == 0 {
		return bars, l
	}
	switch begin, room := bars[0].X, labelGap+widthOf(label); {
	case end+room <= whole:
		return bars, templates.Label{Text: label, X: end + labelGap}
	case begin >= room:
		return bars, templates.Label{Text: label, X: begin - labelGap, End: true}
	}
	return bars, l
}

// widthOf is about how wide a label is on a chart of usual size.
func widthOf(label string) (n int) {
	for _, r := range label {
		n += letter
		if unicode.Is(unicode.Han, r) {
			n += letter
		}
	}
	return n
}

// axis are the marks on top, from the left to the right end.
func (c *chart) axis(ctx context.Context) templates.Axis {
	marks := make(templates.Axis, 5)
	for i := range marks {
		at := c.scale * time.Duration(i) / 4
		marks[i] = i18n.Span(ctx, at)
		if at > 0 && at%(100*time.Millisecond) != 0 && at < time.Second {
			marks[i] = i18n.T(ctx, "axis.milliseconds", "n", at.Milliseconds())
		}
	}
	return marks
}
