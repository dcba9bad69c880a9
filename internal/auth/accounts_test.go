package auth_test

import (
	"strings"
	"sync"
	"testing"

	"baton/internal/auth"
	"baton/internal/postgres/pgtest"
	"baton/internal/problem"
)

// R: K1
func TestTheFirstPersonIsAnOperatorAndTheNextIsNot(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	first := add(t, db, auth.NewPerson{Name: "Mara", Role: auth.Viewer})
	second := add(t, db, auth.NewPerson{Name: "Dana", Role: auth.Admin, Team: "support"})
	if !first.Operator || second.Operator {
		t.Errorf("operator: first %v, second %v", first.Operator, second.Operator)
	}
	if role := first.Roles[team(t, db, auth.DefaultTeam)]; role != auth.Viewer {
		t.Errorf("first person's role in the default team is %q", role)
	}
	if role := second.Roles[team(t, db, "support")]; role != auth.Admin {
		t.Errorf("second person's role in support is %q", role)
	}
}

func TestAddingAPersonAgainGivesARoleInAFurtherTeam(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	add(t, db, auth.NewPerson{Name: "Mara", Role: auth.Viewer, Team: "support"})
	both := add(t, db, auth.NewPerson{Name: "mara", Role: auth.Responder, Team: "finance"})
	if len(both.Roles) != 2 || both.Name != "Mara" {
		t.Errorf("%s has roles %v, want two teams under the first spelling", both.Name, both.Roles)
	}
	_, err := auth.NewAccounts(db).AddPerson(t.Context(), cli, auth.NewPerson{Name: "MARA", Role: auth.Admin, Team: "finance"})
	if !problem.Is(err, "person_exists") {
		t.Errorf("same name in the same team: %v, want person_exists", err)
	}
}

func TestWrongPeopleAreRefusedWithTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	accounts := auth.NewAccounts(pgtest.New(t))
	for _, c := range []struct {
		p           auth.NewPerson
		code, field string
	}{
		{auth.NewPerson{Name: "  ", Role: auth.Viewer}, "name_invalid", "name"},
		{auth.NewPerson{Name: "a\nb", Role: auth.Viewer}, "name_invalid", "name"},
		{auth.NewPerson{Name: strings.Repeat("x", 101), Role: auth.Viewer}, "name_invalid", "name"},
		{auth.NewPerson{Name: "Mara", Role: "boss"}, "role_unknown", "role"},
		{auth.NewPerson{Name: "Mara", Role: auth.Viewer, Team: "Sup Port"}, "team_invalid", "team"},
	} {
		_, err := accounts.AddPerson(t.Context(), cli, c.p)
		if !problem.Is(err, c.code) || problem.From(err).Field != c.field {
			t.Errorf("%+v: %v, want %s at %s", c.p, err, c.code, c.field)
		}
	}
}

// R: K2
// case: abuse A14
func TestOnlyAnAdminOfTheTeamAddsPeopleAndOnlyAnOperatorMakesTeams(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	accounts := auth.NewAccounts(db)
	add(t, db, auth.NewPerson{Name: "first", Role: auth.Viewer})
	supervisor := add(t, db, auth.NewPerson{Name: "supervisor", Role: auth.Supervisor, Team: "support"})
	admin := add(t, db, auth.NewPerson{Name: "admin", Role: auth.Admin, Team: "support"})

	for _, c := range []struct {
		who  auth.Actor
		team string
		want string
	}{
		{supervisor, "support", "forbidden"},
		{admin, "support", "yes"},
		{admin, auth.DefaultTeam, "not_found"},
		{admin, "brand-new", "forbidden"},
	} {
		_, err := accounts.AddPerson(t.Context(), c.who, auth.NewPerson{Name: "new", Role: auth.Admin, Team: c.team})
		if got := outcome(err); got != c.want {
			t.Errorf("%s adds somebody to %s: %s, want %s", c.who.Name, c.team, got, c.want)
		}
	}
	if n := count(t, db, `select count(*) from teams where slug = 'brand-new'`); n != 0 {
		t.Error("a refused verb left a team behind")
	}
	// A supervisor who could make an admin's link would be that admin.
	if _, err := accounts.MakeLink(t.Context(), supervisor, "admin"); outcome(err) != "forbidden" {
		t.Errorf("supervisor makes a link for the admin: %v", err)
	}
	if _, err := accounts.CreateKey(t.Context(), supervisor, auth.NewKey{Person: "admin", Scopes: []auth.Scope{auth.ScopeAll}}); outcome(err) != "forbidden" {
		t.Errorf("supervisor makes a key of the admin: %v", err)
	}
}

// R: K1, N2
// case: abuse A10
func TestASignInLinkIsShownWithoutEffectAndWorksOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	accounts := auth.NewAccounts(db)
	link, err := accounts.AddPerson(t.Context(), cli, auth.NewPerson{Name: "Mara", Role: auth.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // looking is no use
		if name, err := accounts.PeekLink(t.Context(), link); err != nil || name != "Mara" {
			t.Fatalf("link is for %q, error %v", name, err)
		}
	}
	login, err := accounts.SignIn(t.Context(), link, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.SignIn(t.Context(), link, "test"); !problem.Is(err, "link_invalid") {
		t.Errorf("second use of a link: %v, want link_invalid", err)
	}
	if _, err := accounts.PeekLink(t.Context(), link); !problem.Is(err, "link_invalid") {
		t.Errorf("look at a used link: %v, want link_invalid", err)
	}
	if err := accounts.SignOut(t.Context(), login); err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.ActorByLogin(t.Context(), login); !problem.Is(err, "not_signed_in") {
		t.Errorf("login after signing out: %v, want not_signed_in", err)
	}
}

// R: K1
func TestOfManyUsesOfOneLinkAtOnceOneSignsIn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	accounts := auth.NewAccounts(db)
	link, err := accounts.AddPerson(t.Context(), cli, auth.NewPerson{Name: "Mara", Role: auth.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	var tries sync.WaitGroup
	for range 8 {
		tries.Go(func() {
			if _, err := accounts.SignIn(t.Context(), link, "test"); err != nil && !problem.Is(err, "link_invalid") {
				t.Errorf("sign in: %v", err)
			}
		})
	}
	tries.Wait()
	if n := count(t, db, `select count(*) from logins`); n != 1 {
		t.Errorf("%d logins from one link", n)
	}
}

// R: K1
func TestAnExpiredLinkOrADisabledPersonSignsNobodyIn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	accounts := auth.NewAccounts(db)
	link, _ := accounts.AddPerson(t.Context(), cli, auth.NewPerson{Name: "Mara", Role: auth.Viewer})
	late, _ := accounts.MakeLink(t.Context(), cli, "mara")
	login, err := accounts.SignIn(t.Context(), link, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `update sign_in_links set expires_at = now() - interval '1 s' where used_at is null`); err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.SignIn(t.Context(), late, "test"); !problem.Is(err, "link_invalid") {
		t.Errorf("expired link: %v", err)
	}
	if _, err := db.Exec(t.Context(), `update people set disabled_at = now()`); err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.ActorByLogin(t.Context(), login); !problem.Is(err, "not_signed_in") {
		t.Errorf("login of a disabled person: %v", err)
	}
	if _, err := accounts.MakeLink(t.Context(), cli, "mara"); !problem.Is(err, "person_unknown") {
		t.Errorf("link for a disabled person: %v", err)
	}
}

// R: K1, K2
// case: abuse A15
func TestKeysStandForTheirOwnerAndAreStoredAsHashes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	accounts := auth.NewAccounts(db)
	mara := add(t, db, auth.NewPerson{Name: "Mara", Role: auth.Responder, Team: "support"})
	own, err := accounts.CreateKey(t.Context(), mara, auth.NewKey{Person: "Mara", Scopes: []auth.Scope{auth.ScopeEscalationRead}})
	if err != nil {
		t.Fatal(err)
	}
	agents, err := accounts.CreateKey(t.Context(), cli, auth.NewKey{Agent: "outside-bot", Team: "support", Scopes: []auth.Scope{auth.ScopeEscalationRaise}})
	if err != nil {
		t.Fatal(err)
	}
	actor, err := accounts.ActorByKey(t.Context(), own)
	if err != nil || actor.Kind != auth.KindKey || actor.Person != mara.Person || actor.Roles[team(t, db, "support")] != auth.Responder {
		t.Errorf("person's key: %+v, %v", actor, err)
	}
	actor, err = accounts.ActorByKey(t.Context(), agents)
	if err != nil || actor.Kind != auth.KindAgent || actor.Agent != "outside-bot" || !actor.Member(team(t, db, "support")) {
		t.Errorf("agent's key: %+v, %v", actor, err)
	}
	if n := count(t, db, `select count(*) from api_keys where encode(token_hash, 'escape') like '%' || $1 || '%' or hint = $1`, own); n != 0 {
		t.Error("the key itself is stored")
	}
	for name, wrong := range map[string]string{"empty": "", "cut": own[:len(own)-1], "mistyped": flipped(own), "foreign": "sk-" + own} {
		if _, err := accounts.ActorByKey(t.Context(), wrong); !problem.Is(err, "key_invalid") {
			t.Errorf("%s key: %v, want key_invalid", name, err)
		}
	}
	if _, err := db.Exec(t.Context(), `update api_keys set revoked_at = now() where agent_slug is null`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `update api_keys set expires_at = now() where agent_slug is not null`); err != nil {
		t.Fatal(err)
	}
	for name, dead := range map[string]string{"revoked": own, "expired": agents} {
		if _, err := accounts.ActorByKey(t.Context(), dead); !problem.Is(err, "key_invalid") {
			t.Errorf("%s key: %v, want key_invalid", name, err)
		}
	}
}

func flipped(key string) string {
	last := byte('a')
	if key[10] == last {
		last = 'b'
	}
	return key[:10] + string(last) + key[11:]
}

// R: K6
func TestAgentsKeysCannotHaveTheScopeToAnswer(t *testing.T) {
	t.Parallel()
	accounts := auth.NewAccounts(pgtest.New(t))
	for _, scope := range []auth.Scope{auth.ScopeEscalationAnswer, auth.ScopeAll, auth.ScopeAdmin, "made:up"} {
		_, err := accounts.CreateKey(t.Context(), cli, auth.NewKey{Agent: "bot", Scopes: []auth.Scope{scope}})
		if !problem.Is(err, "scope_unknown") {
			t.Errorf("agent's key with %s: %v, want scope_unknown", scope, err)
		}
	}
}

// R: K4
// case: abuse A14
func TestVerbsAndRefusalsAreOnRecordAndTheRecordCannotBeChanged(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	accounts := auth.NewAccounts(db)
	viewer := add(t, db, auth.NewPerson{Name: "Vera", Role: auth.Viewer, Team: "support"})
	if n := count(t, db, `select count(*) from audit where verb = 'people.manage' and actor_kind = 'cli' and via = 'cli' and after ->> 'name' = 'Vera'`); n != 1 {
		t.Errorf("%d rows for the new person, want 1", n)
	}
	_, err := accounts.AddPerson(t.Context(), viewer, auth.NewPerson{Name: "Friend", Role: auth.Admin, Team: "support"})
	if err := accounts.NoteRefusal(t.Context(), viewer, problem.From(err)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, `select count(*) from audit where actor_name = 'Vera' and verb = 'people.manage' and note = 'refused' and team_id is not null`); n != 1 {
		t.Errorf("%d rows for the refusal, want 1", n)
	}
	for _, sql := range []string{`update audit set note = ''`, `delete from audit`, `truncate audit`} {
		if _, err := db.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: went through", sql)
		}
	}
}
