package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/demo"
	"baton/internal/postgres/embedded"
)

// demoAnswers are the ways on that the demo's agents offer.
var demoAnswers = map[string][]string{
	"refunds-desk":        {"refund_full", "refund_part", "hand_over"},
	"supplier-deliveries": {"renew", "phone", "later"},
	"price-list":          {"minimum", "take_back", "accept", "purchasing"},
}

// eachAnswer gives each of them: whatever a stranger tries, the agent's report
// has to be borne out by its record, at the first go.
func (a api) eachAnswer(dataDir string) {
	a.t.Helper()
	agents := a.moreWork(dataDir)
	left := map[string][]string{}
	for agent, ways := range demoAnswers {
		left[agent] = slices.Clone(ways)
	}
	chosen := map[string]string{} // by session
	for deadline := time.Now().Add(2 * time.Minute); len(left) > 0; <-time.After(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			a.t.Fatalf("nobody asked for the answers %v", left)
		}
		var list struct{ Items []apiQuestion }
		a.do("GET", "/escalations?status=pending&limit=100", nil, &list)
		for _, q := range list.Items {
			agent := agents[q.SessionID]
			ways := left[agent]
			if len(ways) == 0 || chosen[q.SessionID] != "" {
				continue
			}
			decision := map[string]any{"version": q.Version, "decision": map[string]any{"type": "choose", "option_id": ways[0]}}
			if code := a.do("POST", "/escalations/"+q.ID+"/answer", decision, nil); code != http.StatusOK {
				a.t.Fatalf("answer %s to %s: %d", ways[0], q.Title, code)
			}
			chosen[q.SessionID] = ways[0]
			if left[agent] = ways[1:]; len(left[agent]) == 0 {
				delete(left, agent)
			}
		}
	}
	for session, option := range chosen {
		if s := a.ended(session); s.Status != "completed" || !slices.Contains([]string{"done", "partly", "unable"}, s.Outcome) {
			a.t.Errorf("%s: the session is %s %s: %s", option, s.Status, s.Outcome, s.Summary)
		}
		var page struct {
			Items []struct{ Tool, Status string }
		}
		a.do("GET", "/sessions/"+session+"/calls?limit=100", nil, &page)
		for _, c := range page.Items {
			if c.Tool == "finish" && c.Status != "succeeded" {
				a.t.Errorf("%s: a report is %s", option, c.Status)
			}
		}
	}
}

// moreWork starts sessions of these agents, more than there are answers: some
// find nothing to ask. It returns their agents.
func (a api) moreWork(dataDir string) map[string]string {
	a.t.Helper()
	run, running := embedded.Owner(dataDir)
	if !running {
		a.t.Fatal("the demo does not run")
	}
	at, err := pgxpool.ParseConfig(run.DatabaseURL)
	if err != nil {
		a.t.Fatal(err)
	}
	at.ConnConfig.Database = shopDatabase
	shop, err := pgxpool.NewWithConfig(a.t.Context(), at)
	if err != nil {
		a.t.Fatal(err)
	}
	defer shop.Close()
	var there struct {
		Items []struct {
			Agent  struct{ Slug string }
			Task   string
			Inputs json.RawMessage
		}
	}
	a.do("GET", "/sessions?limit=100", nil, &there)
	var taken []demo.Session
	for _, s := range there.Items {
		taken = append(taken, demo.Session{Agent: s.Agent.Slug, Task: s.Task, Inputs: s.Inputs})
	}
	work := demo.NewWork(shop, taken...)
	agents, started := map[string]string{}, map[string]int{}
	for range 80 {
		s, found, err := work.Next(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		if ways := demoAnswers[s.Agent]; !found || len(ways) == 0 || started[s.Agent] > 2*len(ways) {
			continue
		}
		var now apiSession
		if code := a.do("POST", "/sessions", map[string]any{"agent": s.Agent, "task": s.Task, "inputs": s.Inputs}, &now); code != http.StatusCreated {
			a.t.Fatalf("start %s: %d", s.Agent, code)
		}
		agents[now.ID], started[s.Agent] = s.Agent, started[s.Agent]+1
	}
	return agents
}
