package safehttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Silent is the error for a server that let nothing be heard for too long. It
// is a timeout, in the sense of net.Error.
type Silent struct{ For time.Duration }

func (s *Silent) Error() string { return fmt.Sprintf("nothing was heard for %s", s.For) }

// Timeout says that it is one.
func (s *Silent) Timeout() bool { return true }

// Temporary is part of net.Error.
func (s *Silent) Temporary() bool { return true }

// TooLarge is the error for a reply that goes on past its bound.
type TooLarge struct{ Most int64 }

func (t *TooLarge) Error() string { return fmt.Sprintf("the reply is larger than %d bytes", t.Most) }

// patience bounds a reply: how long its sender may be silent, and its size.
type patience struct {
	idle time.Duration // 0: for ever
	most int64         // 0: of any size
}

// send sends a request and watches its reply, of which the body is closed by
// whoever reads it.
func (p patience) send(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	if p == (patience{}) {
		return next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watched{patience: p, ctx: ctx, cancel: cancel, left: p.most}
	var res *http.Response
	err := w.wait(func() (err error) {
		res, err = next.RoundTrip(req.WithContext(ctx)) //nolint:bodyclose // by the reader of watched
		return err
	})
	if err != nil {
		cancel(nil)
		return nil, err
	}
	w.body, res.Body = res.Body, w
	return res, nil
}

// watched is the body of a reply that is waited for with patience. The time that
// the reader takes for itself doesn't count.
type watched struct {
	patience
	ctx    context.Context //nolint:containedctx // of the one request that it is the reply to
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	left   int64
}

// wait lets do take as long as the sender may be silent.
func (w *watched) wait(do func() error) error {
	if w.idle <= 0 {
		return do()
	}
	timer := time.AfterFunc(w.idle, func() { w.cancel(&Silent{w.idle}) })
	err := do()
	timer.Stop()
	if silent, ok := errors.AsType[*Silent](context.Cause(w.ctx)); ok && err != nil && !errors.Is(err, io.EOF) {
		return silent
	}
	return err
}

func (w *watched) Read(b []byte) (n int, err error) {
	if w.most > 0 {
		b = b[:min(int64(len(b)), w.left+1)] // one more tells whether there is more
	}
	err = w.wait(func() (err error) {
		n, err = w.body.Read(b)
		return err
	})
	w.left -= int64(n)
	if w.most > 0 && w.left < 0 {
		w.left = 0
		return 0, &TooLarge{w.most}
	}
	return n, err
}

func (w *watched) Close() error {
	w.cancel(nil)
	return w.body.Close()
}
