package definition_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/postgres/pgtest"
	"baton/internal/problem"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var cli = auth.CLI("root")

func signIn(t *testing.T, db postgres.DB, p auth.NewPerson) auth.Actor {
	t.Helper()
	accounts := auth.NewAccounts(db)
	link, err := accounts.AddPerson(t.Context(), cli, p)
	if err != nil {
		t.Fatal(err)
	}
	login, err := accounts.SignIn(t.Context(), link, "test")
	if err != nil {
		t.Fatal(err)
	}
	actor, err := accounts.ActorByLogin(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	return actor
}

func file(slug, team, instructions string) definition.File {
	return definition.File{Name: slug + ".yaml",
		Source:   fmt.Appendf(nil, "slug: %s\nteam: %s\nmodel: scripted/p\nplaybook: p.star\ninstructions: %s\n", slug, team, instructions),
		Playbook: []byte("def reply(s): pass")}
}

// R: D (appendix), G8
func TestSameContentIsTheSameVersion(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := signIn(t, db, auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"})
	store := definition.NewStore(db, definition.Known{}, nil)
	one, two := file("desk", "support", "one"), file("desk", "support", "two")
	changedBook := one
	changedBook.Playbook = []byte("def reply(s): return []")
	for i, step := range []struct {
		file             definition.File
		version          int
		created, changed bool
	}{
		{one, 1, true, true}, {one, 1, false, false}, {two, 2, true, true}, {two, 2, false, false},
		{one, 1, false, true}, // back to the older one
		{changedBook, 3, true, true},
	} {
		got, err := store.Apply(t.Context(), admin, step.file)
		if err != nil || got.Version != step.version || got.Created != step.created || got.Changed != step.changed {
			t.Fatalf("apply %d: %+v %v, want %+v", i, got, err, step)
		}
		v, err := store.Get(t.Context(), admin, "desk", 0)
		if err != nil || v.Number != step.version || !v.Current || v.Source != string(step.file.Source) || v.Playbook != string(step.file.Playbook) {
			t.Fatalf("apply %d: current is %+v %v", i, v, err)
		}
		if loaded, err := store.Load(t.Context(), v.ID, v.Number); err != nil || loaded.Agent.Instructions != v.Agent.Instructions || v.CreatedBy != "Mara" {
			t.Fatalf("load: %+v %v", loaded, err)
		}
	}
	old, err := store.Get(t.Context(), admin, "desk", 2)
	if err != nil || old.Current || old.Agent.Instructions != "two" {
		t.Errorf("version 2: %+v %v", old, err)
	}
	var audited int
	if err := db.QueryRow(t.Context(), `select count(*) from audit where verb = 'agent.write' and object_id = $1`, old.ID.String()).Scan(&audited); err != nil || audited != 4 {
		t.Errorf("%d rows in the audit (%v), want one for each change", audited, err)
	}
	list, err := store.List(t.Context(), admin, "", 10)
	if err != nil || len(list) != 1 || list[0].Version != 3 || list[0].Versions != 3 || list[0].Model != "scripted/p" || list[0].TeamSlug != "support" {
		t.Errorf("list %+v %v", list, err)
	}
}

// R: K2, E (appendix)
func TestOnlyAdminsApplyAndOnlyTheTeamSees(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := signIn(t, db, auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"})
	supervisor := signIn(t, db, auth.NewPerson{Name: "Sam", Role: auth.Supervisor, Team: "support"})
	viewer := signIn(t, db, auth.NewPerson{Name: "Vera", Role: auth.Viewer, Team: "support"})
	stranger := signIn(t, db, auth.NewPerson{Name: "Finn", Role: auth.Admin, Team: "finance"})
	store := definition.NewStore(db, definition.Known{}, nil)
	f := file("desk", "support", "one")

	for name, c := range map[string]struct {
		actor auth.Actor
		file  definition.File
		code  string
	}{
		"supervisor":       {supervisor, f, "not_allowed"},
		"another team":     {stranger, f, "team_unknown"},
		"no such team":     {admin, file("desk", "nobody", "x"), "team_unknown"},
		"nobody":           {auth.Actor{}, f, "team_unknown"},
		"a faulty file":    {admin, definition.File{Name: "x.yaml", Source: []byte("slug: x")}, "definition_invalid"},
		"faulty, no right": {stranger, definition.File{Name: "x.yaml", Source: []byte("slug: x")}, "definition_invalid"},
	} {
		if _, err := store.Apply(t.Context(), c.actor, c.file); !problem.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	var n int
	if err := db.QueryRow(t.Context(), `select (select count(*) from agents) + (select count(*) from agent_versions)`).Scan(&n); err != nil || n != 0 {
		t.Fatalf("%d rows left by refused applies (%v)", n, err)
	}

	applied, err := store.Apply(t.Context(), admin, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Apply(t.Context(), stranger, file("desk", "finance", "mine")); !problem.Is(err, "agent_slug_taken") {
		t.Errorf("another team took the slug: %v", err)
	}
	for name, c := range map[string]struct {
		actor auth.Actor
		seen  bool
	}{"viewer": {viewer, true}, "cli": {cli, true}, "stranger": {stranger, false}, "nobody": {auth.Actor{}, false}} {
		_, err := store.Get(t.Context(), c.actor, "desk", 0)
		list, listErr := store.List(t.Context(), c.actor, "", 10)
		if (err == nil) != c.seen || (len(list) == 1) != c.seen || listErr != nil {
			t.Errorf("%s: %v, list %v %v", name, err, list, listErr)
		}
		if !c.seen && !problem.Is(err, "agent_not_found") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := store.Get(t.Context(), admin, "desk", 7); !problem.Is(err, "agent_not_found") {
		t.Errorf("a version that isn't there: %v", err)
	}
	if _, err := store.Load(t.Context(), id.New[id.Agent](), applied.Version); !problem.Is(err, "agent_not_found") {
		t.Errorf("an agent that isn't there: %v", err)
	}
}

// An agent may move to another team by who is an admin in both.
func TestAnAgentMoves(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store := definition.NewStore(db, definition.Known{}, nil)
	signIn(t, db, auth.NewPerson{Name: "Finn", Role: auth.Admin, Team: "finance"})
	both := signIn(t, db, auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"})
	if _, err := store.Apply(t.Context(), both, file("desk", "support", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Apply(t.Context(), both, file("desk", "finance", "x")); !problem.Is(err, "team_unknown") {
		t.Errorf("moved to a team that is not theirs: %v", err)
	}
	both = signIn(t, db, auth.NewPerson{Name: "Mara", Role: auth.Viewer, Team: "finance"})
	if _, err := store.Apply(t.Context(), both, file("desk", "finance", "x")); !problem.Is(err, "not_allowed") {
		t.Errorf("moved by a viewer of the new team: %v", err)
	}
	if _, err := store.Apply(t.Context(), cli, file("desk", "finance", "x")); err != nil {
		t.Fatal(err)
	}
	if list, err := store.List(t.Context(), cli, "", 10); err != nil || len(list) != 1 || list[0].TeamSlug != "finance" {
		t.Errorf("list %+v %v", list, err)
	}
}

func TestFaultyPlaybookIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	signIn(t, db, auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"})
	store := definition.NewStore(db, definition.Known{}, func(name, source string) definition.Faults {
		return definition.Faults{{File: name, Line: 7, Reason: "no reply in " + source}}
	})
	_, err := store.Apply(t.Context(), cli, file("desk", "support", "x"))
	if !problem.Is(err, "definition_invalid") || problem.From(err).Params["first"] != "p.star:7: no reply in def reply(s): pass" {
		t.Errorf("got %v", err)
	}
}

// Two who apply at once get two versions, or one if they say the same.
func TestAppliesAtOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	signIn(t, db, auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"})
	store := definition.NewStore(db, definition.Known{}, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := store.Apply(t.Context(), cli, file("desk", "support", fmt.Sprint("n", i/2))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := store.List(t.Context(), cli, "", 10)
	if err != nil || len(list) != 1 || list[0].Versions != 4 {
		t.Errorf("list %+v %v, want 4 versions", list, err)
	}
}

func TestListGoesOnAfterASlug(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	signIn(t, db, auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"})
	store := definition.NewStore(db, definition.Known{}, nil)
	for _, slug := range []string{"c", "a", "b"} {
		if _, err := store.Apply(t.Context(), cli, file(slug, "support", "x")); err != nil {
			t.Fatal(err)
		}
	}
	var seen string
	for after := ""; ; {
		list, err := store.List(t.Context(), cli, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			seen += a.Slug
			after = a.Slug
		}
		if len(list) < 2 {
			break
		}
	}
	if seen != "abc" {
		t.Errorf("saw %s", seen)
	}
}

// R: I1
func TestApplyOverRefusesWhatTheSenderHasNotSeen(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := signIn(t, db, auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"})
	store := definition.NewStore(db, definition.Known{}, nil)
	one, two := file("desk", "support", "one"), file("desk", "support", "two")
	for i, step := range []struct {
		file   definition.File
		seen   int
		refuse bool
	}{
		{one, 1, true}, // there is none yet
		{one, 0, false},
		{two, 0, true}, // there is one now
		{two, 1, false},
		{one, 1, true},
	} {
		_, err := store.ApplyOver(t.Context(), admin, step.file, step.seen)
		if step.refuse != problem.Is(err, "precondition_failed") || !step.refuse && err != nil {
			t.Errorf("apply %d over version %d: %v", i, step.seen, err)
		}
	}
	if v, err := store.Get(t.Context(), admin, "desk", 0); err != nil || v.Number != 2 {
		t.Errorf("current is version %d, %v", v.Number, err)
	}
}

// What can't be a slug names no agent; some of it Postgres would refuse.
// R: I1
func TestATextThatCannotBeASlugNamesNoAgent(t *testing.T) {
	t.Parallel()
	store := definition.NewStore(pgtest.New(t), definition.Known{}, nil)
	for _, slug := range []string{"", "\x00", "a\x00b", "a\xff", "A", strings.Repeat("a", 64)} {
		if _, err := store.Get(t.Context(), auth.CLI("t"), slug, 0); !problem.Is(err, "agent_not_found") {
			t.Errorf("%q: %v, want agent_not_found", slug, err)
		}
	}
}
