package safehttp

import (
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// guardControl checks an address right before it is connected to. IPv4 addresses
// in the clothes of IPv6 are checked as what they are.
func guardControl(guard *ssrf.Guardian, name string) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return refuse("network %s is not TCP", network)
		}
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("read address %q: %w", address, err)
		}
		if err := guard.SafeAddr(at.Addr().Unmap()); err != nil {
			return refuse("%s leads to %s, which is a private, local or reserved address; an operator can allow it for this host", name, at.Addr())
		}
		return nil
	}
}
