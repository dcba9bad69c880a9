package live

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"baton/internal/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	one   Object = "ses_00000000000000000000000000000001"
	two   Object = "ses_00000000000000000000000000000002"
	asked Object = "esc_00000000000000000000000000000003"
)

func changes(t *testing.T, s *Subscription) ([]Object, bool) {
	t.Helper()
	select {
	case <-s.C:
	case <-t.Context().Done():
		t.Fatal("nobody was woken")
	}
	changed, anything := s.Take()
	slices.Sort(changed)
	return changed, anything
}

func silent(t *testing.T, s *Subscription) {
	t.Helper()
	select {
	case <-s.C:
		changed, anything := s.Take()
		t.Errorf("woken for %v, %v", changed, anything)
	default:
	}
}

// R: V1
func TestAHintWakesThoseWhomItIsAbout(t *testing.T) {
	t.Parallel()
	h := NewHub(nil, slog.New(slog.DiscardHandler))
	of := h.Subscribe([]Object{one})
	kind := h.Subscribe(nil, Sessions)
	both := h.Subscribe([]Object{one}, Sessions, Escalations)
	other := h.Subscribe([]Object{asked}, People)
	h.Tell(one)
	h.Tell(one, two)
	for s, want := range map[*Subscription][]Object{of: {one}, kind: {one, two}, both: {one, two}} {
		if got, anything := changes(t, s); !slices.Equal(got, want) || anything {
			t.Errorf("told of %v, %v; want %v", got, anything, want)
		}
		silent(t, s)
	}
	silent(t, other)
	of.Close()
	h.Tell(one)
	silent(t, of)
	for _, s := range []*Subscription{kind, both, other} {
		s.Close()
	}
	if len(h.objects)+len(h.kinds)+len(h.all) != 0 {
		t.Errorf("%d objects, %d kinds, %d subscriptions are left", len(h.objects), len(h.kinds), len(h.all))
	}
}

func TestANilHubTakesHints(t *testing.T) {
	t.Parallel()
	var h *Hub
	h.Tell(one)
}

// R: V3
func TestASubscriberThatIsBusyCostsABoundedSet(t *testing.T) {
	t.Parallel()
	h := NewHub(nil, slog.New(slog.DiscardHandler))
	s := h.Subscribe(nil, Sessions)
	for i := range 10 * rememberMost {
		h.Tell(Object(fmt.Sprintf("ses_%032x", i)))
	}
	if got, anything := changes(t, s); len(got) != rememberMost || !anything {
		t.Errorf("told of %d, %v; want %d and that there are more", len(got), anything, rememberMost)
	}
	silent(t, s)
}

// replicas are hubs over one database. heal is how soon they look by
// themselves.
func replicas(t *testing.T, n int, heal time.Duration) (*pgxpool.Pool, []*Hub) {
	t.Helper()
	db := pgtest.New(t)
	hubs := make([]*Hub, n)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{}, n)
	for i := range hubs {
		hubs[i] = NewHub(db, slog.New(slog.DiscardHandler))
		hubs[i].timing.heal = heal
		hubs[i].timing.probe = 100 * time.Millisecond
		go func() { hubs[i].Run(ctx); ended <- struct{}{} }()
	}
	t.Cleanup(func() {
		stop()
		for range hubs {
			<-ended
		}
	})
	return db, hubs
}

// acquaint waits until hints from a reach s of another hub.
func acquaint(t *testing.T, from *Hub, s *Subscription) {
	t.Helper()
	for {
		from.Tell(two)
		select {
		case <-s.C:
		case <-time.After(20 * time.Millisecond):
			continue
		}
		if changed, _ := s.Take(); slices.Contains(changed, two) {
			return
		}
	}
}

// R: V2
func TestHintsReachOtherReplicas(t *testing.T) {
	t.Parallel()
	_, hubs := replicas(t, 3, time.Hour)
	for i, from := range hubs {
		for k, to := range hubs {
			if i == k {
				continue
			}
			s := to.Subscribe(nil, Sessions, Escalations)
			acquaint(t, from, s)
			from.Tell(asked)
			for {
				if changed, _ := changes(t, s); slices.Contains(changed, asked) {
					break
				}
			}
			s.Close()
		}
	}
}

// R: V2
func TestMoreChangesThanANotificationHoldsWakeEverybody(t *testing.T) {
	t.Parallel()
	_, hubs := replicas(t, 2, time.Hour)
	s := hubs[1].Subscribe([]Object{asked, two})
	acquaint(t, hubs[0], s)
	var many []Object
	for i := range payloadMost / 30 {
		many = append(many, Object(fmt.Sprintf("ses_%032x", i+100)))
	}
	hubs[0].Tell(many...)
	for {
		if _, anything := changes(t, s); anything {
			return
		}
	}
}

// A notification that was lost costs a short delay, never a change.
// R: V2
// case: fault F22
func TestALostConnectionIsMadeAnewAndEverybodyLooks(t *testing.T) {
	t.Parallel()
	db, hubs := replicas(t, 2, time.Hour)
	s := hubs[1].Subscribe([]Object{two})
	acquaint(t, hubs[0], s)
	cut, err := db.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1`, listenerName)
	if err != nil || cut.RowsAffected() != 2 {
		t.Fatalf("%d connections cut (%v), want those of two hubs", cut.RowsAffected(), err)
	}
	for {
		if _, anything := changes(t, s); anything {
			break
		}
	}
	acquaint(t, hubs[0], s)
}

// R: V2
// case: fault F22
func TestWithoutAnyNotificationEverybodyLooksFromTimeToTime(t *testing.T) {
	t.Parallel()
	_, hubs := replicas(t, 1, 10*time.Millisecond)
	s := hubs[0].Subscribe([]Object{one})
	for range 3 {
		for {
			if _, anything := changes(t, s); anything {
				break
			}
		}
	}
}

func TestAHubLeavesNothingBehind(t *testing.T) { //nolint:paralleltest // looks at all goroutines
	db := pgtest.New(t)
	before := goleak.IgnoreCurrent()
	h := NewHub(db, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { h.Run(ctx); close(ended) }()
	s := h.Subscribe(nil, Sessions)
	changes(t, s)
	stop()
	<-ended
	db.Reset() // ends the connection that sent
	goleak.VerifyNone(t, before)
}
