package auth_test

import (
	"context"
	"testing"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var cli = auth.CLI("root")

// add makes a person and returns them signed in.
func add(t *testing.T, db postgres.DB, p auth.NewPerson) auth.Actor {
	t.Helper()
	accounts := auth.NewAccounts(db)
	link, err := accounts.AddPerson(t.Context(), cli, p)
	if err != nil {
		t.Fatalf("add %s: %v", p.Name, err)
	}
	return signIn(t, accounts, link)
}

func signIn(t *testing.T, accounts *auth.Accounts, link string) auth.Actor {
	t.Helper()
	login, err := accounts.SignIn(t.Context(), link, "test")
	if err != nil {
		t.Fatalf("sign in: %v", err)
	}
	actor, err := accounts.ActorByLogin(t.Context(), login)
	if err != nil {
		t.Fatalf("read login: %v", err)
	}
	return actor
}

func team(t *testing.T, db postgres.DB, slug string) (team id.Team) {
	t.Helper()
	err := db.QueryRow(t.Context(), `select id from teams where slug = $1`, slug).Scan(&team)
	if err != nil {
		t.Fatalf("find team %s: %v", slug, err)
	}
	return team
}

func count(t *testing.T, db postgres.DB, sql string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(context.WithoutCancel(t.Context()), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}
