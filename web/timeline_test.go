package web

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/internal/i18n"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

func fold(t *testing.T, w *story, technical bool) *timeline {
	t.Helper()
	return sample{}.fold(i18n.With(t.Context(), i18n.English), w, sample{}.sessionRow(sessions.Running), technical, 0)
}

func looks(e templates.Event) (list []templates.Look) {
	for _, b := range e.Bars {
		list = append(list, b.Look)
	}
	return list
}

// R: V6, UI — whoever was shown the first part of a session, and then what has
// changed since, has before them what a page shows that is opened at the end.
func TestWhatHasChangedLeadsToTheSameRows(t *testing.T) {
	t.Parallel()
	for _, technical := range []bool{false, true} {
		events := sample{}.story().events
		for cut := range events {
			tl := fold(t, &story{events: events[:cut]}, technical)
			rows, seq, scale := tl.list(), tl.seq, tl.chart.scale
			for i, e := range events[cut:] {
				if err := tl.tell(e); err != nil {
					t.Fatal(err)
				}
				if i%3 != 0 && i != len(events[cut:])-1 {
					continue // several events at once
				}
				rows = patched(t, rows, tl.rowsSince(seq, scale))
				seq, scale = tl.seq, tl.chart.scale
			}
			if want := fold(t, &story{events: events}, technical).list(); !reflect.DeepEqual(rows, want) {
				t.Fatalf("technical %v, cut at %d: %d rows differ from the %d of a page", technical, cut, len(rows), len(want))
			}
		}
	}
}

// patched does with rows what a browser does with changes.
func patched(t *testing.T, rows []templates.Event, changes []change) []templates.Event {
	t.Helper()
	for _, c := range changes {
		at := slices.IndexFunc(rows, func(e templates.Event) bool { return e.ID == c.Event.ID })
		before := slices.IndexFunc(rows, func(e templates.Event) bool { return e.ID == c.After })
		switch {
		case at >= 0 && before == at-1:
			rows[at] = c.Event
		case at < 0 && before == len(rows)-1:
			rows = append(rows, c.Event)
		default:
			t.Fatalf("%s comes after %q: a row has moved", c.Event.ID, c.After)
		}
	}
	return rows
}

func TestEachRowHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range fold(t, (sample{}).story(), true).list() {
		if e.ID == "" || seen[e.ID] {
			t.Errorf("two rows are called %q", e.ID)
		}
		seen[e.ID] = true
	}
}

// R: UI, X1 — attempts are apart, with the waits between them; what failed, what
// was refused and what was done in part look different.
func TestBarsShowHowACallWent(t *testing.T) {
	t.Parallel()
	rows := map[string]templates.Event{}
	w := sample{}.story()
	sample{}.waits(w)
	for _, e := range fold(t, w, true).list() {
		rows[e.ID] = e
	}
	bad, wait := templates.LookBad, templates.LookWait
	for name, want := range map[string][]templates.Look{
		"call-1":   {templates.LookQueue, templates.LookOK},
		"call-4":   {bad, wait, bad, wait, bad, wait, bad},
		"call-6":   {templates.LookOutline}, // denied
		"call-7":   {templates.LookOutline}, // refused by the circuit
		"call-8":   {templates.LookOK, bad},
		"event-2":  {templates.LookAgent},
		"event-13": {templates.LookHuman},
	} {
		if got := looks(rows[name]); !slices.Equal(got, want) {
			t.Errorf("%s (%s) is drawn as %v, want %v", name, rows[name].Text, got, want)
		}
	}
	if e := rows["call-4"]; e.Label.Text != "4 attempts" || !e.Problem || e.State != "Failed" {
		t.Errorf("%+v", e)
	}
	for _, lane := range []struct {
		call string
		at   templates.Lane
	}{{"call-1", templates.LaneFirst}, {"call-2", templates.LaneLast}, {"call-3", templates.LaneNone}} {
		if got := rows[lane.call].Lane; got != lane.at {
			t.Errorf("%s has the place %q", lane.call, got)
		}
	}
	open := rows[fmt.Sprintf("event-%d", len(w.events))]
	if len(open.Bars) != 1 || open.Bars[0].X+open.Bars[0].W != whole {
		t.Errorf("a question that is open is drawn as %+v (%s)", open.Bars, open.Text)
	}
	for id, e := range rows {
		for _, b := range e.Bars {
			if b.X < 0 || b.W < 0 || b.X+b.W > whole {
				t.Errorf("%s leaves the chart: %+v", id, b)
			}
		}
	}
}

// R: UI, V6, X1 — Temporal's lesson: what is tried again must not look as if it
// merely ran, and says when.
func TestACallThatIsTriedAgainCountsDown(t *testing.T) {
	t.Parallel()
	w := newStory(time.Now().Add(-time.Minute))
	w.asks(time.Second, "", call("orders.get", `{"order": "48-2217"}`))
	w.pass(3 * time.Second)
	w.retries(1, tools.Attempt{N: 1, ErrorType: tools.Timeout}, time.Hour.Milliseconds())
	due := w.now.Add(time.Hour)
	for _, technical := range []bool{true, false} {
		tl := fold(t, w, technical)
		e := tl.drawn(tl.at[1])
		if e.Tone != "warn" || e.State != "Retrying" || e.Result != "Retrying" || e.Attempts != 2 || !e.Next.Equal(due) {
			t.Errorf("%+v", e)
		}
		if !technical {
			continue
		}
		if got := looks(e); !slices.Equal(got, []templates.Look{templates.LookBad, templates.LookWait, templates.LookRunning}) || e.Bars[2].W != 0 || e.Bars[2].X != e.Bars[1].X+e.Bars[1].W {
			t.Errorf("drawn as %+v", e.Bars)
		}
	}
	w.ends(1, time.Second, good(`{"status": 200}`), tools.Attempt{N: 1, StartedAt: w.now, ErrorType: tools.Timeout}, tools.Attempt{N: 2, StartedAt: w.now.Add(time.Second)})
	tl := fold(t, w, false)
	if e := tl.at[1].Event; !e.Next.IsZero() || e.State != "Done" {
		t.Errorf("in the end: %+v", e)
	}
}

// Whoever may control a running session can give the agent back what has a pause,
// as long as it has one.
// R: UI, P6
func TestAToolThatHasAPauseCanBeGivenBack(t *testing.T) {
	t.Parallel()
	ctx := i18n.With(t.Context(), i18n.English)
	allows := func(w *story, change func(*sessions.Session)) bool {
		v := sample{}.sessionRow(sessions.Running)
		change(&v)
		_, p := sample{}.told(ctx, w, v, false, 0)
		return slices.ContainsFunc(p.Now, func(n templates.Now) bool { return n.Allow != "" && strings.Contains(n.Text, "Refund") })
	}
	as := func(change func(*sessions.Session), more ...func(*story)) bool {
		w := newStory(time.Now().Add(-time.Minute))
		w.asks(time.Second, "", call("payments.refund", `{"payment": "pay_77120"}`))
		w.loops(tools.RuleFailing, tools.RungRest, 1)
		for _, add := range more {
			add(w)
		}
		return allows(w, change)
	}
	same := func(*sessions.Session) {}
	if !as(same) {
		t.Error("nobody can give it back")
	}
	for name, got := range map[string]bool{
		"its time is over":    as(func(v *sessions.Session) { v.Steps = 15 }),
		"the session is over": as(func(v *sessions.Session) { v.Status = sessions.Completed }),
		"somebody has written": as(same, func(w *story) {
			w.add(sessions.MessageReceived, 0, map[string]any{"by": map[string]any{"name": "Dana"}, "text": "Go on."})
		}),
		"something was done": as(same, func(w *story) { w.ends(1, time.Second, good(`{"status": 200}`)) }),
		"it only reminded":   allows(func() *story { w := newStory(time.Now()); w.loops(tools.RuleFailing, tools.RungRemind, 1); return w }(), same),
	} {
		if got {
			t.Errorf("%s, and it is offered", name)
		}
	}
}

// R: UI, P6, V6
func TestALoopIsACardThatSaysHowFarBatonHasGone(t *testing.T) {
	t.Parallel()
	for rung, want := range map[tools.Rung]string{
		tools.RungRemind: "+Reminded the agent -Next: a pause for the tool -Then: a person is asked",
		tools.RungRest:   "+Reminded the agent +Gave the tool a pause, until step 15 -Then: a person is asked",
		tools.RungAsk:    "+Reminded the agent +Gave the tool a pause +Asked a person",
	} {
		w := newStory(time.Now().Add(-time.Minute))
		for range 7 {
			w.asks(time.Second, "", call("payments.refund", `{"payment": "pay_77120"}`))
			w.ends(w.calls, time.Second, failed(tools.PermissionDenied, 1, "No."))
		}
		w.loops(tools.RuleFailing, rung, 1, 6, 7)
		for _, technical := range []bool{true, false} {
			list := fold(t, w, technical).list()
			e := list[len(list)-1]
			if e.Loop == nil || e.Text != "Same call, same failure, 3 times" || !e.Problem || e.Detail != "Refund" || len(e.Bars) > 0 {
				t.Fatalf("technical %v: %+v", technical, e)
			}
			var rungs []string
			for _, r := range e.Loop.Rungs {
				rungs = append(rungs, map[bool]string{true: "+", false: "-"}[r.Done]+r.Text)
			}
			if got := strings.Join(rungs, " "); got != want {
				t.Errorf("%s: %s", rung, got)
			}
			if c := e.Loop.Calls[1]; c.Name != "call 6" || c.Value != "#call-6" {
				t.Errorf("it belongs to %+v", c)
			}
		}
	}
	w := newStory(time.Now().Add(-time.Minute))
	w.loops(tools.RulePolling, tools.RungRemind, 1, 2, 3)
	list := fold(t, w, false).list()
	if e := list[len(list)-1]; len(e.Loop.Rungs) != 1 || e.Problem || e.Loop.Calls[0].Value != "" {
		t.Errorf("what only reminds: %+v", e)
	}
}

// R: UI — Temporal's lesson: a long wait must not squash everything.
func TestALongWaitIsARowAndNotDrawnToScale(t *testing.T) {
	t.Parallel()
	tl := fold(t, (sample{}).story(), true)
	at := slices.IndexFunc(tl.list(), func(e templates.Event) bool { return e.Kind == templates.EventGap })
	if at < 0 {
		t.Fatal("no gap")
	}
	gap, asked, answered := tl.list()[at], tl.list()[at-1], tl.list()[at+1]
	if gap.Took != 6*time.Minute+2*time.Second || gap.Text != "waiting for a person, not drawn to scale" {
		t.Errorf("%+v", gap)
	}
	if asked.Text != "Asked a person" || asked.Took != gap.Took || !strings.HasPrefix(answered.Text, "Mara Okafor answered B") {
		t.Errorf("the gap stands between %q and %q", asked.Text, answered.Text)
	}
	if tl.chart.scale > time.Minute {
		t.Errorf("with six minutes of waiting the chart is %s wide", tl.chart.scale)
	}
}

func TestNothingRunsForLongAndTheRowSaysWhy(t *testing.T) {
	t.Parallel()
	for says, tell := range map[string]func(*story){
		"in which nothing ran, not drawn to scale": func(*story) {},
		"paused, not drawn to scale":               func(w *story) { w.add(sessions.SessionPaused, 0, struct{}{}) },
	} {
		w := newStory(sampleTime)
		tell(w)
		w.pass(time.Hour)
		w.asks(time.Second, "On.")
		got := slices.Collect(func(yield func(string) bool) {
			for _, e := range fold(t, w, true).list() {
				if e.Kind == templates.EventGap && !yield(e.Text) {
					return
				}
			}
		})
		if !slices.Equal(got, []string{says}) {
			t.Errorf("%q, want %q", got, says)
		}
	}
	// A call that takes its time is no gap.
	w := newStory(sampleTime)
	w.asks(time.Second, "", call("slow", `{}`))
	w.ends(1, time.Hour, good(`1`))
	w.asks(time.Second, "On.")
	for _, e := range fold(t, w, true).list() {
		if e.Kind == templates.EventGap {
			t.Errorf("a gap of %s while a call ran", e.Took)
		}
	}
}

// Moments keep their order on the chart, whatever the gaps.
func TestTheChartKeepsTheOrderOfMoments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	c := chart{first: sampleTime}
	at := sampleTime
	for range 50 {
		from := at.Add(time.Duration(random.IntN(5000)) * time.Millisecond)
		at = from.Add(31*time.Second + time.Duration(random.IntN(5000))*time.Second)
		c.cut(from, at)
	}
	last := time.Duration(-1)
	for moment := sampleTime; moment.Before(at.Add(time.Minute)); moment = moment.Add(700 * time.Millisecond) {
		place := c.place(moment)
		if place < last {
			t.Fatalf("%s is at %s, what came before it at %s", moment, place, last)
		}
		last = place
	}
	if last > 50*(5*time.Second+gapDrawn)+2*time.Minute {
		t.Errorf("the chart is %s wide", last)
	}
}

func TestTheScaleGrowsByStepsThatCanBeQuartered(t *testing.T) {
	t.Parallel()
	c, steps := chart{first: sampleTime}, 0
	for at := time.Duration(0); at < 60*time.Hour; at = at + at/50 + 50*time.Millisecond {
		before := c.scale
		c.reach(sampleTime.Add(at))
		if c.scale < at || c.scale < before {
			t.Fatalf("at %s the chart is %s wide, after %s", at, c.scale, before)
		}
		if c.scale != before {
			steps++
		}
	}
	if steps > 25 {
		t.Errorf("redrawn %d times", steps)
	}
	for _, s := range scales {
		if s%(4*50*time.Millisecond) != 0 {
			t.Errorf("a quarter of %s is no round time", s)
		}
	}
}

// R: V6 — what a session does now.
func TestTheNowCardNamesWhatRuns(t *testing.T) {
	t.Parallel()
	w := newStory(sampleTime)
	w.asks(time.Second, "", call("orders.get", `{"order": "1"}`), call("disputes.search", `{}`))
	now := fold(t, w, false).now(templates.Now{Title: "Running"})
	if now.Title != "Look up the order" || now.Text != "and 1 more call beside it" || !now.Since.Equal(w.now) {
		t.Errorf("%+v", now)
	}
	w.ends(1, time.Second, good(`1`))
	w.ends(2, time.Second, good(`1`))
	if now := fold(t, w, false).now(templates.Now{Title: "Running"}); now.Title != "Thinks" || !now.Since.Equal(w.now) {
		t.Errorf("%+v", now)
	}
}

// Sentences are for people who don't know what a tool call is.
func TestSentencesNameNoTools(t *testing.T) {
	t.Parallel()
	w := sample{}.story()
	for _, technical := range []bool{false, true} {
		_, p := sample{}.told(i18n.With(t.Context(), i18n.English), w, sample{}.sessionRow(sessions.Waiting), technical, 0)
		var page strings.Builder
		if err := templates.SessionDetail((sample{}).sessionPage(p)).Render(i18n.With(t.Context(), i18n.English), &page); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"ledger.find_payments", "payments.refund"} {
			if strings.Contains(page.String(), tool) != technical {
				t.Errorf("technical %v: names %s: %v", technical, tool, !technical)
			}
		}
	}
}

// long is a session of n events.
func long(n int) *story {
	w := newStory(sampleTime)
	for call := 1; len(w.events) < n; call++ {
		w.asks(300*time.Millisecond, fmt.Sprintf("Step %d of many.", call), tools.Call{Tool: "query_db", Args: []byte(`{"sql": "select 1", "n": 1}`)})
		w.ends(call, 200*time.Millisecond, good(`{"columns": ["n"], "rows": [["1"]]}`))
	}
	return w
}

// The budget: what the first view of a session weighs, compressed.
func TestASessionOfThousandsOfEventsOpensLight(t *testing.T) {
	t.Parallel()
	ctx := i18n.With(t.Context(), i18n.English)
	w := long(10_000)
	after := window(int64(len(w.events)))
	if shown := int64(len(w.events)) - after; shown < eventsShown || shown >= eventsShown+eventsBlock {
		t.Fatalf("%d events are shown", shown)
	}
	for technical, most := range map[bool]int{true: 25 << 10, false: 25 << 10} {
		_, p := sample{}.told(ctx, &story{events: w.events[after:]}, sample{}.sessionRow(sessions.Running), technical, 0)
		if n := compressed(ctx, t, templates.SessionDetail((sample{}).sessionPage(p))); n > most {
			t.Errorf("technical %v: %d bytes, at most %d", technical, n, most)
		}
	}
}

func BenchmarkFoldTenThousandEvents(b *testing.B) {
	w := long(10_000)
	for b.Loop() {
		tl := sample{}.fold(b.Context(), w, sample{}.sessionRow(sessions.Running), true, 0)
		if rows := tl.list(); len(rows) < 6000 {
			b.Fatal(len(rows))
		}
	}
}

// A call's line shows its values as people read them, not the first character of
// a structure.
// R: V6
func TestACallsLineShowsItsValues(t *testing.T) {
	t.Parallel()
	const args = `{"amount":{"currency":"EUR","value":"2862.00"},"lines":[{"sku":"A"}],"payment":"P-1"}`
	if got := values([]byte(args)); got != "EUR 2,862.00, sku A, P-1" {
		t.Error(got)
	}
}
