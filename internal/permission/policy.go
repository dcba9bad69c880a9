// Package permission decides what an agent's tool calls may do: run, wait for a
// person, or never. It is pure: a policy and a call go in, a decision comes out.
//
// The mode speaks for calls that no rule speaks of. Of the rules that match a
// call the strictest wins, whatever their order, so that adding a rule that
// allows can never undo one that denies. Two things no rule can lift: in mode
// read_only nothing that changes anything runs, and conditions are read against
// the caller (a rule that allows matches exactly; one that asks or denies also
// matches what only looks different).
package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

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
	// When maps arguments to what they must be for the rule to match; all must
	// fit. An argument is a name, a path with dots, or a JSON pointer. It must be
	// equal to a value, to one of a list, or fit bounds: {lt, lte, gt, gte, not},
	// or, of a shell's text, the commands in it: {runs: [ls, git log *]}.
	// A text may hold "*", which stands for any text.
	When map[string]any `json:"when,omitempty" yaml:"when,omitempty"`
	Do   Verb           `json:"do" yaml:"do"`
}

// Policy is what an agent's calls are judged by.
type Policy struct {
	Mode  Mode   `json:"mode" yaml:"mode"`
	Rules []Rule `json:"rules,omitempty" yaml:"rules,omitempty"`
}

// Check says what is wrong with a policy: an unknown mode or verb, a rule
// without a tool, a condition that can't be read.
func (p Policy) Check() error {
	switch p.Mode {
	case ReadOnly, AskFirst, Auto:
	default:
		return fmt.Errorf("permission mode is %q, want read_only, ask or auto", p.Mode)
	}
	for i, r := range p.Rules {
		if r.Tool == "" {
			return fmt.Errorf("permission rule %d names no tool", i+1)
		}
		switch r.Do {
		case Allow, Ask, Deny:
		default:
			return fmt.Errorf("permission rule %d does %q, want allow, ask or deny", i+1, r.Do)
		}
		for arg, want := range r.When {
			if err := checkCondition(want); err != nil {
				return fmt.Errorf("permission rule %d, argument %s: %w", i+1, arg, err)
			}
		}
	}
	return nil
}

// Version names the policy's content. Approvals given under another version are
// void.
func (p Policy) Version() string {
	b, err := json.Marshal(p) // maps are written with sorted keys
	if err != nil {
		b = fmt.Appendf(nil, "%v", p)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
