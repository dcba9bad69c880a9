package web

import (
	"runtime"
	"sync"
	"time"
)

// heldUpAfter is how long one write may take before its writer is taken to be
// held up by a peer that doesn't read.
const heldUpAfter = 10 * time.Millisecond

// writers write to all sockets. A goroutine for each socket would cost each
// viewer a stack and each frame two switches, so a few go from one socket that
// has something to be written to the next, and one more comes for each that is
// held up. So a client that stalls delays nobody.
type writers struct {
	write func(*socket)

	mu    sync.Mutex
	queue []*socket // whose turn comes; each once
	at    map[*writer]struct{}
	free  int // writers at work that aren't held up
	most  int // of those; more than usual while all of them are held up
	watch *time.Timer
}

// writersMost leaves half of the processors to what there is to write about.
func writersMost() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// writer is one of them, at work on a socket since then.
type writer struct {
	since  time.Time
	heldUp bool
}

// turn is where a socket stands with the writers, whose lock is its lock.
type turn struct {
	waits, written, again bool
}

// add asks that sockets be written to, soon and by one writer at a time.
func (w *writers) add(sockets ...*socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range sockets {
		switch {
		case c.turn.written:
			c.turn.again = true
		case !c.turn.waits:
			c.turn.waits = true
			w.queue = append(w.queue, c)
		}
	}
	w.staff()
}

// staff sees to it that enough writers are at work.
func (w *writers) staff() {
	w.most = max(w.most, writersMost())
	for n := len(w.queue); n > 0 && w.free < w.most; n-- {
		w.free++
		one := &writer{}
		if w.at == nil {
			w.at = map[*writer]struct{}{}
		}
		w.at[one] = struct{}{}
		go w.work(one)
	}
	if len(w.queue) > 0 && w.watch == nil {
		w.watch = time.AfterFunc(heldUpAfter, w.look)
	}
}

// look replaces writers that are held up, as long as somebody waits for one.
func (w *writers) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch = nil
	now := time.Now()
	working := w.free > 0
	for one := range w.at {
		if !one.heldUp && !one.since.IsZero() && now.Sub(one.since) >= heldUpAfter {
			one.heldUp = true
			w.free--
		}
	}
	if working && w.free == 0 {
		// Many stall: to replace one after the other would delay the rest by as many spans.
		w.most *= 2
	}
	w.staff()
}

// work writes until nobody waits, or until its place has been taken.
func (w *writers) work(one *writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer delete(w.at, one)
	for len(w.queue) > 0 {
		c := w.queue[0]
		w.queue = w.queue[1:]
		c.turn = turn{written: true}
		one.since = time.Now()
		w.mu.Unlock()
		w.write(c)
		w.mu.Lock()
		again := c.turn.again
		c.turn = turn{waits: again}
		if again {
			w.queue = append(w.queue, c)
		}
		if one.heldUp {
			if w.free >= w.most {
				return
			}
			one.heldUp = false
			w.free++
		}
	}
	w.queue, w.most = nil, 0 // what they grew to is given back
	w.free--
}
