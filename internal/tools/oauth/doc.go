// Package oauth keeps what authorization servers grant to this installation, for
// tools whose services want it: access tokens by client credentials (RFC 6749,
// section 4.4).
//
// A token is a row, sealed, so all servers use one and none asks anew after a
// start. It is renewed ahead of its end: whoever finds it near its end claims the
// renewal, and the others go on with the old one. Only where no token is valid do
// calls wait, for that one renewal. No transaction is open while the authorization
// server is asked.
package oauth
