package tools

import "fmt"

// fillItems takes over the items that a batch reported and did not return.
func (w *work) fillItems(out *Output) {
	if len(out.Completed)+len(out.Failed)+len(out.Skipped) > 0 {
		return
	}
	out.Completed, out.Failed, out.Skipped = Batch{w.run}.Items()
	if out.State == "" && len(out.Failed)+len(out.Skipped) > 0 {
		out.State = stateOf(out.Completed, out.Failed, out.Skipped)
	}
}

func stateOf(completed, failed, skipped []Item) string {
	return fmt.Sprintf("%s completed, %d failed, %d not tried.", plural(len(completed), "item is", "items are"), len(failed), len(skipped))
}

// settleItems says what became of each item of a batch when the whole ended
// early: finished ones stay so, the one in flight is unknown, the rest skipped.
func (w *work) settleItems(f *Failure) (completed, failed, skipped []Item) {
	full := f.full()
	batch := Batch{w.run}
	completed, failed, skipped = batch.Items()
	w.run.mu.Lock()
	inFlight := w.run.inFlight
	w.run.mu.Unlock()
	for _, item := range batch.Pending() {
		switch {
		case hasItem(failed, item) || hasItem(skipped, item):
		case item == inFlight && w.plan.Effect.Writes() && !f.NotSent:
			failed = append(failed, Item{Item: item, Type: OutcomeUnknown, Reason: "It was being worked on when the call ended; look whether it happened. " + full.Message, Retryable: RetryNo})
		case item == inFlight:
			failed = append(failed, Item{Item: item, Type: full.Type, Reason: full.Message, Retryable: full.Retryable})
		default:
			skipped = append(skipped, Item{Item: item, Reason: "Not tried, since the call ended before. " + full.Message})
		}
	}
	return completed, failed, skipped
}

// partial tells of a batch of which some items were completed.
func (w *work) partial(f *Failure, completed, failed, skipped []Item) Outcome {
	if len(failed)+len(skipped) == 0 {
		// All items were done, and then something went wrong: nothing to repeat.
		return w.succeeded(Output{Completed: completed, Notices: []string{"All items were completed; after them the tool reported: " + f.full().Message}})
	}
	o := w.succeeded(Output{
		Completed: completed, Failed: failed, Skipped: skipped,
		State:   "The call ended early: " + f.full().Message + " " + stateOf(completed, failed, skipped),
		Notices: []string{"Ways on: try the failed and skipped items again in another way; undo the completed ones; accept it as it is; ask a person."},
	})
	if w.plan.Effect == EffectIrreversible && hasType(failed, OutcomeUnknown) {
		o.InDoubt, o.Status = true, StatusStarted
	}
	return o
}

func hasItem(list []Item, name string) bool {
	for _, it := range list {
		if it.Item == name {
			return true
		}
	}
	return false
}

func hasType(list []Item, t ErrorType) bool {
	for _, it := range list {
		if it.Type == t {
			return true
		}
	}
	return false
}
