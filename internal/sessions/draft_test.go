package sessions_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/live"
	"baton/internal/problem"
	"baton/internal/sessions"
)

// hub runs a hub on the house's database until the test ends.
func (h *house) hub(t *testing.T) *live.Hub {
	t.Helper()
	hub := live.NewHub(h.pool, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { hub.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return hub
}

// What a model says is seen while it says it, by viewers who are with another
// replica too, and is void once the reply is there.
// R: V2, V6
func TestADraftIsSeenFromEveryReplicaUntilItsReplyIsThere(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	hereHub, farHub := h.hub(t), h.hub(t)
	for !hereHub.Others() || !farHub.Others() {
		<-time.After(10 * time.Millisecond)
	}
	here, far := sessions.NewStore(h.pool, hereHub), sessions.NewStore(h.pool, farHub)
	lease := h.claim(t, h.join(t), s.ID)
	seen := farHub.Subscribe([]live.Object{live.Of(s.ID)})
	defer seen.Close()
	read := func(store *sessions.Store) string {
		t.Helper()
		v, err := store.Get(t.Context(), auth.CLI("t"), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		d, err := store.Draft(t.Context(), auth.CLI("t"), v)
		if err != nil {
			t.Fatal(err)
		}
		return d.Text
	}
	show := func(lease *sessions.Lease, text string) {
		t.Helper()
		if err := here.ShowDraft(t.Context(), lease, sessions.Draft{Step: 1, Text: text}, true); err != nil {
			t.Fatal(err)
		}
	}
	rows := func() (n int) {
		t.Helper()
		if err := h.pool.QueryRow(t.Context(), `select count(*) from session_drafts where text <> ''`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	show(lease, "Nobody elsewhere")
	if rows() != 0 {
		t.Error("a draft is written that nobody wants")
	}
	if got := read(far); got != "" {
		t.Errorf("elsewhere it says %q", got)
	}
	show(lease, "I have found")
	if got := read(here); got != "I have found" {
		t.Errorf("here it says %q", got)
	}
	for read(far) != "I have found" { // a hint comes with it
		<-seen.C
		seen.Take()
	}
	late := *lease
	late.Epoch--
	show(&late, "I had lost it")
	if got := read(far); got != "I have found" {
		t.Errorf("a worker that lost the session wrote %q", got)
	}
	if _, err := here.WriteStep(t.Context(), lease, sessions.Step{Events: []sessions.NewEvent{note("a")}, Counters: sessions.Counters{Turn: 1, Steps: 1}}); err != nil {
		t.Fatal(err)
	}
	here.EndDraft(lease)
	for where, store := range map[string]*sessions.Store{"here": here, "elsewhere": far} {
		if got := read(store); got != "" {
			t.Errorf("%s it still says %q", where, got)
		}
	}
	stranger := auth.Actor{Kind: auth.KindPerson, Roles: map[id.Team]auth.Role{id.New[id.Team](): auth.Admin}}
	v, _ := here.Get(t.Context(), auth.CLI("t"), s.ID)
	if _, err := here.Draft(t.Context(), stranger, v); !problem.Is(err, "not_found") {
		t.Errorf("a stranger reads: %v", err)
	}
	if _, err := h.pool.Exec(t.Context(), `update session_drafts set wanted_until = now() - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	if err := sessions.ForgetDrafts(t.Context(), h.pool); err != nil || rows() != 0 {
		t.Errorf("what nobody wants is kept: %v", err)
	}
}
