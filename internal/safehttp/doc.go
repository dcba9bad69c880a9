// Package safehttp makes HTTP clients that reach only what they may.
//
// A client has a list of hosts, or may reach any public one. The name is checked
// before a request and again at each redirect; the address is checked when it
// is dialled, after the name was resolved, so that no name, no spelling of an
// address and no change of DNS between check and use leads to a private, a
// loopback or a metadata address. An operator may give a host an address of its
// own, and may allow a private one.
//
// Credentials belong to hosts, not to requests: the transport adds them to what
// goes to their host, and so they can't follow a redirect elsewhere. No proxy of
// the environment is used, since behind one the check would see the proxy.
package safehttp
