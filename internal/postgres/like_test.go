package postgres_test

import (
	"testing"

	"baton/internal/postgres"
	"baton/internal/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestWhatIsSearchedForHasNoWildcards(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for text, finds := range map[string]map[string]bool{
		"100%":  {"at 100% of it": true, "at 1000 of it": false},
		"a_b":   {"x a_b": true, "x aXb": false},
		`c:\`:   {`in C:\tmp`: true, "in C:/tmp": false},
		"refun": {"A Refund": true, "A return": false},
	} {
		for where, want := range finds {
			var got bool
			if err := tx.QueryRow(t.Context(), `select $1 ilike $2`, where, postgres.Containing(text)).Scan(&got); err != nil || got != want {
				t.Errorf("%q in %q: %v, want %v; %v", text, where, got, want, err)
			}
		}
	}
}
