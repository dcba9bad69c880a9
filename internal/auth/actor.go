package auth

import (
	"slices"

	"baton/internal/id"
)

// Kind says what sort of actor acts.
type Kind string

// The kinds of actors.
const (
	KindPerson Kind = "person" // signed in with a browser
	KindKey    Kind = "key"    // a person's key
	KindAgent  Kind = "agent"  // an agent's key
	KindCLI    Kind = "cli"    // somebody with a shell on the server's machine
	KindRule   Kind = "rule"   // a standing rule
	KindSystem Kind = "system" // Baton itself: expiry, sweeps
)

// Actor is who acts, as of this request. It is read anew for each request, so
// a right that was taken away is gone with the next one.
type Actor struct {
	Kind        Kind
	ID          string    // its outside form: per_..., key_..., an agent's slug, an OS user
	Person      id.Person // of a person and of a person's key
	Agent       string    // slug, of an agent's key
	Name        string    // for people to read
	Email       string
	Operator    bool
	Roles       map[id.Team]Role
	Scopes      []Scope // of keys; a signed-in person has none and needs none
	Via         string  // browser, api, cli, system: for the audit
	Preferences         // of a signed-in person

	everywhere bool // in all teams, with every right: the CLI, and Baton itself
}

// Preferences are how a person likes the pages to be.
type Preferences struct {
	Language string // empty: as the browser asks
	Theme    string // light, dark; empty: as the system is
	KeysOff  bool   // pages don't act on single keys
}

// CLI is the actor for a command typed on the server's machine: who can do that
// can read the database anyway, so it acts as operator, under the OS user's name.
func CLI(osUser string) Actor {
	return Actor{Kind: KindCLI, ID: osUser, Name: osUser, Operator: true, Via: "cli", everywhere: true}
}

// System is Baton itself, for what no person asked for: timers, sweeps, first
// set-up.
func System() Actor {
	return Actor{Kind: KindSystem, ID: "baton", Name: "Baton", Operator: true, Via: "system", everywhere: true}
}

// Teams are the teams in which the actor may do the verb, as a parameter for
// ($n::uuid[] is null or team_id = any($n)): nil, which is NULL in SQL, means
// all teams; an empty list means none.
func (a Actor) Teams(verb Verb) []id.Team {
	if a.everywhere {
		return nil
	}
	teams := []id.Team{}
	for team := range a.Roles {
		if Can(a, verb, Object{Team: team}) == nil {
			teams = append(teams, team)
		}
	}
	return teams
}

// Member says whether the actor belongs to the team in any role.
func (a Actor) Member(team id.Team) bool {
	_, member := a.Roles[team]
	return member || a.everywhere
}

// SignedIn says whether this is anybody at all.
func (a Actor) SignedIn() bool { return a.Kind != "" }

func (a Actor) hasScope(scope Scope) bool {
	return a.Kind == KindPerson || slices.Contains(a.Scopes, ScopeAll) || slices.Contains(a.Scopes, scope)
}
