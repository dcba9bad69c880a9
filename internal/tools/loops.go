package tools

import (
	"bytes"
	"slices"
	"strings"
)

// Bounds of the rules against loops.
const (
	loopWindow = 5  // tries of one tool that are looked at
	loopTimes  = 3  // times that make a loop
	loopCycle  = 8  // calls in the longest cycle
	loopPolls  = 10 // equal answers to a question that may be asked again and again
	loopRest   = 5  // steps for which a tool is rested
	loopMemory = 48 // calls that are remembered
)

// Rule names the pattern that was found.
type Rule string

// The rules. All but RuleDiffering and RulePolling are grave.
const (
	RuleFailing   Rule = "failing"   // it failed three times, on one target or two
	RuleDiffering Rule = "differing" // it failed three times, each time on another target
	RuleRepeating Rule = "repeating" // the same call brought the same three times
	RuleCycle     Rule = "cycle"     // the same two to eight calls, three times over
	RulePolling   Rule = "polling"   // ten times the same answer to a question that may be repeated
	RuleRested    Rule = "rested"    // it was called while it was rested
)

// Grave says whether the rule leads on from a reminder.
func (r Rule) Grave() bool { return r != RuleDiffering && r != RulePolling }

// Rung is what is done against a loop: each time that it returns after the last
// measure, the next.
type Rung string

// The rungs. Without is what a person may say once they are asked.
const (
	RungRemind  Rung = "remind"  // the model is told, with its next input
	RungRest    Rung = "rest"    // and the tool is rested
	RungAsk     Rung = "ask"     // and a person is asked
	RungWithout Rung = "without" // the tool stays rested until a person speaks again
)

// Target is what a loop is about: calls of a tool that look alike.
type Target struct {
	Tool  string `json:"tool"`
	Loose string `json:"loose"`
}

// Measure is what is done against a loop, as it is put on record.
type Measure struct {
	Rule Rule   `json:"rule"`
	Rung Rung   `json:"rung"`
	Tool string `json:"tool"` // whose loop it is; of a cycle, the first by name
	// Calls are the numbers of the calls that show the pattern, oldest first.
	Calls []int `json:"calls"`
	// Targets are all that the loop was about since it was first met.
	Targets []Target `json:"targets"`
	// UntilStep is the first step at which what is rested is back.
	UntilStep int `json:"until_step,omitempty"`
}

// Loops watches the calls of one session for repetition that leads nowhere, and
// says what is due against it. The worker folds it from the session's events, in
// their order: ended calls, the measures that were taken, people's words. The
// zero value is ready.
//
// A success with an effect, or a person, makes it forget everything: what failed
// may work now. So editing and testing in turn is no loop. Outages are the
// breaker's business, and not seen here at all.
type Loops struct {
	seen   []seen            // the latest last
	climbs map[string]*climb // by Measure.Tool
}

// seen is one ended call.
type seen struct {
	Observed
	failed bool
	fresh  bool // it brought what no such call had brought before
}

// climb is how far the measures against one loop have got.
type climb struct {
	rung    Rung
	light   bool // it was reminded of a rule that is not grave, and of no other
	targets []Target
	until   int
}

// Observe takes the next ended call into account. Calls of the harness's own
// tools are not to be told.
func (l *Loops) Observe(o Observed) {
	s := seen{Observed: o}
	switch {
	case o.Result.Status() == Error:
		if !countsForLoops(o.Result) {
			return
		}
		s.failed = true
	case o.Result.Status() == Partial:
		s.failed = len(o.Result.Completed()) == 0 || l.failedOn(o)
	}
	if !s.failed && o.Effect.Writes() {
		l.seen, l.climbs = nil, nil
		return
	}
	s.fresh = !s.failed && !l.known(&s)
	if c := l.climbs[o.Tool]; s.fresh && c != nil && c.rung != RungWithout && c.about(o) {
		delete(l.climbs, o.Tool)
	}
	if len(l.seen) >= 2*loopMemory {
		l.seen = slices.Delete(l.seen, 0, len(l.seen)-loopMemory)
	}
	l.seen = append(l.seen, s)
}

// countsForLoops says whether a failure tells of the call, rather than of a
// service that is away or of a limit.
func countsForLoops(r Result) bool {
	switch r.ErrorType() {
	case BudgetExceeded, Cancelled:
		return false
	}
	return r.Retryable() != RetryYes && !r.ErrorType().Outage()
}

// failedOn says whether all items that failed had failed before.
func (l *Loops) failedOn(o Observed) bool {
	for _, before := range slices.Backward(l.seen) {
		if before.Tool != o.Tool {
			continue
		}
		failedThen := before.Result.Failed()
		same := len(o.Result.Failed()) > 0
		for _, item := range o.Result.Failed() {
			same = same && slices.ContainsFunc(failedThen, func(it Item) bool { return it.Item == item.Item })
		}
		if same {
			return true
		}
	}
	return false
}

// like says whether two calls are the same and came out the same. Of two that
// failed the words don't count: the first fails, the next is refused.
func (s *seen) like(o *seen) bool {
	if s.Tool != o.Tool || s.Exact != o.Exact || s.failed != o.failed {
		return false
	}
	named := func(a, b Item) bool { return a.Item == b.Item }
	return s.failed || s.Result.Status() == o.Result.Status() && bytes.Equal(s.Result.Data(), o.Result.Data()) &&
		slices.EqualFunc(s.Result.Completed(), o.Result.Completed(), named) && slices.EqualFunc(s.Result.Failed(), o.Result.Failed(), named)
}

// known says whether a call came out like an earlier one.
func (l *Loops) known(s *seen) bool {
	for i := range l.seen {
		if l.seen[i].like(s) {
			return true
		}
	}
	return false
}

// about says whether a success of this call ends the loop.
func (c *climb) about(o Observed) bool {
	return len(c.targets) != 1 || c.targets[0] == Target{o.Tool, o.Loose}
}

// Take takes into account what was done against a loop.
func (l *Loops) Take(m Measure) {
	if l.climbs == nil {
		l.climbs = map[string]*climb{}
	}
	l.climbs[m.Tool] = &climb{rung: m.Rung, light: !m.Rule.Grave(), targets: m.Targets, until: m.UntilStep}
}

// PersonSpoke forgets everything, and gives the tools back.
func (l *Loops) PersonSpoke() { *l = Loops{} }

// Rested are the tools that are to be let alone, for Facts: on one target, or
// as a whole if they went wrong on several.
func (l *Loops) Rested() (list []Rested) {
	for _, c := range l.climbs {
		if c.rung != RungRest && c.rung != RungAsk && c.rung != RungWithout {
			continue
		}
		for _, t := range c.targets {
			r := Rested{Tool: t.Tool, Loose: t.Loose, UntilStep: c.until}
			if several := slices.ContainsFunc(c.targets, func(o Target) bool { return o.Tool == t.Tool && o.Loose != t.Loose }); several {
				r.Loose = ""
			}
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(a, b Rested) int { return strings.Compare(a.Tool+" "+a.Loose, b.Tool+" "+b.Loose) })
	return list
}

// Due says what is to be done, now that all calls of a step have ended: nothing
// as a rule, else the next measure against each loop that this step went on
// with. It changes nothing.
func (l *Loops) Due(step int) (list []Measure) {
	last := len(l.seen) - 1
	if last < 0 || l.seen[last].Step != step {
		return nil
	}
	round, circling := l.cycle()
	for i := last; i >= 0 && l.seen[i].Step == step; i-- {
		tool := l.seen[i].Tool
		if slices.ContainsFunc(l.seen[i+1:], func(s seen) bool { return s.Tool == tool }) {
			continue // looked at already
		}
		m, ok := l.ofTool(tool, step)
		if !ok || circling && m.Rule == RuleRepeating {
			continue
		}
		circling = circling && !m.Rule.Grave()
		list = l.climbed(list, m, step)
	}
	if circling {
		list = l.climbed(list, round, step)
	}
	return list
}

// climbed adds the measure that a finding leads to, if it leads to one.
func (l *Loops) climbed(list []Measure, m Measure, step int) []Measure {
	m.Rung = RungRemind
	if c := l.climbs[m.Tool]; c != nil {
		for _, t := range c.targets {
			if !slices.Contains(m.Targets, t) {
				m.Targets = append(m.Targets, t)
			}
		}
		switch {
		case !m.Rule.Grave():
			return list // once is enough
		case c.light:
		case c.rung == RungRemind:
			m.Rung, m.UntilStep = RungRest, step+1+loopRest
		case c.rung == RungRest:
			m.Rung, m.UntilStep = RungAsk, c.until
		default:
			return list // people have it
		}
	}
	return append(list, m)
}

// try is what a tool did in one step: calls that were asked for at once know
// nothing of each other, and count once.
type try struct {
	calls  []seen
	failed bool // as a whole
	loose  string
}

// tries are the latest tries of a tool, the latest first.
func (l *Loops) tries(tool string) (list []try) {
	for _, s := range slices.Backward(l.seen) {
		if s.Tool != tool {
			continue
		}
		if n := len(list); n > 0 && list[n-1].calls[0].Step == s.Step {
			t := &list[n-1]
			t.calls = append(t.calls, s)
			t.failed = t.failed && s.failed
			continue
		}
		if len(list) == loopWindow {
			break
		}
		list = append(list, try{calls: []seen{s}, failed: s.failed})
	}
	for i := range list {
		list[i].loose = looseOf(list[i].calls)
	}
	return list
}

func looseOf(calls []seen) string {
	if len(calls) == 1 {
		return calls[0].Loose
	}
	var all []string
	for _, c := range calls {
		all = append(all, c.Loose)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// ofTool looks for a pattern in what one tool did.
func (l *Loops) ofTool(tool string, step int) (m Measure, ok bool) {
	m.Tool = tool
	var latest *seen
	for i := len(l.seen) - 1; i >= 0 && l.seen[i].Step == step; i-- {
		s := &l.seen[i]
		if s.Tool != tool {
			continue
		}
		if s.Result.ErrorType() == ToolRested {
			m.Rule = RuleRested
			m.add(*s)
			return m, true
		}
		if latest == nil {
			latest = s
		}
	}
	if latest.fresh {
		return m, false
	}
	if !latest.failed {
		return l.repeating(*latest)
	}
	var failed []try
	same := 0
	targets := map[string]bool{}
	tries := l.tries(tool)
	for _, t := range tries {
		if t.failed {
			failed = append(failed, t)
			targets[t.loose] = true
			if t.loose == tries[0].loose {
				same++
			}
		}
	}
	if !tries[0].failed || len(failed) < loopTimes {
		return m, false
	}
	m.Rule = RuleDiffering
	if len(targets) <= 2 || same >= loopTimes {
		m.Rule = RuleFailing
	}
	for _, t := range slices.Backward(failed) {
		if m.Rule == RuleFailing && len(targets) > 2 && t.loose != tries[0].loose {
			continue
		}
		for _, c := range slices.Backward(t.calls) {
			m.add(c)
		}
	}
	return m, true
}

// repeating looks whether a call that succeeded has brought the same before,
// with nothing new from any other call since.
func (l *Loops) repeating(latest seen) (m Measure, ok bool) {
	m.Tool, m.Rule = latest.Tool, RuleRepeating
	need, window := loopTimes, loopWindow
	if latest.Polling {
		m.Rule, need, window = RulePolling, loopPolls, loopPolls
	}
	var times []seen
	step, tries := 0, 0
	for _, s := range slices.Backward(l.seen) {
		same := s.like(&latest)
		about := s.Tool == latest.Tool
		if latest.Polling { // of each thing that is polled by itself
			about = about && s.Exact == latest.Exact
		}
		if about && s.Step != step {
			if tries++; tries > window {
				break
			}
			step = s.Step
		}
		if same && (len(times) == 0 || times[len(times)-1].Step != s.Step) {
			times = append(times, s)
		}
		if s.fresh || latest.Polling && about && !same {
			break
		}
	}
	if len(times) < need {
		return m, false
	}
	for _, s := range slices.Backward(times) {
		m.add(s)
	}
	return m, true
}

// cycle looks for calls that come round for the third time.
func (l *Loops) cycle() (m Measure, ok bool) {
	if latest := &l.seen[len(l.seen)-1]; latest.fresh || latest.Polling {
		return m, false
	}
	for k := 2; k <= loopCycle; k++ {
		if len(l.seen) < k*loopTimes {
			return m, false
		}
		round := l.seen[len(l.seen)-k*loopTimes:]
		ok = true
		one := true // the same call all along is no circle
		for i := range round {
			ok = ok && !round[i].Polling && (i < k || round[i].like(&round[i-k]))
			one = one && round[i].like(&round[0])
		}
		if !ok || one {
			continue
		}
		m = Measure{Rule: RuleCycle, Tool: round[0].Tool}
		for _, s := range round {
			m.Tool = min(m.Tool, s.Tool)
			m.add(s)
		}
		return m, true
	}
	return m, false
}

func (m *Measure) add(s seen) {
	m.Calls = append(m.Calls, s.N)
	if t := (Target{s.Tool, s.Loose}); !slices.Contains(m.Targets, t) {
		m.Targets = append(m.Targets, t)
	}
}
