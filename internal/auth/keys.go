package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// NewKey is what CreateKey takes: a person's name, or an agent's slug and team.
type NewKey struct {
	Person string
	Agent  string // may be an outside agent that has no definition here
	Team   string // slug; of an agent's key only; empty: main
	Scopes []Scope
}

const (
	sqlAddKey = `
insert into api_keys (id, token_hash, hint, person_id, agent_slug, team_id, scopes, created_by)
values ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8)`
)

// CreateKey makes a key and returns it; it can't be shown again. Problems:
// key_owner (not exactly one of person and agent), scope_unknown (naming those
// that the owner can have), person_unknown, team_unknown, agent_invalid.
func (a *Accounts) CreateKey(ctx context.Context, actor Actor, k NewKey) (key string, err error) {
	allowed := personScopes
	if k.Agent != "" {
		allowed = agentScopes
	}
	if (k.Person == "") == (k.Agent == "") {
		return "", problem.New(problem.Invalid, "key_owner", nil)
	}
	if k.Agent != "" && !slugPattern.MatchString(k.Agent) {
		return "", problem.New(problem.Invalid, "agent_invalid", problem.Params{"agent": k.Agent}).At("agent")
	}
	for _, scope := range k.Scopes {
		if !slices.Contains(allowed, scope) {
			return "", problem.New(problem.Invalid, "scope_unknown", problem.Params{"scope": string(scope), "scopes": joinScopes(allowed)}).At("scope")
		}
	}
	if len(k.Scopes) == 0 {
		return "", problem.New(problem.Invalid, "scope_unknown", problem.Params{"scope": "", "scopes": joinScopes(allowed)}).At("scope")
	}
	key = newKey()
	err = postgres.InTx(ctx, a.db, func(tx pgx.Tx) error {
		var person id.Person
		var team id.Team
		if k.Person != "" {
			if person, err = personByNameTx(ctx, tx, k.Person); err != nil {
				return err
			}
			if actor.Person != person { // one's own key needs no right over others
				err = requireOverPersonTx(ctx, tx, actor, person)
			}
		} else {
			team, err = teamOfKeyTx(ctx, tx, actor, k.Team)
		}
		if err != nil {
			return err
		}
		keyID := id.New[id.Key]()
		_, err = tx.Exec(ctx, sqlAddKey, keyID, hash(key), hint(key), person, k.Agent, team, k.Scopes, actor.Name)
		if err != nil {
			return fmt.Errorf("add key: %w", err)
		}
		return AuditTx(ctx, tx, actor, Entry{Verb: ManageKeys, Kind: "key", ID: keyID.String(), Team: team,
			After: map[string]any{"person": k.Person, "agent": k.Agent, "scopes": k.Scopes, "hint": hint(key)}})
	})
	if err != nil {
		return "", err
	}
	return key, nil
}

func teamOfKeyTx(ctx context.Context, tx pgx.Tx, actor Actor, slug string) (team id.Team, err error) {
	if slug == "" {
		slug = DefaultTeam
	}
	if err := tx.QueryRow(ctx, sqlTeamBySlug, slug).Scan(&team); err != nil {
		p := problem.From(postgres.Problem(err, "team_unknown"))
		p.Params = problem.Params{"team": slug}
		return team, p.At("team")
	}
	return team, Can(actor, ManageKeys, Object{Kind: "team", ID: team.String(), Team: team})
}

func joinScopes(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

const (
	sqlActorByKey = `
select k.id, k.person_id, coalesce(k.agent_slug, ''), k.scopes,
       coalesce(p.name, k.agent_slug), coalesce(p.email, ''), coalesce(p.operator, false), coalesce(p.language, ''),
       k.last_used_at is null or k.last_used_at < now() - $2::interval,
       case when k.person_id is null then array[k.team_id]
            else array(select m.team_id from memberships m where m.person_id = p.id order by m.team_id) end,
       case when k.person_id is null then array['viewer']
            else array(select m.role from memberships m where m.person_id = p.id order by m.team_id) end
from api_keys k left join people p on p.id = k.person_id
where k.token_hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
  and (k.person_id is null or p.disabled_at is null)`
	sqlKeyUsed = `update api_keys set last_used_at = now() where token_hash = $1`
)

// ActorByKey is whom a bearer key stands for. The problem is key_invalid, the
// same for one that is malformed, revoked, expired or unknown.
func (a *Accounts) ActorByKey(ctx context.Context, key string) (Actor, error) {
	if !wellFormedKey(key) {
		return Actor{}, problem.New(problem.Unauthenticated, "key_invalid", nil)
	}
	actor := Actor{Kind: KindKey, Via: "api"}
	var keyID id.Key
	var stale bool
	var teams []id.Team
	var teamRoles []Role
	err := a.db.QueryRow(ctx, sqlActorByKey, hash(key), seenEvery).Scan(&keyID, &actor.Person, &actor.Agent, &actor.Scopes,
		&actor.Name, &actor.Email, &actor.Operator, &actor.Language, &stale, &teams, &teamRoles)
	if errors.Is(err, pgx.ErrNoRows) {
		return Actor{}, problem.Wrap(err, problem.Unauthenticated, "key_invalid", nil)
	}
	if err != nil {
		return Actor{}, postgres.Problem(fmt.Errorf("read key: %w", err), "")
	}
	actor.ID = keyID.String()
	if actor.Agent != "" {
		actor.Kind = KindAgent
	}
	actor.setRoles(teams, teamRoles)
	if stale {
		if _, err := a.db.Exec(ctx, sqlKeyUsed, hash(key)); err != nil {
			return Actor{}, postgres.Problem(fmt.Errorf("note key: %w", err), "")
		}
	}
	return actor, nil
}
