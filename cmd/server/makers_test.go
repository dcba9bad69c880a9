package main

import (
	"strings"
	"testing"

	"baton/internal/definition"
)

// An agent that sends mail where there is no mail server is told what lacks.
// R: T7, G4
func TestMailNeedsAMailServer(t *testing.T) {
	t.Parallel()
	b := newToolbox(definition.Installation{}, t.TempDir(), nil, nil)
	if _, err := b.sendEmail(t.Context(), definition.Version{}); err == nil || !strings.Contains(err.Error(), "smtp") {
		t.Errorf("without a mail server: %v", err)
	}
	b = newToolbox(definition.Installation{SMTP: definition.SMTP{Address: "127.0.0.1:25", From: "Shop <shop@shop.example>"}}, t.TempDir(), nil, nil)
	tool, err := b.sendEmail(t.Context(), definition.Version{})
	if err != nil || tool.Spec().Name != "send_email" || !strings.Contains(tool.Spec().Description, "shop@shop.example") {
		t.Errorf("with one: %v", err)
	}
}
