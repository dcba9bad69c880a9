package agent

import (
	"context"
	"time"
)

// watchEvery is how soon a cancellation reaches a model or a tool at work.
const watchEvery = 250 * time.Millisecond

// Watch cuts the work on sessions that people cancel, until ctx ends. One query
// for all of them.
func (w *Worker) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.idle() {
				continue
			}
			if err := w.look(ctx); err != nil && ctx.Err() == nil {
				w.Log.Warn("could not look for cancellations; the next look tries again", "err", err)
			}
		}
	}
}

func (w *Worker) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.working) == 0
}

func (w *Worker) look(ctx context.Context) error {
	cancelled, err := w.Store.CancelledOn(ctx, w.Replica)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, session := range cancelled {
		if cut := w.working[session]; cut != nil {
			cut(errCancelled)
		}
	}
	return nil
}
