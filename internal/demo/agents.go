package demo

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"baton/internal/definition"
	"baton/internal/postgres"
)

//go:embed agents/*.yaml agents/*.star
var agentFiles embed.FS

//go:embed files/*
var workspaceFiles embed.FS

// DataSource and PaymentsHost are the names under which the sample agents know
// the shop's database and the payment service. The service honours
// Idempotency-Key and stands on a loopback address.
const (
	DataSource   = "shop"
	PaymentsHost = "payments.internal"
)

// Agents are the definitions of the sample agents with their playbooks, ready
// to be applied in team support.
func Agents() ([]definition.File, error) {
	var files []definition.File
	for _, a := range []struct{ yaml, playbook string }{
		{"refunds-desk.yaml", "duplicate-charge.star"},
		{"order-questions.yaml", "order-status.star"},
	} {
		source, err := agentFiles.ReadFile("agents/" + a.yaml)
		if err != nil {
			return nil, fmt.Errorf("read sample agent: %w", err)
		}
		playbook, err := agentFiles.ReadFile("agents/" + a.playbook)
		if err != nil {
			return nil, fmt.Errorf("read sample playbook: %w", err)
		}
		files = append(files, definition.File{Name: a.yaml, Source: source, Playbook: playbook})
	}
	return files, nil
}

// Files are what the agents find in their workspace, by name.
func Files() (map[string][]byte, error) {
	entries, err := workspaceFiles.ReadDir("files")
	if err != nil {
		return nil, fmt.Errorf("read sample files: %w", err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = workspaceFiles.ReadFile("files/" + e.Name()); err != nil {
			return nil, fmt.Errorf("read sample file: %w", err)
		}
	}
	return files, nil
}

// Session is a piece of work for a sample agent.
type Session struct {
	Agent  string
	Task   string
	Inputs json.RawMessage
}

// Sessions are pieces of work from the shop's data: refunds that need a person,
// one that doesn't, and questions that are answered without one.
func Sessions(ctx context.Context, db postgres.DB) ([]Session, error) {
	above, err := Cases(ctx, db, 3, true)
	if err != nil {
		return nil, err
	}
	below, err := Cases(ctx, db, 1, false)
	if err != nil {
		return nil, err
	}
	asked, err := Orders(ctx, db, 2)
	if err != nil {
		return nil, err
	}
	var list []Session
	for _, c := range append(above, below...) {
		list = append(list, session("refunds-desk", c, "%s writes that order %s was charged twice. Check it and settle it."))
	}
	for _, c := range asked {
		list = append(list, session("order-questions", c, "%s asks whether order %s is paid and sent, and how much they have bought from us in a year."))
	}
	return list, nil
}

func session(agent string, c Case, task string) Session {
	inputs, _ := json.Marshal(map[string]string{"order": c.Order}) // strings always marshal
	return Session{agent, fmt.Sprintf(task, c.Customer, c.Order), inputs}
}
