package breaker

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/postgres/pgtest"
	"baton/internal/problem"
	"baton/internal/tools"
)

var (
	away      = tools.Refuse(tools.Fail(tools.Unavailable, "The shop answers 503."), tools.Meta{Attempts: 4})
	slow      = tools.Refuse(tools.Fail(tools.Timeout, "Too slow."), tools.Meta{Attempts: 1})
	doubt     = tools.Refuse(tools.Fail(tools.OutcomeUnknown, "Cut off."), tools.Meta{Attempts: 1})
	wrong     = tools.Refuse(tools.Fail(tools.NotFound, "There is no such order."), tools.Meta{Attempts: 1})
	refused   = tools.Refuse(tools.Fail(tools.Unavailable, "It is paused."), tools.Meta{})
	fine, _   = tools.Succeed(tools.Output{Text: "ok"}, tools.Meta{Attempts: 1})
	copied, _ = tools.Succeed(tools.Output{Text: "old", Degraded: &tools.Degraded{Source: "a copy", Reason: "503"}}, tools.Meta{Attempts: 4})
)

// house is a set of breakers, and its twin of another replica.
type house struct {
	*testing.T
	here, there *Breakers
}

func newHouse(t *testing.T) house {
	t.Helper()
	db := pgtest.New(t)
	log := slog.New(slog.DiscardHandler)
	return house{t, New(db, log), New(db, log)}
}

func (h house) ends(results ...tools.Result) {
	for _, r := range results {
		h.here.Ended(h.Context(), "shop", "lookup", r)
	}
}

// open are the services that the other replica keeps calls away from.
func (h house) open() (services string) {
	h.Helper()
	if err := h.there.Refresh(h.Context()); err != nil {
		h.Fatal(err)
	}
	for _, b := range h.there.Facts(time.Now()) {
		services += b.Service + " "
	}
	return strings.TrimSpace(services)
}

// R: X4
func TestFiveFailuresInARowOpenABreakerForAllReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		results []tools.Result
		want    string
	}{
		"five":                      {[]tools.Result{away, slow, doubt, away, copied}, "shop"},
		"four":                      {[]tools.Result{away, away, away, away}, ""},
		"a success between":         {[]tools.Result{away, away, away, fine, away, away}, ""},
		"an answer between":         {[]tools.Result{away, away, away, wrong, away, away}, ""},
		"failures of the calls":     {[]tools.Result{wrong, wrong, wrong, wrong, wrong, wrong}, ""},
		"calls that were not made":  {[]tools.Result{away, away, away, away, refused, refused}, ""},
		"more of them while it is":  {[]tools.Result{away, away, away, away, away, away, away}, "shop"},
		"a success after they came": {[]tools.Result{away, away, away, away, away, fine}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.ends(c.results...)
			if got := h.open(); got != c.want {
				t.Errorf("open: %q, want %q", got, c.want)
			}
			if here := len(h.here.Facts(time.Now())); (here > 0) != (c.want != "") {
				t.Errorf("the replica that saw it knows of %d", here)
			}
		})
	}
}

// R: X4
func TestAHalfOpenBreakerOpensForTwiceAsLongOrCloses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	db := h.here.db
	pass := func() { // the time for which it is open
		if _, err := db.Exec(t.Context(), `update breakers set until = now() - interval '1 second'`); err != nil {
			t.Fatal(err)
		}
	}
	last := time.Duration(0)
	h.ends(away, away, away, away)
	for range 6 {
		h.ends(away)
		if h.open() != "shop" {
			t.Fatal("it is not open")
		}
		lasts := time.Until(h.there.Facts(time.Now())[0].Until).Round(time.Second)
		if want := min(max(2*last, openFor), openMost); lasts < want-time.Second || lasts > want {
			t.Errorf("open for %s, want %s", lasts, want)
		}
		last = lasts
		pass()
		if h.open() != "" {
			t.Error("it is open after its time")
		}
	}
	h.ends(fine)
	list, err := h.here.List(t.Context(), auth.CLI("t"))
	if err != nil || len(list) != 0 {
		t.Errorf("after a success there is %+v, %v", list, err)
	}
	h.ends(away)
	if h.open() != "" {
		t.Error("one failure after a success opened it")
	}
}

// R: X4
func TestFailuresFarApartAreNoRow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.ends(away, away, away, away)
	if _, err := h.here.db.Exec(t.Context(), `update breakers set failed_at = now() - interval '11 minutes'`); err != nil {
		t.Fatal(err)
	}
	h.ends(away)
	if h.open() != "" {
		t.Error("it opened")
	}
}

// R: X4, K1
func TestAnOperatorSeesAndResetsABreaker(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.ends(away, away, away, away, away)
	someone := auth.Actor{Kind: auth.KindPerson, Name: "Mara"}
	if _, err := h.here.List(t.Context(), someone); !problem.Is(err, "not_allowed") {
		t.Errorf("somebody listed them: %v", err)
	}
	if _, err := h.here.Reset(t.Context(), someone, "lookup"); !problem.Is(err, "not_allowed") {
		t.Errorf("somebody reset it: %v", err)
	}
	list, err := h.there.List(t.Context(), auth.CLI("t"))
	if err != nil || len(list) != 1 || list[0].Service != "shop" || list[0].Tool != "lookup" || list[0].Reason != "The shop answers 503." || list[0].Failures != 5 || !list[0].Open(time.Now()) {
		t.Fatalf("listed %+v, %v", list, err)
	}
	if got, err := h.there.Reset(t.Context(), auth.CLI("t"), "other"); err != nil || len(got) != 0 {
		t.Errorf("reset of another tool: %q, %v", got, err)
	}
	if got, err := h.there.Reset(t.Context(), auth.CLI("t"), "lookup"); err != nil || len(got) != 1 || got[0] != "shop" {
		t.Errorf("reset: %q, %v", got, err)
	}
	var audited int
	if err := h.here.db.QueryRow(t.Context(), `select count(*) from audit where verb = 'tool.reset' and object_id = 'lookup'`).Scan(&audited); err != nil || audited != 1 {
		t.Errorf("%d audit rows, %v", audited, err)
	}
	if h.open() != "" {
		t.Error("it is open")
	}
}

// R: L6
func TestABreakerWithoutADatabaseStopsNothing(t *testing.T) {
	t.Parallel()
	var none *Breakers
	none.Ended(t.Context(), "shop", "lookup", away)
	if none.Facts(time.Now()) != nil {
		t.Error("there is one")
	}
	db := pgtest.New(t)
	b := New(db, slog.New(slog.DiscardHandler))
	db.Close()
	b.Ended(t.Context(), "shop", "lookup", away)
	if b.Facts(time.Now()) != nil {
		t.Error("there is one")
	}
}
