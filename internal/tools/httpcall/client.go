package httpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"baton/internal/redact"
	"baton/internal/safehttp"
	"baton/internal/tools"
)

// Host is one host that a tool may reach.
type Host struct {
	safehttp.Host
	// HonoursKey says that the host does the work of an Idempotency-Key once, so
	// that writes to it may be repeated with the same key.
	HonoursKey bool
	// Errors say how a failure looks that comes with a good status.
	Errors []ErrorBody
}

// Client reaches a list of hosts; see safehttp for what keeps it there. It is safe
// for concurrent use. Close its idle connections when it is not needed any more.
type Client struct {
	hosts map[string]Host
	http  *safehttp.Client
	known []redact.Known // credentials, which no service may send back
}

// Options say what a client may reach beside its hosts.
type Options struct {
	Public bool // any host at a public address, by GET
}

// New makes a client. The error names a host that can't be read.
func New(hosts []Host, o Options) (*Client, error) {
	c := &Client{hosts: map[string]Host{}}
	var list []safehttp.Host
	for _, host := range hosts {
		list = append(list, host.Host)
		c.hosts[host.Name] = host
		for _, value := range host.Header {
			c.known = append(c.known, credential(value)...)
		}
	}
	var err error
	c.http, err = safehttp.New(safehttp.Options{Hosts: list, Public: o.Public})
	return c, err
}

// credential is a header's value as it must not come back: whole, and without the
// word before it (Bearer x).
func credential(value string) []redact.Known {
	list := []redact.Known{{Name: "credential", Value: value}}
	if _, secret, two := strings.Cut(value, " "); two {
		list = append(list, redact.Known{Name: "credential", Value: secret})
	}
	return list
}

// Names are the hosts of the list.
func (c *Client) Names() []string { return c.http.Names() }

// CloseIdleConnections closes connections that are not in use.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Host is the host that a URL leads to, if it may be reached.
func (c *Client) Host(raw string) (Host, *url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Host{}, nil, &safehttp.Refused{Reason: "it can't be read as a URL"}
	}
	found, err := c.http.Check(u)
	if err != nil {
		return Host{}, u, err
	}
	if host, listed := c.hosts[found.Name]; listed {
		return host, u, nil
	}
	return Host{Host: found}, u, nil
}

// Do sends a request, which is to be built on Context(ctx), and reads the answer.
// Whatever is no answer with a status below 400 is a failure, also an error in the
// body of a good one. secrets are credentials in the request, beside the hosts'.
func (c *Client) Do(ctx context.Context, req *http.Request, host Host, secrets ...string) (*Answer, error) {
	known := c.known
	for _, s := range secrets {
		known = append(slices.Clip(known), credential(s)...)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if _, no := errors.AsType[*safehttp.Refused](err); no {
			return nil, c.Refused(req.URL.String(), err)
		}
		return nil, scrub(tools.Classify(err), host.Name, known)
	}
	defer func() { _ = resp.Body.Close() }()
	body, cut := readAll(resp)
	if len(known) > 0 {
		body = []byte(redact.Mask(string(body), known))
	}
	if f := tools.FromHTTP(host.Name, resp.StatusCode, resp.Header); f != nil {
		return nil, answered(f, resp.Header, body)
	}
	if cut != nil && (req.Method == http.MethodGet || ctx.Err() != nil) {
		_, _ = tools.Writer(ctx).Write(body) // what came is kept beside the error
		return nil, scrub(tools.Classify(cut), host.Name, known)
	}
	a := &Answer{Status: resp.StatusCode, Header: resp.Header, Body: body, JSON: json.Valid(body), Cut: cut}
	if f := host.errorIn(resp.StatusCode, body); a.JSON && f != nil {
		return nil, answered(f, resp.Header, body)
	}
	if len(body) > maxAnswer {
		a.Long, a.Body = true, body[:maxAnswer]
		for len(a.Body) > 0 && !utf8.RuneStart(a.Body[len(a.Body)-1]) {
			a.Body = a.Body[:len(a.Body)-1]
		}
	}
	return a, nil
}

// readAll reads an answer, of which it takes in at most one byte more than there may
// be.
func readAll(resp *http.Response) ([]byte, error) {
	in := io.LimitReader(resp.Body, maxAnswer+1)
	if resp.ContentLength <= 0 || resp.ContentLength > maxAnswer {
		return io.ReadAll(in)
	}
	body := bytes.NewBuffer(make([]byte, 0, resp.ContentLength+bytes.MinRead))
	_, err := body.ReadFrom(in)
	return body.Bytes(), err
}

// Context is ctx for a request: the harness is told when it begins to leave.
func Context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { tools.Sending(ctx) }})
}

// Refused says which hosts there are instead of one that may not be reached.
func (c *Client) Refused(raw string, err error) error {
	why := err.Error()
	if r, ok := errors.AsType[*safehttp.Refused](err); ok {
		why = r.Reason
	}
	f := tools.Fail(tools.PermissionDenied, fmt.Sprintf("The request was not sent: %s.", why), "Use a host of context.hosts.", "If another host is needed, ask a person: only the operator can add it.").
		With("hosts", tools.FirstNames(c.Names())).Because(err)
	f.Causes = []string{"Only hosts on the agent's list can be reached, at public addresses unless an operator allows others."}
	if u, bad := url.Parse(raw); bad == nil {
		if near := tools.Nearest(u.Hostname(), c.Names()); near != "" {
			f.With("nearest", near)
		}
	}
	return f
}

// scrub takes what is ours out of a failure of the network.
func scrub(f *tools.Failure, host string, known []redact.Known) *tools.Failure {
	f.Message = redact.Mask(f.Message, known)
	return f.With("host", host)
}
