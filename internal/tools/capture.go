package tools

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"sync"
)

// Sizes of a capture.
const (
	CaptureHead = 256 << 10
	CaptureTail = 768 << 10
)

// Capture keeps the first and the last of what is written to it, with true
// totals, in bounded memory: a tool that writes 1 GB costs the server this
// buffer. It is safe for concurrent use; Write never blocks and never fails.
type Capture struct {
	mu     sync.Mutex
	head   []byte
	tail   []byte // a ring once it is full
	next   int    // where the ring's oldest byte stands
	total  int64
	breaks int64
	last   byte
	closed bool
	sum    hash.Hash // of all, where the head is no text; else nil
}

// Write keeps p as far as there is room.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(p) == 0 {
		return len(p), nil
	}
	c.total += int64(len(p))
	c.breaks += int64(bytes.Count(p, []byte{'\n'}))
	c.last = p[len(p)-1]
	c.keep(p)
	return len(p), nil
}

// Close ends the capture: what is written later, by a tool that was left
// behind, is dropped.
func (c *Capture) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

func (c *Capture) keep(p []byte) {
	if n := min(CaptureHead-len(c.head), len(p)); n > 0 {
		c.head = append(roomFor(c.head, n, CaptureHead), p[:n]...)
		p = p[n:]
	}
	c.digest(p)
	if len(p) > CaptureTail {
		c.tail, c.next = append(roomFor(c.tail[:0], CaptureTail, CaptureTail), p[len(p)-CaptureTail:]...), 0
		return
	}
	if n := min(CaptureTail-len(c.tail), len(p)); n > 0 {
		c.tail = append(roomFor(c.tail, n, CaptureTail), p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.next:], p)
		c.next = (c.next + n) % CaptureTail
		p = p[n:]
	}
}

// roomFor makes room for n bytes more: twice as much as there was, so that what
// is thrown away on the way is less than what is kept, and never beyond limit.
func roomFor(b []byte, n, limit int) []byte {
	if len(b)+n <= cap(b) {
		return b
	}
	grown := make([]byte, len(b), min(max(2*cap(b), len(b)+n, 512), limit))
	copy(grown, b)
	return grown
}

// digest goes on with the digest of what is no text: it is told in the place of
// what can't be shown. p follows the head, which is full then.
func (c *Capture) digest(p []byte) {
	if len(p) == 0 {
		return
	}
	if c.total-int64(len(p)) == CaptureHead && noText(c.head) {
		c.sum = sha256.New()
		c.sum.Write(c.head)
	}
	if c.sum != nil {
		c.sum.Write(p)
	}
}

// Captured is what a capture held when it was read.
type Captured struct {
	Head, Tail []byte // Tail is empty while nothing was lost
	TotalBytes int64  // as written
	TotalLines int64
	Lost       int64  // bytes between Head and Tail that are gone
	Digest     []byte // SHA-256 of all of it, if it is no text and does not stand in Head
	ErrorsFrom int64  // the line from which on it is standard error; 0: none of it is
}

// Read is a copy of what is held.
func (c *Capture) Read() Captured {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := Captured{Head: bytes.Clone(c.head), TotalBytes: c.total, TotalLines: c.breaks}
	if c.total > 0 && c.last != '\n' {
		got.TotalLines++
	}
	if c.sum != nil {
		got.Digest = c.sum.Sum(nil)
	}
	tail := append(bytes.Clone(c.tail[c.next:]), c.tail[:c.next]...)
	got.Lost = c.total - int64(len(got.Head)) - int64(len(tail))
	if got.Lost == 0 {
		got.Head = append(got.Head, tail...)
		return got
	}
	got.Tail = tail
	return got
}

// seam is how much is dropped on both sides of the gap: what was cut in half
// there (a key, a quoted password) can't be recognised as secret any more.
const seam = 8 << 10

// trimSeam drops what stands next to the gap: margin bytes, and on to the end
// of the line or at least of the word, and a key block that is not whole.
func (c Captured) trimSeam(margin int) Captured {
	if c.Lost == 0 {
		return c
	}
	margin = max(margin, seam)
	head := c.Head[:max(0, len(c.Head)-margin)]
	head = head[:lastBreak(head)]
	if begin := bytes.LastIndex(head, []byte("-----BEGIN ")); begin >= 0 && !bytes.Contains(head[begin:], []byte("-----END ")) {
		head = head[:begin]
	}
	tail := c.Tail[min(len(c.Tail), margin):]
	tail = tail[firstBreak(tail):]
	if end := bytes.Index(tail, []byte("-----END ")); end >= 0 && !bytes.Contains(tail[:end], []byte("-----BEGIN ")) {
		tail = tail[end:]
	}
	c.Lost += int64(len(c.Head) - len(head) + len(c.Tail) - len(tail))
	c.Head, c.Tail = head, tail
	return c
}

// lastBreak is the end of the last whole line within a seam of the end, else of
// the last whole word there, else the end: one word as long as that is no key.
func lastBreak(b []byte) int {
	window := b[max(0, len(b)-seam):]
	n := bytes.LastIndexByte(window, '\n')
	if n < 0 {
		n = bytes.LastIndexByte(window, ' ')
	}
	if n < 0 {
		return len(b)
	}
	return len(b) - len(window) + n + 1
}

// firstBreak is the beginning of the first whole line, likewise.
func firstBreak(b []byte) int {
	window := b[:min(len(b), seam)]
	n := bytes.IndexByte(window, '\n')
	if n < 0 {
		n = bytes.IndexByte(window, ' ')
	}
	return n + 1
}
