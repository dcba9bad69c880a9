package demo

import (
	"context"
	"sync"
	"time"
)

// fault is a way in which the payment service falters.
type fault int

const (
	noFault  fault = iota
	hang           // the request is taken and never answered
	broken         // 500
	busy           // 429 with Retry-After
	lostNews       // what was asked is done, but the answer never comes
)

// faults says which request falters. It depends on the payment's last digit,
// and only the first request for it falters; after a quiet minute the next one
// is a first again, so that each session meets the same service.
type faults struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

const quiet = time.Minute

func (f *faults) next(method, paymentID string) fault {
	if paymentID == "" {
		return noFault
	}
	kind := noFault
	switch last := paymentID[len(paymentID)-1]; {
	case method == "GET" && (last == '1' || last == '6'):
		kind = hang
	case method == "GET" && last == '3':
		kind = broken
	case method == "GET" && last == '8':
		kind = busy
	case method == "POST" && last == '4':
		kind = lostNews
	}
	if kind == noFault || !f.first(method+" "+paymentID) {
		return noFault
	}
	return kind
}

// first says whether nothing was asked under the key for a while.
func (f *faults) first(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.seen == nil || len(f.seen) > 10_000 {
		f.seen = map[string]time.Time{}
	}
	last, ok := f.seen[key]
	f.seen[key] = now
	return !ok || now.Sub(last) > quiet
}

// stall keeps a request waiting until whoever asked has given up, or far longer
// than anybody waits.
func stall(ctx context.Context) {
	t := time.NewTimer(2 * time.Minute)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
