package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"baton/internal/sessions"
	"baton/internal/tools"
)

// Arguments that hold a secret stand in the ledger redacted, and the model is
// told them so; what runs is the clear form, which is sealed beside the ledger
// until the call is settled.

// forRecord makes the plans of a reply's record those that may be stored, and
// returns the clear arguments of those that redaction changed, by call number.
func (s *sitting) forRecord(record *replied) map[int]json.RawMessage {
	var clear map[int]json.RawMessage
	if s.tokens != nil {
		for _, p := range record.Plans {
			p.Stored(s.redactor, s.registry) // what one call's fields hold, the words of all hide
		}
	}
	for i, p := range record.Plans {
		stored, changed := p.Stored(s.redactor, s.registry)
		record.Plans[i] = slim(stored)
		if changed && p.Verdict != tools.Ended {
			if clear == nil {
				clear = map[int]json.RawMessage{}
			}
			clear[p.Call.N] = p.Call.Args
		}
	}
	return clear
}

// keepWhole gives the state's open calls their plans as they were made: whole,
// and with the clear arguments.
func (s *sitting) keepWhole(plans []tools.Plan, clear map[int]json.RawMessage) {
	for _, p := range plans {
		c := s.st.find(p.Call.N)
		_, sealed := clear[p.Call.N]
		c.plan, c.sealed = p, sealed
	}
}

// seals are the writes that keep the clear arguments sealed.
func (s *sitting) seals(clear map[int]json.RawMessage) (also []func(context.Context, pgx.Tx) error) {
	for n, args := range clear {
		name := tools.Call{N: n}.ID(s.row.ID)
		sealed := s.w.Keyring.Seal(args, "args "+name.String())
		also = append(also, func(ctx context.Context, tx pgx.Tx) error { return sessions.SealArgsTx(ctx, tx, name, sealed) })
	}
	return also
}

// unseal reads the clear arguments of the open calls back, after a restart.
func (s *sitting) unseal(ctx context.Context) error {
	if len(s.st.openCalls()) == 0 {
		return nil
	}
	sealed, err := s.w.Store.SealedArgs(ctx, s.row.ID)
	if err != nil {
		return err
	}
	for n, value := range sealed {
		c := s.st.find(n)
		if c == nil || !c.open() {
			continue
		}
		name := c.plan.Call.ID(s.row.ID)
		args, err := s.w.Keyring.Open(value, "args "+name.String())
		if err != nil {
			return fmt.Errorf("open arguments of %s: %w", name, err)
		}
		c.plan.Call.Args, c.sealed = args, true
	}
	return nil
}

// followPolicy has the session follow its agent's data policy, if that has
// anything to say. The values behind the placeholders are read back, whoever
// worked on the session before.
func (s *sitting) followPolicy(ctx context.Context) (err error) {
	policy := sessions.PolicyOf(s.version.Agent)
	if !policy.Masks() {
		return nil
	}
	if s.tokens, err = s.w.Store.Tokens(ctx, s.row.ID); err != nil {
		return err
	}
	s.redactor = s.redactor.Following(policy, s.tokens)
	return nil
}

// keepTokens adds to what a write does with it that values which got a
// placeholder since the last are kept: no placeholder is on record whose value
// nobody has. saved is to be called once it is written.
func (s *sitting) keepTokens(also []func(context.Context, pgx.Tx) error) (_ []func(context.Context, pgx.Tx) error, saved func()) {
	if s.tokens == nil {
		return also, func() {}
	}
	fresh := s.tokens.Fresh()
	if len(fresh) == 0 {
		return also, func() {}
	}
	keep := func(ctx context.Context, tx pgx.Tx) error {
		return sessions.KeepTokensTx(ctx, tx, s.w.Keyring, s.row.ID, fresh)
	}
	return append(also, keep), func() { s.tokens.Saved(len(fresh)) }
}
