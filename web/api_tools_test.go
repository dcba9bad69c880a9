package web

import (
	"net/http"
	"testing"

	"baton/internal/tools"
)

// R: X4, I1, K1
func TestAnOperatorLetsCallsGoToAServiceAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	down := tools.Refuse(tools.Fail(tools.Unavailable, "It answers 503."), tools.Meta{Attempts: 1})
	for range 5 {
		w.deps.Breakers.Ended(t.Context(), "shop.example", "http_request", down)
	}
	w.program("supervisor").post("/tools/http_request/reset", "").refused(t, http.StatusForbidden, "not_allowed", "")
	operator := w.program("viewer") // the first person of all is an operator
	got := operator.post("/tools/http_request/reset", "").ok(t, http.StatusOK)
	if list, _ := got["services"].([]any); len(list) != 1 || list[0] != "shop.example" {
		t.Errorf("reset %v", got)
	}
	again := operator.post("/tools/http_request/reset", "").ok(t, http.StatusOK)
	if list, _ := again["services"].([]any); len(list) != 0 {
		t.Errorf("reset twice: %v", again)
	}
}
