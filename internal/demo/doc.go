// Package demo is a small business for trying Baton out: a furniture shop with
// 200,000 rows in a database of its own, a payment service that fails in the
// ways that payment services do, and two agents that work there.
//
// Nothing here is faked for the harness: queries run on Postgres, requests go
// over a socket, a call that times out has really waited. What fails depends on
// the ids alone, so the demo is the same each time while its sessions are new.
// Refunds are rows in the shop's database: they outlive a crash, and the same
// Idempotency-Key never pays twice.
//
//	LoadShop   makes and fills the shop's tables, for the role ReaderRole
//	Payments   is the payment service's http.Handler
//	Serve      puts it on a loopback port
//	Agents     are the definitions and playbooks, Files what they read
//	Cases      are duplicate charges in the data for sessions to work on
package demo
