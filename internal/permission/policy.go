// Package permission decides what an agent's tool calls may do: run, wait for a
// person, or never. It is pure: a policy and a call go in, a decision comes out.
//
// Every rule that matches has a say and the strictest wins, whatever their
// order, so that adding a rule that allows can never undo one that denies.
package permission

// Mode is what happens to calls that no rule speaks of.
type Mode string

// The modes.
const (
	ReadOnly Mode = "read_only" // calls that change something are denied
	AskFirst Mode = "ask"       // calls that change something wait for a person
	Auto     Mode = "auto"      // calls run, except irreversible ones, which wait
)

// Verb is what a rule does.
type Verb string

// The verbs, mildest first.
const (
	Allow Verb = "allow"
	Ask   Verb = "ask"
	Deny  Verb = "deny"
)

// Rule speaks of the calls of one tool that fit its conditions.
type Rule struct {
	Tool string `json:"tool" yaml:"tool"` // a name; "*" for all
	// When maps arguments to the value that they must have for the rule to
	// match: a name, a path with dots, or a JSON pointer. A text value may hold
	// "*", which stands for any text.
	When map[string]any `json:"when,omitempty" yaml:"when,omitempty"`
	Do   Verb           `json:"do" yaml:"do"`
}

// Policy is what an agent's calls are judged by.
type Policy struct {
	Mode  Mode   `json:"mode" yaml:"mode"`
	Rules []Rule `json:"rules,omitempty" yaml:"rules,omitempty"`
}
