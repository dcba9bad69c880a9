// Package provider is what the rooms of real models share: the connection to a
// provider's API, what its errors mean, and the form in which a conversation is
// put before a model.
//
// A Connection reaches the one host that the operator named, asks once, is
// patient within bounds, and never tells its key. Turns puts a conversation into
// an order that the strictest provider takes: turns that alternate, each call
// with an id of its own and exactly one result right after it. A Draft collects a
// reply as it is streamed, and says faithfully what came.
//
// What the server says stands in records (record.go), so that no text of a
// person, a tool or a model can be taken for its words.
package provider
