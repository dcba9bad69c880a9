package sessions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/redact"
	"baton/internal/secrets"
	"baton/internal/sessions"
)

func ring(t *testing.T, key string) *secrets.Keyring {
	t.Helper()
	k, err := secrets.NewKeyring([]byte(strings.Repeat(key, secrets.KeySize)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// R: O3, K5
func TestTokensOpenOnlyForTheirSessionAndWithTheKey(t *testing.T) {
	t.Parallel()
	h := build(t)
	k := ring(t, "k")
	one, other := id.New[id.Session](), id.New[id.Session]()
	policy := redact.Policy{Fields: map[string]redact.Rule{"/p": redact.Token}}
	tokens, err := sessions.OpenTokens(t.Context(), h.pool, k, one)
	if err != nil {
		t.Fatal(err)
	}
	masked := tokens.Mask(policy, json.RawMessage(`{"p":["ana@x.example",42]}`))
	keep := func() error {
		return postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
			return sessions.KeepTokensTx(t.Context(), tx, k, one, tokens.Fresh())
		})
	}
	for range 2 { // two workers may find the same
		if err := keep(); err != nil {
			t.Fatal(err)
		}
	}
	again, err := sessions.OpenTokens(t.Context(), h.pool, k, one)
	if err != nil || again.Len() != 2 || len(again.Fresh()) != 0 {
		t.Fatalf("%d values, %d of them fresh, %v", again.Len(), len(again.Fresh()), err)
	}
	if clear, _, wrong := again.PutBack(masked); string(clear) != `{"p":["ana@x.example",42]}` || wrong != nil {
		t.Errorf("put back: %s, %v", clear, wrong)
	}
	// Another session gives the same value another placeholder.
	elsewhere, err := sessions.OpenTokens(t.Context(), h.pool, k, other)
	if err != nil {
		t.Fatal(err)
	}
	if got := elsewhere.Mask(policy, json.RawMessage(`{"p":["ana@x.example",42]}`)); string(got) == string(masked) {
		t.Error("two sessions share a placeholder")
	}
	if _, err := sessions.OpenTokens(t.Context(), h.pool, ring(t, "x"), one); err == nil {
		t.Error("another key opens them")
	}
	if _, err := h.pool.Exec(t.Context(), `update session_tokens set session_id = $1`, other); err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.OpenTokens(t.Context(), h.pool, k, other); err == nil {
		t.Error("values that were moved to another session open")
	}
}

// R: O3
func TestASessionWithADataPolicyDoesntStartWithoutAKey(t *testing.T) {
	t.Parallel()
	h := build(t)
	guarded := h.agent
	guarded.Agent.Data.Fields = map[string]definition.DataRule{"/email": definition.DataToken}
	n := sessions.New{Agent: guarded, Task: "To ana@x.example", Inputs: json.RawMessage(`{"email":"ana@x.example"}`)}
	if _, err := h.store.Start(t.Context(), auth.CLI("t"), h.inserter, n); err == nil {
		t.Error("it started")
	}
	s, err := h.store.SealWith(ring(t, "k")).Start(t.Context(), auth.CLI("t"), h.inserter, n)
	if err != nil || !strings.HasPrefix(s.Task, "To [masked:email:") {
		t.Errorf("with a key: %q, %v", s.Task, err)
	}
}
