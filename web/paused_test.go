package web

import (
	"net/http"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/templates"
)

// While a session is paused nobody is told that its agent goes on by itself, and
// nobody of a way back that isn't theirs.
// R: A7, Q6, UI
func TestNobodyIsToldThatAPausedSessionGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("second", auth.Responder, "support")
	e := w.question("desk")
	c := &colleagues{world: w, t: t, e: e}
	const goesOn, waits, back = "The agent goes on in", "The session is paused: the agent goes on once somebody lets it.", "Until then you can take the answer back."
	c.answer("second", "leave")
	w.as("responder").get(questionPath(e)).lacks(t, back)
	w.as("second").get(questionPath(e)).has(t, http.StatusOK, goesOn, back)
	if _, err := w.deps.Sessions.Pause(t.Context(), auth.CLI("root"), w.deps.Inserter, e.Session); err != nil {
		t.Fatal(err)
	}
	page := w.as("second").get(questionPath(e))
	page.has(t, http.StatusOK, "The answer goes out in", "The session is paused: the agent goes on once somebody lets it.", back)
	page.lacks(t, goesOn)
	w.as("viewer").get(templates.SessionURL(e.Session.String())).has(t, http.StatusOK, "A person paused it. Nothing runs until somebody lets it go on.")
	c.undo("second")
	if _, err := w.deps.Desk.Answer(t.Context(), c.actor("second"), e.ID, decide.Answer{Version: 3, Type: escalation.Choose, Option: "leave", Hold: new(time.Duration)}); err != nil {
		t.Fatal(err)
	}
	w.as("second").get(questionPath(e)).has(t, http.StatusOK, waits)
}
