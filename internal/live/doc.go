// Package live says that something has changed, to whoever in this process
// wants to know, and never what: the database is the truth, and a hint only
// says when to look.
//
// A verb that has committed a change tells the hub which objects it touched
// (Hub.Tell). Subscribers of those objects, or of all objects of their kind, are
// woken at once; the hubs of other replicas hear of it by a notification of
// Postgres. Notifications of all transactions would serialise their commits, so
// hints are collected and sent by the hub on a connection of its own, at most
// one notification in notifyEvery, and only while another hub listens.
//
//	verb ── commit ── Tell ──> subscribers here
//	                    └────> NOTIFY ──> other hubs ──> subscribers there
//
// A hint may be lost: the connection breaks, a command beside the server has no
// hub. So a subscriber that is woken reads from the database what it is
// missing, and every hub wakes all subscribers each healEvery, and at once when
// its connection is back. What anybody sees late is late by that at most.
//
// A subscription is one slot, not a queue: however much changes while its owner
// is busy, it costs the set of changed objects, of bounded size.
package live
