package tools

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// play has a session make calls and takes each measure that is due. A step is a
// word; calls of one step are joined by commas. A call is a tool, a target and
// how it ends:
//
//	x:a!   failed       x:a=   brought the same as ever    x:a~   an outage
//	x:a?   refused since it is rested    x:a+   brought something new
//	w:a$   an effect    p:a=   of a tool that may be asked again and again
//	x:a%i  partial: item i failed, another was done
//
// It returns the measures: "3 failing/remind x".
func play(l *Loops, steps string) string {
	var said []string
	n := 0
	for i, word := range strings.Fields(steps) {
		step := i + 1
		if word == "person" {
			l.PersonSpoke()
			continue
		}
		for _, call := range strings.Split(word, ",") {
			n++
			l.Observe(observed(call, n, step))
		}
		for _, m := range l.Due(step) {
			l.Take(m)
			said = append(said, fmt.Sprintf("%d %s/%s %s", step, m.Rule, m.Rung, m.Tool))
		}
	}
	return strings.Join(said, ", ")
}

func observed(call string, n, step int) Observed {
	tool, rest, _ := strings.Cut(call, ":")
	at := strings.IndexAny(rest, "!=~?+$%")
	target, how := rest[:at], rest[at]
	// Targets that differ in case alone look alike.
	o := Observed{N: n, Step: step, Tool: tool, Exact: tool + target, Loose: tool + strings.ToLower(target), Effect: EffectRead, Polling: tool == "p"}
	out := Output{Data: json.RawMessage(`"same"`)}
	switch how {
	case '!':
		o.Result = Refuse(Fail(ExecutionError, fmt.Sprintf("wrong %d", n)), Meta{})
		return o
	case '~':
		o.Result = Refuse(Fail(Unavailable, "down"), Meta{})
		return o
	case '?':
		o.Result = Refuse(Fail(ToolRested, "rested"), Meta{})
		return o
	case '+':
		out.Data = json.RawMessage(fmt.Sprint(n))
	case '$':
		o.Effect = EffectSide
	case '%':
		out.Completed, out.Failed = []Item{{Item: "done"}}, []Item{{Item: rest[at+1:], Type: NotFound}}
	}
	o.Result, _ = Succeed(out, Meta{})
	return o
}

// R: P1, P2, P3, P4, P5, P6
// case: harness A14, A15, A17
func TestWhatIsALoopAndWhatIsDoneAboutIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ steps, want string }{
		"fails three times":             {"x:a! x:a! x:a!", "3 failing/remind x"},
		"fails twice":                   {"x:a! x:a!", ""},
		"climbs":                        {"x:a! x:a! x:a! x:a! x:a? x:a?", "3 failing/remind x, 4 failing/rest x, 5 rested/ask x"},
		"comes back after the rest":     {"x:a! x:a! x:a! x:a! y:1+ y:2+ y:3+ y:4+ y:5+ y:6+ x:a!", "3 failing/remind x, 4 failing/rest x, 11 failing/ask x"},
		"takes the advice":              {"x:a! x:a! x:a! y:b+ y:c+", "3 failing/remind x"},
		"looks alike":                   {"x:Abc! x:abc! x:ABC!", "3 failing/remind x"},
		"two in turn":                   {"x:a! x:b! x:a!", "3 failing/remind x"},
		"others between":                {"x:a! y:1+ y:2+ x:a! y:3+ x:a!", "6 failing/remind x"},
		"good ones of the tool between": {"x:a! x:b+ x:a! x:c+ x:a!", "5 failing/remind x"},
		"too far apart":                 {"x:a! x:1+ x:2+ x:3+ x:a! x:4+ x:5+ x:6+ x:a!", ""},
		"the latest is good":            {"x:a! x:a! y:b+", ""},
		"three that differ":             {"x:a! x:b! x:c!", "3 differing/remind x"},
		"three that differ, once":       {"x:a! x:b! x:c! x:d! x:e! x:f! x:g!", "3 differing/remind x"},
		"one of many, for the third":    {"x:a! x:b! x:a! x:c! x:a!", "3 failing/remind x, 5 failing/rest x"},
		"many, then one again":          {"x:a! x:b! x:c! x:c! x:c!", "3 differing/remind x, 5 failing/remind x"},
		"at once, not one by one":       {"x:a!,x:b!,x:c!", ""},
		"the same at once":              {"x:a!,x:a!,x:a!", ""},
		"at once, three times":          {"x:a!,x:b! x:a!,x:b! x:a!,x:b!", "3 failing/remind x"},
		"one of two is good":            {"x:a!,x:b+ x:a!,x:c+ x:a!,x:d+", ""},
		"two tools":                     {"x:a!,y:a! x:a!,y:a! x:a!,y:a!", "3 failing/remind y, 3 failing/remind x"},
		"an outage":                     {"x:a~ x:a~ x:a~ x:a~", ""},
		"an outage between":             {"x:a! x:a~ x:a! x:a~ x:a!", "5 failing/remind x"},

		"fix, then test":           {"x:t! w:1$ x:t! w:2$ x:t! w:3$ x:t! w:4$ x:t!", ""},
		"a person":                 {"x:a! x:a! person x:a! x:a!", ""},
		"a person after a rest":    {"x:a! x:a! x:a! x:a! person x:a! x:a! x:a!", "3 failing/remind x, 4 failing/rest x, 8 failing/remind x"},
		"success on the target":    {"x:a! x:a! x:a! x:a+ x:a! x:a! x:a!", "3 failing/remind x, 5 failing/remind x, 6 failing/rest x, 7 failing/ask x"},
		"success beside it":        {"x:a! x:a! x:a! x:b+ x:a!", "3 failing/remind x, 5 failing/rest x"},
		"an effect after the rest": {"x:a! x:a! x:a! x:a! w:1$ x:a! x:a! x:a!", "3 failing/remind x, 4 failing/rest x, 8 failing/remind x"},

		"the same three times":         {"x:a= x:a= x:a=", "3 repeating/remind x"},
		"the same, and on":             {"x:a= x:a= x:a= x:a= x:a?", "3 repeating/remind x, 4 repeating/rest x, 5 rested/ask x"},
		"the same, with news between":  {"x:a= y:1+ x:a= y:2+ x:a= y:3+ x:a=", ""},
		"the same, with the old":       {"y:b= x:a= y:b= x:a= x:a= y:b=", "5 repeating/remind x"},
		"output that changes":          {"x:a+ x:a+ x:a+ x:a+ x:a+", ""},
		"polling with progress":        {strings.Repeat("p:a+ ", 12), ""},
		"polling that waits":           {strings.Repeat("p:a= ", 9), ""},
		"polling that gets nowhere":    {strings.Repeat("p:a= ", 10), "10 polling/remind p"},
		"polling for ever is reminded": {strings.Repeat("p:a= ", 30), "10 polling/remind p"},
		"polling two things in turn":   {strings.Repeat("p:a= p:b= ", 10), "20 polling/remind p"},
		"polling two, one that moves":  {strings.Repeat("p:a= p:b+ ", 12), ""},
		"polling beside work":          {strings.Repeat("p:a= y:a+ ", 12), ""},

		"two in a circle":             {"x:a= y:b= x:a= y:b= x:a= y:b=", "6 cycle/remind x"},
		"three of a tool in a circle": {"x:a= x:b= x:c= x:a= x:b= x:c= x:a= x:b= x:c=", "9 cycle/remind x"},
		"four of a tool in a circle":  {"x:a= x:b= x:c= x:d= x:a= x:b= x:c= x:d= x:a= x:b= x:c= x:d=", "12 cycle/remind x"},
		"six in a circle":             {strings.Repeat("x:a= x:b= x:c= y:d= x:e= x:f= ", 3), "18 cycle/remind x"},
		"eight in a circle":           {strings.Repeat("x:a= x:b= x:c= x:d= x:e= x:f= x:g= x:h= ", 3), "24 cycle/remind x"},
		"a circle that goes on":       {"x:a= x:b= x:c= x:a= x:b= x:c= x:a= x:b= x:c= x:a=", "9 cycle/remind x, 10 cycle/rest x"},
		"a circle that brings news":   {"x:a= x:b+ x:c= x:a= x:b+ x:c= x:a= x:b+ x:c=", ""},
		"a circle with a polling one": {"p:a= x:b+ p:a= x:b+ p:a= x:b+", ""},

		"in part, the same items":  {"x:b%i x:b%i x:b%i x:b%i", "4 failing/remind x"},
		"in part, another item":    {"x:b%i x:b%j x:b%k x:b%l", ""},
		"an effect in part counts": {"x:a! x:a! w:b$ x:a!", ""},
	} {
		if got := play(&Loops{}, c.steps); got != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", name, c.steps, got, c.want)
		}
	}
}

// R: P6
func TestWhatIsRestedIsTheTargetOrTheTool(t *testing.T) {
	t.Parallel()
	for steps, want := range map[string][]Rested{
		"x:a! x:a! x:a!":                                    nil,
		"x:a! x:a! x:a! x:A!":                               {{Tool: "x", Loose: "xa", UntilStep: 10}},
		"x:a! x:b! x:a! x:b!":                               {{Tool: "x", UntilStep: 10}},
		"x:a! x:a! x:a! x:b! x:b!":                          {{Tool: "x", UntilStep: 10}},
		"x:a= x:b= y:c= x:a= x:b= y:c= x:a= x:b= y:c= x:a=": {{Tool: "x", UntilStep: 16}, {Tool: "y", Loose: "yc", UntilStep: 16}},
	} {
		l := &Loops{}
		said := play(l, steps)
		if got := l.Rested(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s (%s): rested %v, want %v", steps, said, got, want)
		}
		l.PersonSpoke()
		if got := l.Rested(); len(got) > 0 {
			t.Errorf("%s, and a person: rested %v", steps, got)
		}
	}
}

// What people said about a loop holds until they speak again; nobody is asked
// twice meanwhile.
// R: P6
func TestWithoutMeansUntilAPersonSpeaks(t *testing.T) {
	t.Parallel()
	l := &Loops{}
	play(l, "x:a! x:a! x:a! x:a! x:a?")
	l.PersonSpoke()
	l.Take(Measure{Rule: RuleRested, Rung: RungWithout, Tool: "x", Targets: []Target{{"x", "xa"}}, Calls: []int{5}})
	for step := 6; step < 100; step++ {
		l.Observe(observed("x:a?", step, step))
		if due := l.Due(step); len(due) > 0 {
			t.Fatalf("step %d: %+v", step, due)
		}
		f := Facts{Step: step, Rested: l.Rested()}
		if f.restedTool("x", "xa") == nil || f.restedTool("x", "xb") != nil {
			t.Fatalf("step %d: rested %v", step, f.Rested)
		}
	}
}

// Whatever a session does: the rungs are climbed one by one, a light rule only
// reminds, what is asked for is asked about once, and memory is bounded.
// R: P2, P6
func TestTheLadderIsClimbedRungByRung(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 11))
	words := []string{"x:a!", "x:A!", "x:b!", "x:a=", "x:b=", "y:a!", "y:a=", "y:b+", "p:a=", "x:a~", "x:c%i", "x:a!,y:a!", "x:a?", "w:a$"}
	for range 300 {
		l := &Loops{}
		rungs := map[string]Rung{}
		for step := 1; step < 150; step++ {
			word := words[rnd.IntN(len(words)-1)]
			if rnd.IntN(20) == 0 {
				word = "w:a$"
			}
			for i, call := range strings.Split(word, ",") {
				l.Observe(observed(call, step*10+i, step))
			}
			for tool := range rungs {
				if l.climbs[tool] == nil {
					delete(rungs, tool) // it was reset
				}
			}
			due := l.Due(step)
			if again := l.Due(step); fmt.Sprint(again) != fmt.Sprint(due) {
				t.Fatalf("asked twice, it says %v and %v", due, again)
			}
			for _, m := range due {
				before, want := rungs[m.Tool], RungRemind
				switch before {
				case RungRemind:
					want = RungRest
				case RungRest:
					want = RungAsk
				}
				if !m.Rule.Grave() {
					want = RungRemind
				}
				light := l.climbs[m.Tool] != nil && l.climbs[m.Tool].light
				if m.Rung != want && !light || before == RungAsk || len(m.Calls) == 0 || len(m.Targets) == 0 {
					t.Fatalf("step %d, %s: %+v after %q", step, word, m, before)
				}
				for i := 1; i < len(m.Calls); i++ {
					if m.Calls[i] <= m.Calls[i-1] {
						t.Fatalf("the calls are not in order: %v", m.Calls)
					}
				}
				l.Take(m)
				rungs[m.Tool] = m.Rung
			}
			if len(l.seen) > 2*loopMemory {
				t.Fatalf("%d calls are remembered", len(l.seen))
			}
		}
	}
}

// R: P1, P6
// case: harness A4
func TestCallsThatAreNoJSONLookAlike(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	l := &Loops{}
	var said []string
	for n := 1; n <= 5; n++ {
		p := Prepare(Call{N: n, Tool: "query_db", Raw: fmt.Sprintf(`{"sql": "select %d`, n)}, f)
		wantRefused(t, p, InvalidArguments)
		l.Observe(Observed{N: n, Step: n, Tool: "query_db", Exact: p.Exact, Loose: p.Loose, Result: *p.Result})
		for _, m := range l.Due(n) {
			l.Take(m)
			said = append(said, fmt.Sprintf("%d %s/%s", n, m.Rule, m.Rung))
		}
	}
	if got := strings.Join(said, ", "); got != "3 failing/remind, 4 failing/rest, 5 failing/ask" {
		t.Errorf("got %s", got)
	}
	good := Prepare(call("query_db", `{"sql": "select 1"}`), Facts{Tools: f.Tools, Policy: f.Policy, Keys: f.Keys, Step: 6, Rested: l.Rested()})
	if good.Result != nil && good.Result.ErrorType() == ToolRested {
		t.Errorf("a call that is right is refused: %s", good.Result.ForModel())
	}
}

// A call that succeeds and brings something new costs the rules next to nothing.
func BenchmarkLoops(b *testing.B) {
	l := &Loops{}
	var list []Observed
	for i := range 256 {
		list = append(list, observed(fmt.Sprintf("x:%d+", i), i, i))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		o := list[i%len(list)]
		o.Step = i
		l.Observe(o)
		l.Due(i)
	}
}
