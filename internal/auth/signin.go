package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// LoginLifetime is how long a browser stays signed in, and LoginIdle how long
// without use.
const (
	LoginLifetime = 30 * 24 * time.Hour
	LoginIdle     = 7 * 24 * time.Hour
	seenEvery     = 5 * time.Minute // how exact seen_at is: not a write per request
)

const sqlAddLink = `insert into sign_in_links (token_hash, person_id, expires_at) values ($1, $2, now() + $3)`

func addLinkTx(ctx context.Context, tx pgx.Tx, person id.Person) (token string, err error) {
	token = newToken()
	if _, err := tx.Exec(ctx, sqlAddLink, hash(token), person, LinkLifetime); err != nil {
		return "", fmt.Errorf("add sign-in link: %w", err)
	}
	return token, nil
}

const sqlPeekLink = `
select p.name from sign_in_links l join people p on p.id = l.person_id
where l.token_hash = $1 and l.used_at is null and l.expires_at > now() and p.disabled_at is null`

// PeekLink says for whom a sign-in link is, and changes nothing: mail scanners
// and previews open links too. The problem is link_invalid, the same for a link
// that was used, has expired or never was.
func (a *Accounts) PeekLink(ctx context.Context, token string) (name string, err error) {
	err = a.db.QueryRow(ctx, sqlPeekLink, hash(token)).Scan(&name)
	return name, linkProblem(err)
}

func linkProblem(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.Wrap(err, problem.Gone, "link_invalid", nil)
	}
	return postgres.Problem(err, "link_invalid")
}

const (
	sqlUseLink = `
update sign_in_links l set used_at = now() from people p
where l.token_hash = $1 and l.used_at is null and l.expires_at > now()
  and p.id = l.person_id and p.disabled_at is null
returning p.id, p.name`
	sqlAddLogin = `
insert into logins (token_hash, person_id, user_agent, expires_at)
values ($1, $2, left($3, 300), now() + $4)`
)

// SignIn uses up a link and returns the token of a new login, for the cookie.
// The problem is link_invalid.
func (a *Accounts) SignIn(ctx context.Context, link, userAgent string) (login string, err error) {
	login = newToken()
	err = postgres.InTx(ctx, a.db, func(tx pgx.Tx) error {
		var person id.Person
		var name string
		if err := tx.QueryRow(ctx, sqlUseLink, hash(link)).Scan(&person, &name); err != nil {
			return linkProblem(err)
		}
		if _, err := tx.Exec(ctx, sqlAddLogin, hash(login), person, userAgent, LoginLifetime); err != nil {
			return fmt.Errorf("add login: %w", err)
		}
		actor := Actor{Kind: KindPerson, ID: person.String(), Name: name, Via: "browser"}
		return AuditTx(ctx, tx, actor, Entry{Verb: "person.sign_in", Kind: "person", ID: person.String()})
	})
	if err != nil {
		return "", err
	}
	return login, nil
}

const (
	sqlActorByLogin = `
select p.id, p.name, coalesce(p.email, ''), p.operator, coalesce(p.language, ''), coalesce(p.theme, ''), not p.single_keys,
       l.seen_at < now() - $2::interval,
       array(select m.team_id from memberships m where m.person_id = p.id order by m.team_id),
       array(select m.role from memberships m where m.person_id = p.id order by m.team_id)
from logins l join people p on p.id = l.person_id
where l.token_hash = $1 and l.expires_at > now() and l.seen_at > now() - $3::interval and p.disabled_at is null`
	sqlSeen = `update logins set seen_at = now() where token_hash = $1`
)

// ActorByLogin is the person whom a cookie's token signs in. The problem is
// not_signed_in.
func (a *Accounts) ActorByLogin(ctx context.Context, login string) (Actor, error) {
	actor := Actor{Kind: KindPerson, Via: "browser"}
	var stale bool
	var teams []id.Team
	var teamRoles []Role
	err := a.db.QueryRow(ctx, sqlActorByLogin, hash(login), seenEvery, LoginIdle).Scan(
		&actor.Person, &actor.Name, &actor.Email, &actor.Operator, &actor.Language, &actor.Theme, &actor.KeysOff, &stale, &teams, &teamRoles)
	if errors.Is(err, pgx.ErrNoRows) {
		return Actor{}, problem.Wrap(err, problem.Unauthenticated, "not_signed_in", nil)
	}
	if err != nil {
		return Actor{}, postgres.Problem(fmt.Errorf("read login: %w", err), "")
	}
	actor.ID = actor.Person.String()
	actor.setRoles(teams, teamRoles)
	if stale {
		if _, err := a.db.Exec(ctx, sqlSeen, hash(login)); err != nil {
			return Actor{}, postgres.Problem(fmt.Errorf("note login: %w", err), "")
		}
	}
	return actor, nil
}

const sqlActorsByLogins = `
select l.token_hash, p.id, p.name, p.operator,
       array(select m.team_id from memberships m where m.person_id = p.id order by m.team_id),
       array(select m.role from memberships m where m.person_id = p.id order by m.team_id)
from logins l join people p on p.id = l.person_id
where l.token_hash = any($1) and l.expires_at > now() and l.seen_at > now() - $2::interval and p.disabled_at is null`

// ActorsByLogins are the people whom cookies' tokens sign in, by token. A token
// that signs nobody in, or not any more, is not among them.
func (a *Accounts) ActorsByLogins(ctx context.Context, logins []string) (map[string]Actor, error) {
	hashes := make([][]byte, len(logins))
	by := make(map[string]string, len(logins))
	for i, login := range logins {
		hashes[i] = hash(login)
		by[string(hashes[i])] = login
	}
	actors := make(map[string]Actor, len(logins))
	rows, _ := a.db.Query(ctx, sqlActorsByLogins, hashes, LoginIdle)
	var found []byte
	var actor Actor
	var teams []id.Team
	var teamRoles []Role
	_, err := pgx.ForEachRow(rows, []any{&found, &actor.Person, &actor.Name, &actor.Operator, &teams, &teamRoles}, func() error {
		one := Actor{Kind: KindPerson, Via: "browser", ID: actor.Person.String(), Person: actor.Person, Name: actor.Name, Operator: actor.Operator}
		one.setRoles(teams, teamRoles)
		actors[by[string(found)]] = one
		return nil
	})
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("read logins: %w", err), "")
	}
	return actors, nil
}

func (a *Actor) setRoles(teams []id.Team, teamRoles []Role) {
	a.Roles = make(map[id.Team]Role, len(teams))
	for i, team := range teams {
		a.Roles[team] = teamRoles[i]
	}
}

const sqlSignOut = `delete from logins where token_hash = $1`

// SignOut ends the login. A token that signs nobody in is no error.
func (a *Accounts) SignOut(ctx context.Context, login string) error {
	if _, err := a.db.Exec(ctx, sqlSignOut, hash(login)); err != nil {
		return postgres.Problem(fmt.Errorf("sign out: %w", err), "")
	}
	return nil
}
