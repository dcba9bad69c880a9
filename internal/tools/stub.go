package tools

import (
	"fmt"
	"strings"
)

// Bounds of what stands for an old result.
const (
	stubMessage = 160 // characters of an old failure
	stubItems   = 5   // items of a batch that are still named
)

// Stub is what stands for the result of the named call in a conversation that
// has become too long for the whole of it: where it can be read again, and of a
// failure one line. The status stays what it was, so nothing that failed looks
// as if it had been done.
func (r Result) Stub(call string) Result {
	w := wire{Status: r.w.Status, ErrorType: r.w.ErrorType, Class: r.w.Class, Origin: r.w.Origin, Retryable: r.w.Retryable, Notices: []string{}}
	if r.w.Status == Error {
		if w.Message = clip(strings.Join(strings.Fields(r.w.Message), " "), stubMessage); w.Message == "" {
			w.Message = string(w.ErrorType)
		}
		w.Causes, w.Hint = []string{}, []string{}
		return Result{w}
	}
	text := fmt.Sprintf("left out, %d bytes: read_output with call_id %s gives it back", len(r.w.Data), call)
	if n := len(r.w.Completed); n > 0 {
		text += fmt.Sprintf("; %d items were done", n)
	}
	w.Data = jsonString(text)
	var left [2]int
	w.Failed, left[0] = named(r.w.Failed)
	w.Skipped, left[1] = named(r.w.Skipped)
	for i, what := range []string{"failed", "were skipped"} {
		if left[i] > 0 {
			w.Notices = append(w.Notices, fmt.Sprintf("%d more items %s.", left[i], what))
		}
	}
	return Result{w}
}

// named keeps of some items what they are and how they failed.
func named(items []Item) (kept []Item, left int) {
	for _, item := range items[:min(len(items), stubItems)] {
		kept = append(kept, Item{Item: clip(item.Item, 80), Type: item.Type, Retryable: item.Retryable})
	}
	return kept, len(items) - len(kept)
}

// Weight is about how many bytes of JSON the model is fed of the result, without
// writing it.
func (r Result) Weight() int {
	n := 240 + len(r.w.Data) + len(r.w.Message) + len(r.w.Context) + len(r.w.Example) + len(r.w.State)
	for _, texts := range [][]string{r.w.Causes, r.w.Hint, r.w.Notices} {
		for _, s := range texts {
			n += len(s) + 4
		}
	}
	for _, e := range r.w.Errors {
		n += len(e.Path) + len(e.Expected) + len(e.Got) + 40
	}
	for _, items := range [][]Item{r.w.Completed, r.w.Failed, r.w.Skipped} {
		for _, item := range items {
			n += len(item.Item) + len(item.Data) + len(item.Reason) + 60
		}
	}
	return n
}
