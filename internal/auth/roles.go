package auth

import (
	"slices"

	"baton/internal/id"
	"baton/internal/problem"
)

// Role is what a person is in a team. Each role may do what those before it
// may.
type Role string

// The roles, from least to most.
const (
	Viewer     Role = "viewer"
	Responder  Role = "responder"
	Supervisor Role = "supervisor"
	Admin      Role = "admin"
)

var roles = []Role{Viewer, Responder, Supervisor, Admin}

// Roles lists the roles from least to most.
func Roles() []Role { return slices.Clone(roles) }

// Valid says whether r is one of the four roles.
func (r Role) Valid() bool { return slices.Contains(roles, r) }

// atLeast says whether r may do what least may. No role may do nothing.
func (r Role) atLeast(least Role) bool {
	return r.Valid() && slices.Index(roles, r) >= slices.Index(roles, least)
}

// Scope narrows what a key may be used for.
type Scope string

// The scopes of keys. All allows what the key's person may do.
const (
	ScopeSessionRead      Scope = "session:read"
	ScopeSessionStart     Scope = "session:start"
	ScopeSessionControl   Scope = "session:control"
	ScopeSessionReport    Scope = "session:report"
	ScopeEscalationRaise  Scope = "escalation:raise"
	ScopeEscalationRead   Scope = "escalation:read"
	ScopeEscalationAnswer Scope = "escalation:answer"
	ScopeDecisionRead     Scope = "decision:read"
	ScopeRuleWrite        Scope = "rule:write"
	ScopeAgentWrite       Scope = "agent:write"
	ScopeAdmin            Scope = "admin"
	ScopeAll              Scope = "all"
)

var personScopes = []Scope{
	ScopeSessionRead, ScopeSessionStart, ScopeSessionControl, ScopeEscalationRaise, ScopeEscalationRead,
	ScopeEscalationAnswer, ScopeDecisionRead, ScopeRuleWrite, ScopeAgentWrite, ScopeAdmin, ScopeAll,
}

// agentScopes are all that an agent's key can have. Answering is not among
// them: nothing that a model writes may decide.
var agentScopes = []Scope{ScopeEscalationRaise, ScopeEscalationRead, ScopeSessionReport}

// PersonScopes lists the scopes that a person's key can have.
func PersonScopes() []Scope { return slices.Clone(personScopes) }

// AgentScopes lists the scopes that an agent's key can have.
func AgentScopes() []Scope { return slices.Clone(agentScopes) }

// Verb is something that an actor may be allowed to do, named noun.verb.
type Verb string

// The verbs. What each takes stands in the table below.
const (
	ReadSession      Verb = "session.read"
	StartSession     Verb = "session.start"
	ControlSession   Verb = "session.control"
	ReadFullOutput   Verb = "session.read_full"
	ReadEscalation   Verb = "escalation.read"
	RaiseEscalation  Verb = "escalation.raise"
	CancelEscalation Verb = "escalation.cancel"
	AnswerEscalation Verb = "escalation.answer"
	ReadDecision     Verb = "decision.read"
	ReadAgent        Verb = "agent.read"
	WriteAgent       Verb = "agent.write"
	ManagePeople     Verb = "people.manage"
	ManageKeys       Verb = "keys.manage"
	ReadAudit        Verb = "audit.read"
	ManageSecrets    Verb = "secret.manage"
	CreateTeam       Verb = "team.create"
	ResetTool        Verb = "tool.reset"
)

// Scope is what a person's key needs for the verb, beside the person's role.
func (v Verb) Scope() Scope { return rights[v].scope }

type right struct {
	role     Role  // the least role in the object's team
	scope    Scope // what a person's key needs besides
	agent    Scope // what an agent's key needs; none means never
	operator bool  // belongs to the installation: role doesn't matter
}

var rights = map[Verb]right{
	ReadSession:      {role: Viewer, scope: ScopeSessionRead},
	StartSession:     {role: Supervisor, scope: ScopeSessionStart},
	ControlSession:   {role: Supervisor, scope: ScopeSessionControl},
	ReadFullOutput:   {role: Supervisor, scope: ScopeSessionRead},
	ReadEscalation:   {role: Viewer, scope: ScopeEscalationRead, agent: ScopeEscalationRead},
	RaiseEscalation:  {role: Supervisor, scope: ScopeEscalationRaise, agent: ScopeEscalationRaise},
	CancelEscalation: {role: Supervisor, scope: ScopeEscalationRaise, agent: ScopeEscalationRaise},
	AnswerEscalation: {role: Responder, scope: ScopeEscalationAnswer},
	ReadDecision:     {role: Viewer, scope: ScopeDecisionRead},
	ReadAgent:        {role: Viewer, scope: ScopeSessionRead},
	WriteAgent:       {role: Admin, scope: ScopeAgentWrite},
	ManagePeople:     {role: Admin, scope: ScopeAdmin},
	ManageKeys:       {role: Admin, scope: ScopeAdmin},
	ReadAudit:        {role: Admin, scope: ScopeAdmin},
	ManageSecrets:    {scope: ScopeAdmin, operator: true},
	CreateTeam:       {scope: ScopeAdmin, operator: true},
	ResetTool:        {scope: ScopeAdmin, operator: true},
}

// Verbs lists every verb.
func Verbs() []Verb {
	all := make([]Verb, 0, len(rights))
	for v := range rights {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

// Object is what a verb is about to act on, read from its locked row.
type Object struct {
	Kind string  // session, escalation, ...: for the message and the audit row
	ID   string  // its outside form
	Team id.Team // zero for what belongs to the installation
	// Agent is the slug of the agent that the object belongs to, where one
	// does: an agent's key reaches only its own.
	Agent string
}

// Can says whether the actor may do the verb to the object: nil, or the problem
// not_found for what the actor can't even see, or not_allowed.
func Can(actor Actor, verb Verb, object Object) error {
	r, known := rights[verb]
	refusal := problem.New(problem.Forbidden, "not_allowed",
		problem.Params{"verb": string(verb), "kind": object.Kind, "id": object.ID, "team": object.Team.String()})
	if !known {
		return refusal
	}
	if actor.everywhere {
		return nil
	}
	if r.operator {
		if actor.Operator && actor.Kind != KindAgent && actor.hasScope(r.scope) {
			return nil
		}
		return refusal
	}
	role, member := actor.Roles[object.Team]
	if !member {
		return problem.New(problem.NotFound, "not_found", problem.Params{"kind": object.Kind})
	}
	if actor.Kind == KindAgent {
		if object.Agent != "" && object.Agent != actor.Agent {
			return problem.New(problem.NotFound, "not_found", problem.Params{"kind": object.Kind})
		}
		if r.agent != "" && slices.Contains(actor.Scopes, r.agent) {
			return nil
		}
		return refusal
	}
	if role.atLeast(r.role) && actor.hasScope(r.scope) {
		return nil
	}
	return refusal
}
