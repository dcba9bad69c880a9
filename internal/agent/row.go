package agent

import (
	"hash/maphash"

	"baton/internal/tools"
)

// row are the latest calls in a row of one tool. It forgets when another tool
// is called, when one of them brings something new, and when a person speaks.
// The tools of the loop don't belong to it: with them an agent gets out of one.
type row struct {
	tool  string
	seen  map[uint64]bool // what they brought
	stale int             // how many in a row brought nothing new
}

// rowSeed is for telling results apart within one process; nothing made with it
// is kept.
var rowSeed = maphash.MakeSeed()

// observe takes the next ended call. One that may be asked again and again is
// left out, and so is one that was not run for want of a permission to run more.
func (r *row) observe(o tools.Observed) {
	if !counted(o.Tool) || o.Polling {
		return
	}
	switch o.Result.ErrorType() {
	case tools.BudgetExceeded, tools.Cancelled:
		return
	}
	if o.Tool != r.tool {
		*r = row{tool: o.Tool}
	}
	if !o.Result.OK() {
		r.stale++
		return
	}
	brought := fingerprint(o)
	if r.seen[brought] {
		r.stale++
		return
	}
	if r.seen == nil {
		r.seen = map[uint64]bool{}
	}
	r.seen[brought], r.stale = true, 0
}

// fingerprint tells what a call brought. An effect is what its arguments say:
// thirty letters that were sent are no repetition, though each was answered the
// same.
func fingerprint(o tools.Observed) uint64 {
	var h maphash.Hash
	h.SetSeed(rowSeed)
	_, _ = h.Write(o.Result.Data())
	for _, list := range [][]tools.Item{o.Result.Completed(), o.Result.Failed()} {
		for _, item := range list {
			_, _ = h.WriteString(item.Item)
			_ = h.WriteByte(0)
		}
		_ = h.WriteByte(1)
	}
	if o.Effect.Writes() {
		_, _ = h.WriteString(o.Exact)
	}
	return h.Sum64()
}
