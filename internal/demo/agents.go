package demo

import (
	"embed"
	"fmt"

	"baton/internal/definition"
)

//go:embed agents/*.yaml agents/*.star
var agentFiles embed.FS

//go:embed files/*
var workspaceFiles embed.FS

//go:embed tools/*.yaml
var toolFiles embed.FS

// The names under which the sample agents know the shop's database and the
// services around it, which stand on loopback addresses. The payment service
// honours Idempotency-Key; the others don't.
const (
	DataSource   = "shop"
	PaymentsHost = "payments.internal"
	PortalHost   = "portal.internal"
	CarrierHost  = "carrier.internal"
)

// MailFrom is who sends the shop's mail.
const MailFrom = "The furniture shop <news@shop.example>"

// sampleAgents are the definitions with their playbooks. All work in team
// support but the last, so that there is another team to be kept apart from.
var sampleAgents = []struct{ yaml, playbook string }{
	{"refunds-desk.yaml", "duplicate-charge.star"},
	{"order-questions.yaml", "order-status.star"},
	{"supplier-deliveries.yaml", "supplier-delivery.star"},
	{"price-list.yaml", "price-update.star"},
	{"newsletters.yaml", "newsletter.star"},
	{"delivery-reports.yaml", "delivery-report.star"},
	{"refunds-finance.yaml", "duplicate-charge.star"},
}

// Agents are the definitions of the sample agents with their playbooks, ready
// to be applied.
func Agents() ([]definition.File, error) {
	var files []definition.File
	for _, a := range sampleAgents {
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

// Tools are the tools that the sample business has declared, by name: those of
// the payment service.
func Tools() (map[string]definition.DeclaredTool, error) {
	entries, err := toolFiles.ReadDir("tools")
	if err != nil {
		return nil, fmt.Errorf("read sample tools: %w", err)
	}
	all := map[string]definition.DeclaredTool{}
	for _, e := range entries {
		source, err := toolFiles.ReadFile("tools/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read sample tool: %w", err)
		}
		t, faults := definition.ParseTool(e.Name(), source)
		if len(faults) > 0 {
			return nil, fmt.Errorf("read sample tool: %w", faults)
		}
		all[t.Name] = t
	}
	return all, nil
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
