// Package demo is a small business for trying Baton out: a furniture shop with
// 200,000 rows in a database of its own, the services around it, which fail in
// the ways that such services do, and the agents that work there.
//
// Nothing here is faked for the harness: queries run on Postgres, requests go
// over a socket, a call that times out has really waited, and mail is handed to
// a real mail server. What fails depends on the ids alone, so the demo is the
// same each time while its sessions are new. What agents change are rows in the
// shop's database: they outlive a crash.
//
//	LoadShop      makes and fills the shop's tables, for its roles
//	Payments      is the payment service; the same key never pays twice
//	Portal        is the suppliers' portal; its passwords have expired
//	Carrier       is the parcel service, with a report of 5,000 lines
//	MailCatcher   takes mail, delivers none, and shows it on a page
//	UpdatePrices  is a tool of the shop's own: item by item, with its undo
//	Agents        are the definitions and playbooks, Files what they read
//	Work          finds pieces of work in the data for agents to do
package demo
