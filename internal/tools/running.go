package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"sync"

	"baton/internal/id"
	"baton/internal/redact"
)

// Running is what the harness tells a tool about the call it serves.
type Running struct {
	ID id.Call
	// Key is the idempotency key: the same for all attempts and restarts of one
	// call, different for every other call.
	Key     string
	Attempt int // from 1
}

// IdempotencyKey is the key of one call, a function of its name alone.
func IdempotencyKey(call id.Call) string {
	sum := sha256.Sum256([]byte(call.Session.Digits() + "|" + strconv.Itoa(call.N)))
	var text [32]byte
	hex.Encode(text[:], sum[:16])
	return string(text[:])
}

type runKey struct{}

// run is the harness's side of one attempt. Each attempt has its own, so that
// what a tool that was left behind still says reaches nobody.
type run struct {
	Running
	out      Capture
	errs     Capture
	log      callLog
	redactor *redact.Redactor   // of what goes to the log; nil is none
	fail     context.CancelFunc // ends the attempt

	mu        sync.Mutex
	closed    bool
	planned   []string
	inFlight  string
	completed []Item
	failed    []Item
	skipped   []Item
	sent      sentState
	crashed   *Failure
}

// next is the run of another attempt: what was done stays done, the rest is open.
func (r *run) next() *run {
	r.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &run{Running: r.Running, log: r.log, redactor: r.redactor, completed: r.completed}
	n.Attempt++
	return n
}

// masked is a text of the tool's as it may stand in the log.
func (r *run) masked(s string) string {
	if r == nil || r.redactor == nil {
		return s
	}
	return r.redactor.String(s)
}

// close ends the attempt for its tool: what it says later is dropped.
func (r *run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.out.Close()
	r.errs.Close()
}

func (r *run) crash(f *Failure) {
	r.mu.Lock()
	r.crashed = f
	r.mu.Unlock()
	r.fail()
}

func (r *run) panicked() *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.crashed
}

// sentState is what is known about an effect.
type sentState uint8

const (
	sentUnsaid sentState = iota // the tool said nothing: it may have been sent
	sentNot                     // nothing was sent yet
	sentMaybe                   // sending began
)

func runFrom(ctx context.Context) *run { r, _ := ctx.Value(runKey{}).(*run); return r }

// RunningCall tells a tool which call it serves. Outside a call it is zero.
func RunningCall(ctx context.Context) Running {
	if r := runFrom(ctx); r != nil {
		return r.Running
	}
	return Running{}
}

// Writer is where a tool writes its output as it comes. It never blocks and
// never fails; it keeps 256 KiB of head and 768 KiB of tail. What stands in it
// survives a timeout and a panic. Outside a call it discards.
func Writer(ctx context.Context) io.Writer {
	if r := runFrom(ctx); r != nil {
		return &r.out
	}
	return io.Discard
}

// Sending tells the harness that from here on an effect may have happened.
// NothingSent tells it that nothing was sent yet. A tool that says neither is
// taken to have sent.
func Sending(ctx context.Context) { setSent(ctx, sentMaybe) }

// NothingSent is the counterpart of Sending; call it first thing in Run.
func NothingSent(ctx context.Context) { setSent(ctx, sentNot) }

func setSent(ctx context.Context, s sentState) {
	if r := runFrom(ctx); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.closed {
			r.sent = s
		}
	}
}

// Batch reports the items of a batch as they are done, so that finished ones
// survive a timeout, a panic and a cut.
type Batch struct{ r *run }

// Report starts the report of a batch over these items. Call it once.
func Report(ctx context.Context, items []string) Batch {
	r := runFrom(ctx)
	if r == nil {
		r = &run{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.planned = append([]string{}, items...)
	return Batch{r}
}

// Pending are the items still to be done: all of them at first, later those that
// an earlier attempt did not complete.
func (b Batch) Pending() []string {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	var open []string
	for _, item := range b.r.planned {
		if !slices.ContainsFunc(b.r.completed, func(it Item) bool { return it.Item == item }) {
			open = append(open, item)
		}
	}
	return open
}

// Begin says that work on an item starts. Until Done, Fail or Skip is called
// for it, what became of it is unknown.
func (b Batch) Begin(item string) {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	b.r.inFlight = item
}

// Done says that an item is finished; data may be nil.
func (b Batch) Done(item string, data json.RawMessage) {
	b.settle(item, func(r *run) { r.completed = append(r.completed, Item{Item: item, Data: data}) })
}

// Fail says that an item failed.
func (b Batch) Fail(item string, f *Failure) {
	full := f.full()
	b.settle(item, func(r *run) {
		r.failed = append(r.failed, Item{Item: item, Type: full.Type, Reason: full.Message, Retryable: full.Retryable})
	})
}

// Skip says that an item was not tried.
func (b Batch) Skip(item, reason string) {
	b.settle(item, func(r *run) { r.skipped = append(r.skipped, Item{Item: item, Reason: reason}) })
}

func (b Batch) settle(item string, add func(*run)) {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	if b.r.closed {
		return
	}
	add(b.r)
	if b.r.inFlight == item {
		b.r.inFlight = ""
	}
}

// Items are what was reported so far, for an Output.
func (b Batch) Items() (completed, failed, skipped []Item) {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	return append([]Item{}, b.r.completed...), append([]Item{}, b.r.failed...), append([]Item{}, b.r.skipped...)
}
