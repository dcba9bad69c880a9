package safehttp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// Host is one host that a client may reach.
type Host struct {
	// Name is what stands in URLs: a name or an address, with a port if it is
	// not that of the scheme ("payments.internal", "files.example:8443").
	Name string
	// Address is where to connect instead of where the name leads
	// ("127.0.0.1:9911"); empty: the name is looked up.
	Address string
	// AllowPrivate lets it be reached at a private or loopback address.
	AllowPrivate bool
	// Header is set on each request to the host, in place of one the request
	// has: credentials.
	Header map[string]string
}

// Refused is the error for what a client may not reach. Nothing was sent.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// authority is a host in its one form: lower case, ASCII, without the final dot,
// and the port, "" for the scheme's own.
type authority struct{ name, port string }

func (a authority) String() string {
	if a.port == "" {
		return a.name
	}
	return net.JoinHostPort(a.name, a.port)
}

// normal reads a host as it stands in a list or a URL. Spellings of addresses
// that only some resolvers know (2130706433, 0x7f.1, 127.1) are refused.
func normal(name, port, scheme string) (authority, error) {
	name = strings.TrimSuffix(name, ".")
	if ip, err := parseAddress(strings.Trim(name, "[]")); err == nil {
		name = ip.Unmap().String()
		if ip.Zone() != "" {
			return authority{}, refuse("address %q has a zone", name)
		}
	} else {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil || ascii == "" {
			return authority{}, refuse("%q is not a host name", name)
		}
		name = strings.ToLower(ascii)
		if ip, err := parseAddress(name); err == nil { // full-width digits, for instance
			name = ip.Unmap().String()
		} else if last := name[strings.LastIndexByte(name, '.')+1:]; last[0] >= '0' && last[0] <= '9' {
			return authority{}, refuse("%q is neither a host name nor an address as it is usually written", name)
		}
	}
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		port = ""
	}
	return authority{name, port}, nil
}

var errNoAddress = errors.New("no address")

// parseAddress reads an address. What can't be one, as most names can't, costs
// nothing.
func parseAddress(name string) (netip.Addr, error) {
	if name == "" || (name[0] < '0' || name[0] > '9') && !strings.Contains(name, ":") {
		return netip.Addr{}, errNoAddress
	}
	return netip.ParseAddr(name)
}

// parseHost reads a host of a list.
func parseHost(s string) (authority, error) {
	name, port := s, ""
	if h, p, err := net.SplitHostPort(s); err == nil {
		name, port = h, p
	}
	return normal(name, port, "")
}

// ofURL reads the host of a URL and checks what else it says.
func ofURL(u *url.URL) (authority, error) {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return authority{}, refuse("scheme %q is not http or https", u.Scheme)
	case u.User != nil:
		return authority{}, refuse("a URL may not carry a user or a password")
	case u.Hostname() == "":
		return authority{}, refuse("the URL has no host")
	}
	return normal(u.Hostname(), u.Port(), u.Scheme)
}
