package live

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Object is something that can change, by the outside form of its id: ses_...,
// esc_..., per_... (that is, a person's rights). Its kind is the prefix.
type Object string

// Kind is the prefix of the ids of a kind of objects, with the underscore.
type Kind string

// The kinds of objects that hints are about.
const (
	Sessions    Kind = "ses_"
	Escalations Kind = "esc_"
	People      Kind = "per_"
)

// Of is the object that an id names.
func Of(id fmt.Stringer) Object { return Object(id.String()) }

func (o Object) kind() Kind {
	kind, _, _ := strings.Cut(string(o), "_")
	return Kind(kind + "_")
}

// How many changed objects a subscription remembers; with more of them it is
// told that anything may have changed.
const rememberMost = 256

// Hub passes hints on. All its methods may be called from anywhere at once. A
// nil Hub takes hints and does nothing with them: a command that only writes
// needs none.
type Hub struct {
	pool *pgxpool.Pool
	log  *slog.Logger

	mu      sync.Mutex
	objects map[Object]map[*Subscription]struct{}
	kinds   map[Kind]map[*Subscription]struct{}
	all     map[*Subscription]struct{}

	sending outbox
	timing  timing
}

// timing are the hub's intervals; tests shorten some.
type timing struct {
	notify, heal, probe time.Duration
}

// NewHub makes a hub. Until Run it works within this process only.
func NewHub(pool *pgxpool.Pool, log *slog.Logger) *Hub {
	h := &Hub{pool: pool, log: log,
		objects: map[Object]map[*Subscription]struct{}{}, kinds: map[Kind]map[*Subscription]struct{}{}, all: map[*Subscription]struct{}{},
		timing: timing{notify: notifyEvery, heal: healEvery, probe: probeEvery},
	}
	h.sending.wake = make(chan struct{}, 1)
	return h
}

// Tell says that objects have changed. Call it after the commit: whoever is
// woken reads at once.
func (h *Hub) Tell(changed ...Object) {
	if h == nil || len(changed) == 0 {
		return
	}
	h.wake(changed)
	h.sending.add(changed)
}

// TellHere says it to this process only, of what other replicas can't read.
func (h *Hub) TellHere(changed ...Object) {
	if h != nil {
		h.wake(changed)
	}
}

// wake wakes the subscribers of objects in this process.
func (h *Hub) wake(changed []Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range changed {
		for s := range h.objects[o] {
			s.note(o)
		}
		for s := range h.kinds[o.kind()] {
			s.note(o)
		}
	}
}

// wakeAll wakes every subscriber: anything may have changed.
func (h *Hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.all {
		s.noteAll()
	}
}

// Subscription is one subscriber's interest. It belongs to one goroutine.
type Subscription struct {
	// C gets a value when something may have changed since the last Take. Any
	// number of changes are one value.
	C <-chan struct{}

	hub     *Hub
	signal  chan struct{}
	objects []Object
	kinds   []Kind

	mu       sync.Mutex
	changed  map[Object]struct{}
	anything bool
}

// Subscribe asks to be woken for objects, and for all objects of kinds.
// Subscribe first and read then: what changes in between is told.
func (h *Hub) Subscribe(objects []Object, kinds ...Kind) *Subscription {
	signal := make(chan struct{}, 1)
	s := &Subscription{C: signal, signal: signal, hub: h, objects: objects, kinds: kinds, changed: map[Object]struct{}{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[s] = struct{}{}
	for _, o := range objects {
		join(h.objects, o, s)
	}
	for _, k := range kinds {
		join(h.kinds, k, s)
	}
	return s
}

// Close ends the subscription.
func (s *Subscription) Close() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, s)
	for _, o := range s.objects {
		leave(h.objects, o, s)
	}
	for _, k := range s.kinds {
		leave(h.kinds, k, s)
	}
}

func join[K comparable](index map[K]map[*Subscription]struct{}, key K, s *Subscription) {
	if index[key] == nil {
		index[key] = map[*Subscription]struct{}{}
	}
	index[key][s] = struct{}{}
}

func leave[K comparable](index map[K]map[*Subscription]struct{}, key K, s *Subscription) {
	delete(index[key], s)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// Take says what has changed since the last Take. anything means that the list
// is not whole, and every object of interest has to be looked at.
func (s *Subscription) Take() (changed []Object, anything bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.changed {
		changed = append(changed, o)
	}
	anything = s.anything
	clear(s.changed)
	s.anything = false
	return changed, anything
}

func (s *Subscription) note(o Object) {
	s.mu.Lock()
	if len(s.changed) < rememberMost {
		s.changed[o] = struct{}{}
	} else {
		s.anything = true
	}
	s.mu.Unlock()
	s.wake()
}

func (s *Subscription) noteAll() {
	s.mu.Lock()
	s.anything = true
	s.mu.Unlock()
	s.wake()
}

func (s *Subscription) wake() {
	select {
	case s.signal <- struct{}{}:
	default: // it is to look already
	}
}
