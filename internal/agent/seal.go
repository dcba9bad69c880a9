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

// redactArgs redacts the arguments in a reply's record and returns the clear
// form of those that changed, by call number.
func (s *sitting) redactArgs(record *replied) map[int]json.RawMessage {
	var clear map[int]json.RawMessage
	for i, p := range record.Plans {
		stored, changed := p.Stored(s.redactor, s.registry)
		record.Plans[i] = stored
		if changed && p.Verdict != tools.Ended {
			if clear == nil {
				clear = map[int]json.RawMessage{}
			}
			clear[p.Call.N] = p.Call.Args
		}
	}
	return clear
}

// keepClear puts the clear arguments into the state's open calls.
func (s *sitting) keepClear(clear map[int]json.RawMessage) {
	for n, args := range clear {
		c := s.st.find(n)
		c.plan.Call.Args, c.sealed = args, true
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
