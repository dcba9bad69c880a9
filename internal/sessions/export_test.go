package sessions

import (
	"context"
	"time"
)

// Freeze makes the replica look as if its last beat was so long ago, and stops
// its beat.
func (r *Replica) Freeze(silent time.Duration) {
	r.stop()
	<-r.done
	r.conn = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = time.Now().Add(-silent)
}

// Beat beats once.
func (r *Replica) Beat(ctx context.Context) error { return r.beatOnce(ctx) }
