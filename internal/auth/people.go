package auth

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// Accounts keeps people, teams, sign-ins and keys.
type Accounts struct{ db postgres.DB }

// NewAccounts works on db.
func NewAccounts(db postgres.DB) *Accounts { return &Accounts{db} }

// LinkLifetime is how long a one-time sign-in link works.
const LinkLifetime = 15 * time.Minute

// NewPerson is what AddPerson takes.
type NewPerson struct {
	Name, Email string
	Role        Role
	Team        string // slug; a team that doesn't exist is made; empty: main
	Operator    bool   // the first person is one in any case
}

// DefaultTeam is the team of those for whom none is named.
const DefaultTeam = "main"

var slugPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// AddPerson makes an account, or gives an existing one a role in a further
// team, and returns the token of a one-time sign-in link. Problems:
// name_invalid, role_unknown, team_invalid, person_exists (the same name in the
// same team).
func (a *Accounts) AddPerson(ctx context.Context, actor Actor, p NewPerson) (link string, err error) {
	p.Name = strings.TrimSpace(p.Name)
	if p.Team == "" {
		p.Team = DefaultTeam
	}
	switch {
	case p.Name == "" || len([]rune(p.Name)) > 100 || strings.ContainsFunc(p.Name, func(r rune) bool { return r < ' ' }):
		return "", problem.New(problem.Invalid, "name_invalid", nil).At("name")
	case !p.Role.Valid():
		return "", problem.New(problem.Invalid, "role_unknown", problem.Params{"role": string(p.Role), "roles": "viewer, responder, supervisor, admin"}).At("role")
	case !slugPattern.MatchString(p.Team):
		return "", problem.New(problem.Invalid, "team_invalid", problem.Params{"team": p.Team}).At("team")
	}
	err = postgres.InTx(ctx, a.db, func(tx pgx.Tx) error {
		team, err := a.ensureTeamTx(ctx, tx, actor, p.Team)
		if err != nil {
			return err
		}
		person, operator, err := a.ensurePersonTx(ctx, tx, p)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlAddMembership, person, team, p.Role)
		if err != nil {
			return fmt.Errorf("add membership: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return problem.New(problem.Conflict, "person_exists", problem.Params{"name": p.Name, "team": p.Team}).At("name")
		}
		if link, err = addLinkTx(ctx, tx, person); err != nil {
			return err
		}
		return AuditTx(ctx, tx, actor, Entry{Verb: ManagePeople, Kind: "person", ID: person.String(), Team: team,
			After: map[string]any{"name": p.Name, "role": p.Role, "team": p.Team, "operator": operator}})
	})
	return link, err
}

const (
	sqlAddTeam       = `insert into teams (id, slug) values ($1, $2) on conflict (slug) do nothing`
	sqlTeamBySlug    = `select id from teams where slug = $1`
	sqlAddMembership = `insert into memberships (person_id, team_id, role) values ($1, $2, $3) on conflict do nothing`
)

// ensureTeamTx finds the team, in which the actor must manage people, or makes
// it, which takes an operator.
func (a *Accounts) ensureTeamTx(ctx context.Context, tx pgx.Tx, actor Actor, slug string) (team id.Team, err error) {
	team = id.New[id.Team]()
	tag, err := tx.Exec(ctx, sqlAddTeam, team, slug)
	if err != nil {
		return team, fmt.Errorf("add team: %w", err)
	}
	if tag.RowsAffected() == 1 {
		if err := Can(actor, CreateTeam, Object{Kind: "team", ID: team.String()}); err != nil {
			return team, err
		}
		return team, AuditTx(ctx, tx, actor, Entry{Verb: ManagePeople, Kind: "team", ID: team.String(), Team: team,
			After: map[string]any{"slug": slug}})
	}
	if err := tx.QueryRow(ctx, sqlTeamBySlug, slug).Scan(&team); err != nil {
		return team, fmt.Errorf("find team: %w", err)
	}
	return team, Can(actor, ManagePeople, Object{Kind: "team", ID: team.String(), Team: team})
}

const (
	sqlAnybody   = `select exists (select from people)`
	sqlAddPerson = `
insert into people (id, name, email, operator) values ($1, $2, nullif($3, ''), $4)
on conflict (lower(name)) do update set name = people.name
returning id, operator`
)

// ensurePersonTx makes the account, or finds the one of that name.
func (a *Accounts) ensurePersonTx(ctx context.Context, tx pgx.Tx, p NewPerson) (person id.Person, operator bool, err error) {
	var anybody bool
	if err := tx.QueryRow(ctx, sqlAnybody).Scan(&anybody); err != nil {
		return person, false, fmt.Errorf("look for people: %w", err)
	}
	err = tx.QueryRow(ctx, sqlAddPerson, id.New[id.Person](), p.Name, p.Email, p.Operator || !anybody).Scan(&person, &operator)
	if err != nil {
		return person, false, fmt.Errorf("add person: %w", err)
	}
	return person, operator, nil
}

const sqlPersonByName = `select id from people where lower(name) = lower($1) and disabled_at is null`

// MakeLink returns the token of a new one-time sign-in link for a person. The
// problem is person_unknown.
func (a *Accounts) MakeLink(ctx context.Context, actor Actor, name string) (link string, err error) {
	err = postgres.InTx(ctx, a.db, func(tx pgx.Tx) error {
		person, err := personByNameTx(ctx, tx, name)
		if err != nil {
			return err
		}
		if err := requireOverPersonTx(ctx, tx, actor, person); err != nil {
			return err
		}
		if link, err = addLinkTx(ctx, tx, person); err != nil {
			return err
		}
		return AuditTx(ctx, tx, actor, Entry{Verb: ManagePeople, Kind: "person", ID: person.String(), Note: "sign-in link"})
	})
	return link, err
}

func personByNameTx(ctx context.Context, tx pgx.Tx, name string) (person id.Person, err error) {
	err = tx.QueryRow(ctx, sqlPersonByName, strings.TrimSpace(name)).Scan(&person)
	if err != nil {
		p := problem.From(postgres.Problem(err, "person_unknown"))
		p.Params = problem.Params{"name": name}
		return person, p.At("name")
	}
	return person, nil
}

const sqlTeamsOf = `select team_id from memberships where person_id = $1`

// requireOverPersonTx: a link signs in as the person with all they may do, so
// whoever makes one must be an admin in every team of theirs.
func requireOverPersonTx(ctx context.Context, tx pgx.Tx, actor Actor, person id.Person) error {
	rows, _ := tx.Query(ctx, sqlTeamsOf, person) // an error comes with the rows
	teams, err := pgx.CollectRows(rows, pgx.RowTo[id.Team])
	if err != nil {
		return fmt.Errorf("read teams of person: %w", err)
	}
	for _, team := range teams {
		if err := Can(actor, ManagePeople, Object{Kind: "person", ID: person.String(), Team: team}); err != nil {
			return err
		}
	}
	return nil
}

const sqlSetPreferences = `update people set language = nullif($2, ''), theme = nullif($3, ''), single_keys = not $4 where id = $1`

// SetPreferences keeps how the signed-in person likes the pages to be.
func (a *Accounts) SetPreferences(ctx context.Context, actor Actor, p Preferences) error {
	if actor.Kind != KindPerson {
		return problem.New(problem.Forbidden, "not_allowed", problem.Params{"verb": "preferences.set", "kind": "person"})
	}
	if p.Theme != "" && p.Theme != "light" && p.Theme != "dark" {
		return problem.New(problem.Invalid, "theme_unknown", problem.Params{"theme": p.Theme}).At("theme")
	}
	if _, err := a.db.Exec(ctx, sqlSetPreferences, actor.Person, p.Language, p.Theme, p.KeysOff); err != nil {
		return fmt.Errorf("set preferences: %w", err)
	}
	return nil
}

const sqlTeamSlugs = `select slug, id from teams where $1::uuid[] is null or id = any($1) order by slug`

// TeamSlugs maps the slugs of the actor's teams to their ids.
func (a *Accounts) TeamSlugs(ctx context.Context, actor Actor) (map[string]id.Team, error) {
	rows, _ := a.db.Query(ctx, sqlTeamSlugs, actor.Teams(ReadAgent))
	teams := map[string]id.Team{}
	var slug string
	var team id.Team
	_, err := pgx.ForEachRow(rows, []any{&slug, &team}, func() error { teams[slug] = team; return nil })
	if err != nil {
		return nil, fmt.Errorf("read teams: %w", err)
	}
	return teams, nil
}

// Anybody says whether there is any account yet.
func (a *Accounts) Anybody(ctx context.Context) (anybody bool, err error) {
	err = a.db.QueryRow(ctx, sqlAnybody).Scan(&anybody)
	return anybody, postgres.Problem(err, "")
}
