package tools

import (
	"math/rand/v2"
	"sync"
	"time"
)

// RetryBudgets keep the repeats of all sessions of a process from burying a
// service that is down: each service has a budget that repeats use up and that
// successes and time give back. The zero value is ready.
type RetryBudgets struct {
	mu       sync.Mutex
	services map[string]*retryBudget
}

// A service may be repeated to maxRetryTokens times in a burst, then once every
// retryRefill, and once more for every 1/retryEarned successes.
const (
	maxRetryTokens = 20.0
	retryRefill    = 5 * time.Second
	retryEarned    = 0.1
)

type retryBudget struct {
	tokens float64
	at     time.Time
}

// take uses up one repeat, if there is one left.
func (b *RetryBudgets) take(service string) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of(service)
	if s.tokens < 1 {
		return false
	}
	s.tokens--
	return true
}

// earned gives back a little for a success.
func (b *RetryBudgets) earned(service string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.services[service]; ok {
		s.tokens = min(maxRetryTokens, s.tokens+retryEarned)
	}
}

func (b *RetryBudgets) of(service string) *retryBudget {
	now := time.Now()
	s := b.services[service]
	if s == nil {
		if b.services == nil {
			b.services = map[string]*retryBudget{}
		}
		if len(b.services) > 10000 { // names come from arguments: start over rather than grow
			clear(b.services)
		}
		s = &retryBudget{tokens: maxRetryTokens, at: now}
		b.services[service] = s
	}
	s.tokens = min(maxRetryTokens, s.tokens+now.Sub(s.at).Seconds()/retryRefill.Seconds())
	s.at = now
	return s
}

// backoff is how long to wait before attempt n+1: a random time up to base
// doubled n-1 times, at most cap (full jitter, so that sessions that failed
// together don't come back together), and no less than the service asked for.
func backoff(p RetryPolicy, n int, after time.Duration) time.Duration {
	ceiling := p.Cap
	if shift := n - 1; shift < 30 && p.Base<<shift < p.Cap && p.Base<<shift > 0 {
		ceiling = p.Base << shift
	}
	return max(after, rand.N(ceiling+1))
}
