package web

import (
	"net/http"
	"testing"

	"baton/templates"
)

// A link of an agent's leads to a page that says where it goes, and asks.
// R: Q4
// case: abuse A03
func TestALinkOfAnAgentAsksBeforeItLeads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	viewer := w.as("viewer")
	viewer.get(templates.LeavingURL("https://shop.example/orders?id=1")).has(t, http.StatusOK,
		"Go to shop.example?", "https://shop.example/orders?id=1", `rel="noopener noreferrer nofollow ugc"`)
	for _, to := range []string{"", "javascript:alert(1)", "/inbox", "//evil.example", "https://a@evil.example", "data:text/html,x"} {
		viewer.get(templates.LeavingURL(to)).has(t, http.StatusNotFound)
	}
}
