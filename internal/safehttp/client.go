package safehttp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"code.dny.dev/ssrf"
)

// MaxHops is how many redirects are followed.
const MaxHops = 3

// Options say what a client may reach.
type Options struct {
	Hosts []Host
	// Public lets any host at a public address be reached, at ports 80 and 443.
	Public bool
	// Resolver looks names up; nil is the system's.
	Resolver *net.Resolver
	// Connect bounds how long connecting may take, and how long agreeing on a key
	// after it; 0 is 10 s.
	Connect time.Duration
	// Idle is how long a server may be silent, before its reply and within it;
	// then the error is a *Silent. 0: for ever.
	Idle time.Duration
	// Most bounds the bytes of a reply's body; past it the error is a *TooLarge.
	// 0: any number.
	Most int64
	// OnlyReads says that no request has an effect, of whatever method it is, so
	// that all may use a connection again.
	OnlyReads bool
}

// Client is an HTTP client that reaches only what it may. It is safe for
// concurrent use; close its idle connections when it is not needed any more.
type Client struct {
	http   http.Client
	hosts  map[authority]Host
	names  []string
	public bool
}

// New makes a client. The error names a host of the list that can't be read.
func New(o Options) (*Client, error) {
	c := &Client{hosts: map[authority]Host{}, public: o.Public}
	for _, h := range o.Hosts {
		a, err := parseHost(h.Name)
		if err != nil {
			return nil, fmt.Errorf("host %q: %w", h.Name, err)
		}
		if h.Address != "" {
			if _, _, err := net.SplitHostPort(h.Address); err != nil {
				return nil, fmt.Errorf("host %q: address %q is not host:port", h.Name, h.Address)
			}
		}
		c.hosts[a] = h
		c.names = append(c.names, a.String())
	}
	slices.Sort(c.names)
	if o.Connect == 0 {
		o.Connect = 10 * time.Second
	}
	d := &dialer{client: c, net: net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second, Resolver: o.Resolver}}
	next := &http.Transport{
		Proxy: nil, DialContext: d.dial, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: o.Connect, ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost: 4, MaxIdleConns: 64, IdleConnTimeout: 60 * time.Second,
		MaxResponseHeaderBytes: 128 << 10,
	}
	writes := next
	if !o.OnlyReads {
		writes = next.Clone()
		writes.DisableKeepAlives = true
	}
	c.http = http.Client{Transport: &transport{client: c, patience: patience{idle: o.Idle, most: o.Most}, next: next, writes: writes}, CheckRedirect: c.redirect}
	return c, nil
}

// Do sends a request; see http.Client. An error that wraps *Refused says what
// may not be reached, and why.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	if _, err := c.Check(req.URL); err != nil {
		return nil, err
	}
	return c.http.Do(req)
}

// HTTP is the client for libraries that want one.
func (c *Client) HTTP() *http.Client { return &c.http }

// CloseIdleConnections closes connections that are not in use.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Names are the hosts of the list, in their normal form.
func (c *Client) Names() []string { return slices.Clone(c.names) }

// Check says whether a URL may be asked for, and which host of the list it is.
// The address is checked later, when it is dialled.
func (c *Client) Check(u *url.URL) (Host, error) {
	a, err := ofURL(u)
	if err != nil {
		return Host{}, err
	}
	if h, ok := c.hosts[a]; ok {
		return h, nil
	}
	if c.public && a.port == "" {
		return Host{Name: a.name}, nil
	}
	if c.public {
		return Host{}, refuse("port %s of %s may not be reached", a.port, a.name)
	}
	return Host{}, refuse("host %s is not on the list of hosts", a)
}

// carried are the headers that go along when a redirect leads to another host.
var carried = []string{"Accept", "Accept-Language", "Accept-Encoding", "User-Agent", "Content-Type", "Content-Length", "Range", "If-Modified-Since", "If-None-Match"}

// redirect decides about the next hop.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > MaxHops {
		return refuse("more than %d redirects", MaxHops)
	}
	if _, err := c.Check(req.URL); err != nil {
		return fmt.Errorf("redirect to %s: %w", req.URL.Redacted(), err)
	}
	last := via[len(via)-1]
	if last.URL.Scheme == "https" && req.URL.Scheme == "http" {
		return refuse("redirect from https to http")
	}
	if strings.EqualFold(last.URL.Host, req.URL.Host) {
		return nil
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return refuse("redirect of a %s to another host", req.Method)
	}
	for name := range req.Header {
		if !slices.Contains(carried, http.CanonicalHeaderKey(name)) {
			req.Header.Del(name)
		}
	}
	return nil
}

// transport adds the credentials of the host that a request goes to. The
// request that redirects copy from never holds them.
type transport struct {
	client   *Client
	patience patience
	next     *http.Transport
	// writes has a connection of its own for each request. On one that was used
	// before, Go sends a request with an Idempotency-Key a second time when it is cut,
	// whether the host honours the key or not; and of a write that finds its connection
	// closed nobody could tell whether it arrived.
	writes *http.Transport
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	h, err := t.client.Check(req.URL)
	if err != nil {
		return nil, err
	}
	if len(h.Header) > 0 {
		req = req.Clone(req.Context())
		for name, value := range h.Header {
			req.Header.Set(name, value)
		}
	}
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return t.patience.send(req, t.next)
	}
	return t.patience.send(req, t.writes)
}

func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }

// dialer connects to a host, at addresses that the host may have.
type dialer struct {
	client *Client
	net    net.Dialer
}

var (
	privateV4 = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10")
	privateV6 = prefixes("::1/128", "fc00::/7")
	// metadata answers with credentials of the machine; no name leads to it.
	metadata = prefixes("fd00:ec2::/32")
)

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refuse("address %q is not host:port", address)
	}
	h, name, err := d.find(name, port)
	if err != nil {
		return nil, err
	}
	address = net.JoinHostPort(name, port) // in the form that was checked
	options := []ssrf.Option{ssrf.WithAnyPort(), ssrf.WithDeniedV6Prefixes(metadata...)}
	if h.AllowPrivate {
		options = append(options, ssrf.WithAllowedV4Prefixes(privateV4...), ssrf.WithAllowedV6Prefixes(privateV6...))
	}
	guard := ssrf.New(options...)
	dialer := d.net
	if h.Address != "" {
		address = h.Address
	}
	dialer.Control = guardControl(guard, name)
	return dialer.DialContext(ctx, network, address)
}

// find is the host that a connection is for, and its name in normal form. The
// port is the scheme's when the list names none.
func (d *dialer) find(name, port string) (h Host, normalName string, err error) {
	for _, scheme := range []string{"https", "http"} {
		a, err := normal(name, port, scheme)
		if err != nil {
			return Host{}, "", err
		}
		if h, ok := d.client.hosts[a]; ok {
			return h, a.name, nil
		}
		normalName = a.name
	}
	if d.client.public && (port == "80" || port == "443") {
		return Host{Name: normalName}, normalName, nil
	}
	return Host{}, "", refuse("host %s is not on the list of hosts", net.JoinHostPort(name, port))
}
