package web

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"baton/internal/live"
)

// R: V3
// case: fault F24
func TestWritersThatAreHeldUpAreReplaced(t *testing.T) {
	t.Parallel()
	release, reached := make(chan struct{}), make(chan *socket, 100)
	stalled := map[*socket]bool{}
	for range 3 * writersMost() {
		stalled[new(socket)] = true
	}
	w := writers{write: func(c *socket) {
		if stalled[c] {
			<-release
		}
		reached <- c
	}}
	for c := range stalled {
		w.add(c)
	}
	free := new(socket)
	for range 3 { // not once by luck
		w.add(free)
		if c := <-reached; c != free {
			t.Fatal("a stalled socket was written to")
		}
	}
	close(release)
	for range stalled {
		<-reached
	}
	// All are at rest again: what comes then is written by as many as before.
	w.add(free)
	<-reached
}

// Two hundred that stall, all in the way of one that doesn't, cost it a few
// spans and not two hundred.
// R: V3
// case: fault F24
func TestManyWhoStallAreGoneRoundSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, reached := make(chan struct{}), make(chan struct{})
		free := new(socket)
		w := writers{write: func(c *socket) {
			if c == free {
				close(reached)
				return
			}
			<-release
		}}
		began := time.Now()
		for range 200 {
			w.add(new(socket))
		}
		w.add(free)
		<-reached
		if took := time.Since(began); took > 10*heldUpAfter {
			t.Errorf("it was reached after %s", took)
		}
		close(release)
	})
}

// What is asked for while a socket is being written to is neither lost nor done
// at the same time by another.
// R: V1, V3
func TestASocketIsWrittenToByOneWriterAndAgainIfAsked(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	at, wanted, most := 0, 0, 0
	done := make(chan struct{})
	var finish sync.Once
	const all = 2000
	w := writers{}
	c := new(socket)
	w.write = func(*socket) {
		mu.Lock()
		at++
		most = max(most, at)
		read := wanted
		mu.Unlock()
		runtime.Gosched() // lets others come between
		mu.Lock()
		at--
		if read == all {
			finish.Do(func() { close(done) })
		}
		mu.Unlock()
	}
	for range all {
		mu.Lock()
		wanted++
		mu.Unlock()
		w.add(c)
	}
	<-done
	mu.Lock()
	defer mu.Unlock()
	if most != 1 {
		t.Errorf("%d wrote at once", most)
	}
}

// A client that stays behind costs what its feed keeps for all, and that is
// bounded by number and by bytes, whatever its session writes.
// R: V3
// case: fault F24
func TestAFeedKeepsABoundedPast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size int
		n    int64
	}{"many": {10, 3 * framesKept}, "big": {300 << 10, 8}, "bigger than all that is kept": {bytesKept + 1, 3}} {
		f := &feed{key: feedKey{topic: "session:x"}, site: &site{liveHub: newLiveHub()}, viewers: map[*view]struct{}{},
			source: &written{text: strings.Repeat("x", c.size)}}
		behind := &view{feed: f}
		for range c.n {
			if _, err := f.advance(t.Context(), nil, false); err != nil {
				t.Fatal(err)
			}
			if len(f.frames) > framesKept || f.kept > bytesKept && len(f.frames) > 1 {
				t.Fatalf("%s: %d frames of %d bytes are kept", name, len(f.frames), f.kept)
			}
		}
		// Who was left behind is brought up to date by one frame, not by all.
		frames, err := f.missing(behind)
		if err != nil || len(frames) != 1 || frames[0].to != c.n {
			t.Errorf("%s: brought up to date by %d frames, error %v", name, len(frames), err)
		}
	}
}

// written is a source in which something is written at each look.
type written struct {
	text string
	seq  int64
}

func (w *written) interest() ([]live.Object, []live.Kind) { return nil, nil }

func (w *written) advance(context.Context, []live.Object, bool) (wireFrame, error) {
	w.seq++
	return wireFrame{From: w.seq, To: w.seq, Ops: []op{{"morph", "#x", w.text}}}, nil
}

func (w *written) since(*view) (wireFrame, error) {
	return wireFrame{From: 1, To: w.seq, Ops: []op{{"morph", "#x", w.text}}}, nil
}
