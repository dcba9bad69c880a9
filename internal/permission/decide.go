package permission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Call is what a policy judges.
type Call struct {
	Tool string
	Args json.RawMessage // valid JSON
	// Writes and Irreversible say what the call does to the world.
	Writes, Irreversible bool
}

// Decision is what a policy says of a call, and why, in English.
type Decision struct {
	Do     Verb
	Reason string
	Rule   int // the rule that decided, from 1; 0: the mode did
}

// Decide judges one call. An unknown mode denies whatever writes.
func (p Policy) Decide(c Call) Decision {
	if p.Mode != AskFirst && p.Mode != Auto && c.Writes {
		return Decision{Deny, "mode read_only: this agent may look, but change nothing", 0}
	}
	best := Decision{}
	for i, r := range p.Rules {
		if !r.matches(c) || best.Do != "" && rank(r.Do) <= rank(best.Do) {
			continue
		}
		best = Decision{normal(r.Do), fmt.Sprintf("rule %d (%s): %s", i+1, r.describe(), normal(r.Do)), i + 1}
	}
	switch {
	case best.Do != "":
		return best
	case !c.Writes:
		return Decision{Allow, fmt.Sprintf("mode %s: it only reads", p.Mode), 0}
	case p.Mode == Auto && !c.Irreversible:
		return Decision{Allow, "mode auto", 0}
	case p.Mode == Auto:
		return Decision{Ask, "mode auto: what can't be taken back waits for a person", 0}
	}
	return Decision{Ask, "mode ask: what changes something waits for a person", 0}
}

// Offers says whether the policy could let any call of a tool run, with or
// without a person. writes says whether all its calls change something.
func (p Policy) Offers(tool string, writes bool) bool {
	if p.Mode != AskFirst && p.Mode != Auto && writes {
		return false
	}
	return !slices.ContainsFunc(p.Rules, func(r Rule) bool {
		return (r.Tool == tool || r.Tool == "*") && len(r.When) == 0 && rank(r.Do) == rank(Deny)
	})
}

// rank orders verbs by strictness; an unknown verb denies.
func rank(v Verb) int {
	switch v {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2
}

func normal(v Verb) Verb { return [...]Verb{Allow, Ask, Deny}[rank(v)] }

func (r Rule) matches(c Call) bool {
	if r.Tool != "*" && r.Tool != c.Tool {
		return false
	}
	strict := rank(r.Do) == 0
	for arg, want := range r.When {
		got, ok := lookup(c.Args, arg)
		if !ok || !fits(got, want, strict) {
			return false
		}
	}
	return true
}

// describe is the rule for its reader.
func (r Rule) describe() string {
	if len(r.When) == 0 {
		return r.Tool
	}
	parts := []string{r.Tool}
	for _, arg := range slices.Sorted(maps.Keys(r.When)) {
		want, err := json.Marshal(r.When[arg])
		if err != nil {
			want = []byte("?")
		}
		parts = append(parts, arg+" "+string(want))
	}
	return strings.Join(parts, ", ")
}
