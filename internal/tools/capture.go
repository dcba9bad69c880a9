package tools

import (
	"bytes"
	"sync"
)

// Sizes of a capture.
const (
	CaptureHead = 256 << 10
	CaptureTail = 768 << 10
)

// Capture keeps the first and the last of what is written to it, with true
// totals, in bounded memory. It is safe for concurrent use; Write never fails.
type Capture struct {
	mu     sync.Mutex
	head   []byte
	tail   []byte // ring once full
	next   int    // where the ring's oldest byte stands
	total  int64
	lines  int64
	last   byte
	closed bool
	// filter sees the stream before it is cut (redaction comes before every cut).
	filter func(p []byte, end bool) []byte
}

// NewCapture makes an empty capture. filter may be nil; it gets the stream piece
// by piece and returns what may be kept, holding back what it must see more of.
func NewCapture(filter func(p []byte, end bool) []byte) *Capture {
	return &Capture{filter: filter}
}

// Write keeps p as far as there is room. After Close it only counts as written.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(p) == 0 {
		return len(p), nil
	}
	c.total += int64(len(p))
	c.lines += int64(bytes.Count(p, []byte{'\n'}))
	c.last = p[len(p)-1]
	kept := p
	if c.filter != nil {
		kept = c.filter(p, false)
	}
	c.keep(kept)
	return len(p), nil
}

// Close ends the capture: what is written later, by a tool that was left
// behind, is dropped.
func (c *Capture) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	if c.filter != nil {
		c.keep(c.filter(nil, true))
	}
}

func (c *Capture) keep(p []byte) {
	if room := CaptureHead - len(c.head); room > 0 {
		n := min(room, len(p))
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > CaptureTail {
		p = p[len(p)-CaptureTail:]
		c.tail, c.next = append(c.tail[:0], p...), 0
		return
	}
	for len(p) > 0 {
		if len(c.tail) < CaptureTail {
			n := min(CaptureTail-len(c.tail), len(p))
			c.tail = append(c.tail, p[:n]...)
			p = p[n:]
			continue
		}
		n := copy(c.tail[c.next:], p)
		c.next = (c.next + n) % CaptureTail
		p = p[n:]
	}
}

// Captured is what a capture held when it was read.
type Captured struct {
	Head, Tail []byte // Tail is empty while nothing was lost
	TotalBytes int64  // as written, before any filter
	TotalLines int64
	// Lost is how many bytes between Head and Tail are gone.
	Lost int64
}

// Read is a copy of what is held.
func (c *Capture) Read() Captured {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := Captured{TotalBytes: c.total, TotalLines: c.lines}
	if c.total > 0 && c.last != '\n' {
		got.TotalLines++
	}
	got.Head = append([]byte{}, c.head...)
	tail := append(append([]byte{}, c.tail[c.next:]...), c.tail[:c.next]...)
	got.Head, got.Tail, got.Lost = joinCapture(got.Head, tail, c.total)
	return got
}

// joinCapture puts head and tail together where nothing is missing between.
func joinCapture(head, tail []byte, total int64) ([]byte, []byte, int64) {
	lost := total - int64(len(head)) - int64(len(tail))
	if lost <= 0 {
		return append(head, tail...), nil, 0
	}
	return head, tail, lost
}
