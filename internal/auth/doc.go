// Package auth knows who is acting and what they may do.
//
// Every verb that a person or a key can cause takes an Actor as an explicit
// argument and asks Can before it acts. Rights are per team: a role (viewer,
// responder, supervisor, admin) in each team a person belongs to, and an
// operator flag for what belongs to the installation as a whole. A key is at
// most what its person is, narrowed by its scopes; an agent's key belongs to an
// agent and can never answer a question.
//
// What another team owns doesn't exist for an actor: Actor.Teams goes into
// every SELECT, so that such a row is absent (404). What is visible but not
// allowed is refused (403) by Can, which is built from the locked row.
//
// The package also keeps people, teams, one-time sign-in links, signed-in
// browsers, keys, and writes the rows of the audit trail. Tokens are stored as
// hashes only.
package auth
