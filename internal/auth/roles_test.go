package auth_test

import (
	"testing"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/problem"
)

var ours, theirs = id.New[id.Team](), id.New[id.Team]()

func person(role auth.Role) auth.Actor {
	return auth.Actor{Kind: auth.KindPerson, Roles: map[id.Team]auth.Role{ours: role}}
}

func outcome(err error) string {
	if err == nil {
		return "yes"
	}
	return problem.From(err).Kind.String()
}

// What each role may do, verb by verb: the table of the specification, not of
// the code.
// R: K2
// case: abuse A14
func TestRolesMayDoWhatTheSpecificationSays(t *testing.T) {
	t.Parallel()
	least := map[auth.Verb]auth.Role{
		auth.ReadSession: auth.Viewer, auth.ReadEscalation: auth.Viewer, auth.ReadDecision: auth.Viewer, auth.ReadAgent: auth.Viewer,
		auth.AnswerEscalation: auth.Responder,
		auth.StartSession:     auth.Supervisor, auth.ControlSession: auth.Supervisor, auth.ReadFullOutput: auth.Supervisor,
		auth.RaiseEscalation: auth.Supervisor, auth.CancelEscalation: auth.Supervisor,
		auth.WriteAgent: auth.Admin, auth.ManagePeople: auth.Admin, auth.ManageKeys: auth.Admin, auth.ReadAudit: auth.Admin,
		auth.ManageSecrets: "operator", auth.CreateTeam: "operator", auth.ResetTool: "operator",
	}
	order := map[auth.Role]int{auth.Viewer: 0, auth.Responder: 1, auth.Supervisor: 2, auth.Admin: 3, "operator": 9}
	for _, verb := range auth.Verbs() {
		want, stated := least[verb]
		if !stated {
			t.Errorf("%s: no row here says who may do it", verb)
		}
		for _, role := range auth.Roles() {
			expect := "forbidden"
			if order[role] >= order[want] {
				expect = "yes"
			}
			if got := outcome(auth.Can(person(role), verb, auth.Object{Team: ours})); got != expect {
				t.Errorf("%s in a team of one's own, as %s: %s, want %s", verb, role, got, expect)
			}
			if want == "operator" {
				continue
			}
			if got := outcome(auth.Can(person(role), verb, auth.Object{Team: theirs})); got != "not_found" {
				t.Errorf("%s in another team, as %s: %s, want not_found", verb, role, got)
			}
		}
	}
}

// R: K6, I2
// case: abuse A14
func TestAnAgentsKeyCanNeverAnswerWhateverItsScopes(t *testing.T) {
	t.Parallel()
	agent := auth.Actor{Kind: auth.KindAgent, Agent: "bot", Operator: true, Roles: map[id.Team]auth.Role{ours: auth.Admin},
		Scopes: []auth.Scope{auth.ScopeAll, auth.ScopeEscalationAnswer, auth.ScopeEscalationRaise, auth.ScopeEscalationRead}}
	for _, verb := range auth.Verbs() {
		allowed := verb == auth.RaiseEscalation || verb == auth.ReadEscalation || verb == auth.CancelEscalation
		got := outcome(auth.Can(agent, verb, auth.Object{Team: ours, Agent: "bot"}))
		if (got == "yes") != allowed {
			t.Errorf("%s: %s", verb, got)
		}
	}
	if got := outcome(auth.Can(agent, auth.ReadEscalation, auth.Object{Team: ours, Agent: "another"})); got != "not_found" {
		t.Errorf("another agent's escalation: %s, want not_found", got)
	}
}

// R: K2
// case: abuse A15
func TestAKeyIsAtMostItsPersonAndItsScopes(t *testing.T) {
	t.Parallel()
	key := auth.Actor{Kind: auth.KindKey, Roles: map[id.Team]auth.Role{ours: auth.Responder}, Scopes: []auth.Scope{auth.ScopeEscalationRead}}
	for verb, want := range map[auth.Verb]string{
		auth.ReadEscalation:   "yes",
		auth.AnswerEscalation: "forbidden", // the role may, the scope doesn't say so
		auth.StartSession:     "forbidden",
	} {
		if got := outcome(auth.Can(key, verb, auth.Object{Team: ours})); got != want {
			t.Errorf("%s with escalation:read: %s, want %s", verb, got, want)
		}
	}
	key.Scopes = []auth.Scope{auth.ScopeAll, auth.ScopeSessionStart}
	if got := outcome(auth.Can(key, auth.StartSession, auth.Object{Team: ours})); got != "forbidden" {
		t.Errorf("a responder's key with every scope starts a session: %s", got)
	}
	if got := outcome(auth.Can(key, auth.AnswerEscalation, auth.Object{Team: ours})); got != "yes" {
		t.Errorf("a responder's key with all: %s", got)
	}
}

func TestTeamsOfAnActorAreThoseWhereTheVerbIsAllowed(t *testing.T) {
	t.Parallel()
	actor := auth.Actor{Kind: auth.KindPerson, Roles: map[id.Team]auth.Role{ours: auth.Responder, theirs: auth.Viewer}}
	if got := actor.Teams(auth.AnswerEscalation); len(got) != 1 || got[0] != ours {
		t.Errorf("teams to answer in: %v, want only %v", got, ours)
	}
	if got := actor.Teams(auth.WriteAgent); got == nil || len(got) != 0 {
		t.Errorf("teams to write agents in: %#v, want an empty list, not nil", got)
	}
	if got := auth.CLI("root").Teams(auth.WriteAgent); got != nil {
		t.Errorf("teams of the command line: %v, want nil (all)", got)
	}
}
