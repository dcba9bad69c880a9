package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/internal/tools"
)

const worldTools = "find, fetch, job, refund, set_prices, undo_prices, notify, crash, read_output, ask_human"

// honestCase is a playbook with what is expected of it.
type honestCase struct {
	name, playbook string
	expect, task   string
	answers        []string
}

var caseLine = regexp.MustCompile(`(?m)^# (expect|task|answers): *(.*)$`)

func honestCases(t *testing.T) (list []honestCase) {
	t.Helper()
	files, err := filepath.Glob("testdata/honest/*.star")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := honestCase{name: strings.TrimSuffix(filepath.Base(file), ".star"), playbook: string(source)}
		for _, m := range caseLine.FindAllStringSubmatch(c.playbook, -1) {
			switch m[1] {
			case "expect":
				c.expect = m[2]
			case "task":
				c.task = m[2]
			case "answers":
				c.answers = strings.Split(strings.ReplaceAll(m[2], " ", ""), ",")
			}
		}
		list = append(list, c)
	}
	return list
}

// Whoever works honestly is not held up, whatever fails around them: no finish
// is refused, none is published as unverified, no loop costs more than five
// calls.
// R: A5, P6
func TestHonestSessionsAreNotHeldUp(t *testing.T) {
	t.Parallel()
	cases := honestCases(t)
	if len(cases) < honestLeast {
		t.Errorf("%d playbooks, want at least %d", len(cases), honestLeast)
	}
	p := working(t, new(honestWorlds).makers())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one := &inProcess{house: p.house, t: t, people: p.people, witness: p.witness}
			one.play(c)
		})
	}
}

// play runs a playbook to its end, answering its questions, and looks at how it
// ended.
func (p *inProcess) play(c honestCase) {
	t := p.t
	t.Helper()
	session := p.startOf(c.playbook, c.task, "tools: ["+worldTools+"]\npermission: {mode: auto, rules: [{tool: notify, do: allow}]}\nescalation: {hold: 0s}\n")
	var s sessions.Session
	for n := 0; ; n++ {
		s = p.until(session, "at its end or asking", func(s sessions.Session) bool {
			return s.Status.Ended() || s.Status == sessions.Waiting && s.OpenQuestions > 0
		})
		if s.Status.Ended() {
			break
		}
		option := "A"
		if n < len(c.answers) {
			option = c.answers[n]
		}
		for _, q := range p.questions(session, s.OpenQuestions) {
			a := choose(q, option)
			if q.Kind == escalation.KindApproval {
				a.Type, a.Option = escalation.Approve, ""
			}
			p.answer("responder", q, a)
		}
	}
	if s.Status != sessions.Completed || string(s.Outcome) != c.expect {
		t.Errorf("session is %s %s, want %s; failure %s", s.Status, s.Outcome, c.expect, s.Failure)
	}
	events, err := p.sessions.Events(t.Context(), auth.CLI("t"), session, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	looped := map[int]bool{}
	finishes := map[int]bool{}
	for _, e := range events {
		var d struct {
			Plans  []tools.Plan   `json:"plans"`
			Result tools.Result   `json:"result"`
			Loop   *tools.Measure `json:"loop"`
		}
		_ = json.Unmarshal(e.Data, &d) // other events hold other things
		for _, plan := range d.Plans {
			finishes[plan.Call.N] = plan.Call.Tool == "finish"
		}
		if d.Loop != nil {
			for _, n := range d.Loop.Calls {
				looped[n] = true
			}
		}
		if e.Type == sessions.CallEnded && finishes[e.Call] && !d.Result.OK() {
			t.Errorf("an honest finish was refused: %s", d.Result.ForModel())
		}
	}
	if len(looped) > 5 {
		t.Errorf("%d calls were spent in loops", len(looped))
	}
}

// honestLeast is how many playbooks there are at least.
const honestLeast = 6
