package main

import (
	"testing"

	"baton/internal/demo"
	"baton/internal/id"
)

// New work stops coming in while enough questions wait for somebody.
// R: G1
func TestTheDemoDoesNotFloodTheInbox(t *testing.T) {
	t.Parallel()
	p := working(t)
	work := demo.NewWork(p.pool) // a database without a shop: looking for work there fails
	if err := moreWork(t.Context(), p.house, work); err == nil {
		t.Fatal("no work is looked for while nothing waits")
	}
	var asking []id.Session
	for range waitingMost {
		asking = append(asking, p.start(`def reply(s): return [ask("Which way shall it go on?", options=[option("Left", "It goes left."), option("Right", "It goes right.")])]`))
	}
	for _, s := range asking {
		p.questions(s, 1)
	}
	if err := moreWork(t.Context(), p.house, work); err != nil {
		t.Errorf("work is looked for while %d questions wait: %v", waitingMost, err)
	}
}
