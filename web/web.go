package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/jobs"
	"baton/internal/live"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/internal/tools/breaker"
)

// Deps are what the pages work on.
type Deps struct {
	Accounts    *auth.Accounts
	Sessions    *sessions.Store
	Definitions *definition.Store
	Escalations *escalation.Store
	Breakers    *breaker.Breakers
	Desk        *decide.Desk
	Inserter    *jobs.Inserter
	// Live says when something has changed. Nil: pages hear of nothing.
	Live *live.Hub
	Log  *slog.Logger
	// Tools are the tools of an agent's version, for their words: what a call
	// did is said in them. Nil, or an error: calls go by their tool's name.
	Tools func(definition.Version) (*tools.Registry, error)
	// Prompt is the system prompt that an agent's model is sent, and the number of
	// the contract in it. Nil: its instructions alone.
	Prompt func(definition.Agent) (text string, contract int)
	// PublicURL is how people reach the server: its host is answered, its
	// scheme decides whether cookies are for https alone. Nil: whatever local
	// name or address the request came to.
	PublicURL *url.URL
	// Ready says whether everything that requests need is there. Its error goes
	// to the log and makes /readyz say 503.
	Ready func(context.Context) error
	// Stopping is closed when the server is about to end, so that requests that
	// wait for something reply before they are cut. Nil: it never ends.
	Stopping <-chan struct{}
}

// New makes the handler for everything that the server answers.
func New(deps Deps) http.Handler { return newSite(deps).handler() }

func newSite(deps Deps) *site {
	if deps.Live == nil {
		deps.Live = live.NewHub(nil, deps.Log)
	}
	if deps.Prompt == nil {
		deps.Prompt = func(a definition.Agent) (string, int) { return a.Instructions, 0 }
	}
	return &site{Deps: deps, origin: newOriginCheck(deps.PublicURL), liveHub: newLiveHub()}
}

func (s *site) handler() http.Handler {
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.Use(s.identified, s.logged, s.recovered, safeHeaders, s.hostChecked, s.originChecked, bodyLimited, s.read)
	for _, r := range s.routes() {
		handler := r.handler
		if r.access == signedIn {
			handler = requireSignIn(handler)
		}
		e.Add(r.method, r.path, handler)
		if r.method == http.MethodGet {
			e.Add(http.MethodHead, r.path, handler) // the server drops the body
		}
	}
	return e
}

type site struct {
	Deps
	origin   *http.CrossOriginProtection
	liveHub  *liveHub
	versions sync.Map // of agents: sessions.AgentRef to definition.Version
}

func (s *site) https() bool { return s.PublicURL != nil && s.PublicURL.Scheme == "https" }
