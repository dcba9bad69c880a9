package safehttp

import (
	"context"
	"net"
	"time"
)

// DialOperator connects to a server that the operator named in the
// installation's own settings, such as its mail server. Any address is allowed,
// also a private one: no model and no tool's argument may have a say in addr.
func DialOperator(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return d.DialContext(ctx, "tcp", addr)
}
