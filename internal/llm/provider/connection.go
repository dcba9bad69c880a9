package provider

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"baton/internal/llm"
	"baton/internal/safehttp"
)

// Defaults of how long a provider is waited for. A model may think for long
// before its first word, and providers that know this say something meanwhile.
const (
	defaultConnect = 10 * time.Second
	defaultIdle    = 3 * time.Minute
	defaultWhole   = 15 * time.Minute
)

// maxReply bounds the bytes of one reply, errors included.
const maxReply = 32 << 20

// Options say how to reach a provider.
type Options struct {
	// BaseURL is the address of its API, as the operator named it; it may be a
	// private one.
	BaseURL string
	// Key goes to that host alone. Empty for one that wants none.
	Key string
	// Connect bounds how long connecting may take, Idle how long the provider may
	// be silent, Whole a reply from its request to its end. 0 is 10 s, 3 min and
	// 15 min.
	Connect, Idle, Whole time.Duration
}

// Connection is how a provider is reached. It is safe for concurrent use.
type Connection struct {
	options Options
	client  *safehttp.Client
}

// Connect makes a connection. Nothing is sent yet; the error says what is wrong
// with the address.
func Connect(o Options) (*Connection, error) {
	if o.Connect == 0 {
		o.Connect = defaultConnect
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.Whole == 0 {
		o.Whole = defaultWhole
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, errors.New("the address of the provider is no URL")
	}
	client, err := safehttp.New(safehttp.Options{
		Hosts:   []safehttp.Host{{Name: u.Host, AllowPrivate: true}},
		Connect: o.Connect, Idle: o.Idle, Most: maxReply, OnlyReads: true,
	})
	if err != nil {
		return nil, err
	}
	if _, err := client.Check(u); err != nil {
		return nil, err
	}
	return &Connection{options: o, client: client}, nil
}

// HTTP is the client for a provider's SDK. It follows no redirect to another
// host.
func (c *Connection) HTTP() *safehttp.Client { return c.client }

// Bound ends a context when a reply has taken too long.
func (c *Connection) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.options.Whole, errTooLong)
}

var errTooLong = errors.New("the reply did not end in time")

// Try sends one request of an SDK, as its middleware: whatever is no reply
// becomes an *llm.Error here, before the SDK reads it in its own way.
func (c *Connection) Try(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, c.Lost(req.Context(), err)
	}
	if res.StatusCode >= 300 {
		defer func() { _ = res.Body.Close() }()
		body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // what came of it says enough
		return nil, c.Failed(res.StatusCode, res.Header, body)
	}
	if kind := contentType(res); kind != "text/event-stream" && kind != "application/json" {
		_ = res.Body.Close()
		return nil, &llm.Error{Kind: llm.InvalidReply, Status: res.StatusCode,
			Message: "what answers is no API of a model: its reply is " + clip(c.clean(kind), 100) + "; look at the base URL"}
	}
	return res, nil
}

// IsWhole says whether an answer comes at once, though a stream was asked for.
func IsWhole(res *http.Response) bool { return res != nil && contentType(res) == "application/json" }

func contentType(res *http.Response) string {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind
}

// Lost is the error for a request that got no answer, or whose answer broke off.
func (c *Connection) Lost(ctx context.Context, err error) *llm.Error {
	if known, ok := errors.AsType[*llm.Error](err); ok {
		return known
	}
	e := &llm.Error{Kind: llm.Timeout, Message: clip(c.clean(err.Error()), maxSaid)}
	refused, isRefused := errors.AsType[*safehttp.Refused](err)
	large, isLarge := errors.AsType[*safehttp.TooLarge](err)
	switch {
	case errors.Is(context.Cause(ctx), errTooLong):
		e.Message = errTooLong.Error()
	case ctx.Err() != nil:
		return llm.AsError(ctx.Err())
	case isRefused:
		e.Kind, e.Message = llm.InvalidRequest, refused.Reason
	case isLarge:
		e.Kind, e.Message = llm.InvalidReply, large.Error()
	}
	return e
}

// timedOut says whether a stream ended because nobody waited any longer.
func timedOut(ctx context.Context, err error) bool {
	var silent *safehttp.Silent
	var large *safehttp.TooLarge
	return ctx.Err() != nil || errors.As(err, &silent) || errors.As(err, &large)
}

// clean takes the key out of a text, should somebody have put it there.
func (c *Connection) clean(text string) string {
	if c.options.Key == "" {
		return text
	}
	return strings.ReplaceAll(text, c.options.Key, "••••••")
}
