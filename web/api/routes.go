package api

import (
	"net/http"

	"baton/internal/auth"
)

// Routes is the table of all operations.
func (a *API) Routes() []Route {
	const get, post, put = http.MethodGet, http.MethodPost, http.MethodPut
	return []Route{
		{get, "/sessions", auth.ReadSession, a.listSessions},
		{post, "/sessions", auth.StartSession, a.startSession},
		{get, "/sessions/{id}", auth.ReadSession, a.getSession},
		{get, "/sessions/{id}/events", auth.ReadSession, a.listEvents},
		{get, "/sessions/{id}/calls", auth.ReadSession, a.listCalls},
		{post, "/sessions/{id}/pause", auth.ControlSession, a.pauseSession},
		{post, "/sessions/{id}/resume", auth.ControlSession, a.resumeSession},
		{post, "/sessions/{id}/cancel", auth.ControlSession, a.cancelSession},
		{post, "/sessions/{id}/messages", auth.ControlSession, a.messageSession},

		{get, "/calls/{id}", auth.ReadSession, a.getCall},
		{get, "/calls/{id}/output", auth.ReadSession, a.getOutput},

		{get, "/escalations", auth.ReadEscalation, a.listEscalations},
		{get, "/escalations/{id}", auth.ReadEscalation, a.getEscalation},
		{post, "/escalations/{id}/answer", auth.AnswerEscalation, a.answerEscalation},
		{post, "/escalations/{id}/undo", auth.AnswerEscalation, a.undoEscalation},
		{get, "/escalations/{id}/precedents", auth.ReadDecision, a.listPrecedents},

		{get, "/decisions", auth.ReadDecision, a.listDecisions},
		{get, "/decisions/{id}", auth.ReadDecision, a.getDecision},

		{get, "/agents", auth.ReadAgent, a.listAgents},
		{get, "/agents/{slug}", auth.ReadAgent, a.getAgent},
		{put, "/agents/{slug}", auth.WriteAgent, a.putAgent},

		{post, "/tools/{name}/reset", auth.ResetTool, a.resetTool},

		{get, "/", "", a.index},
		{get, "/openapi.json", "", a.document},
	}
}
