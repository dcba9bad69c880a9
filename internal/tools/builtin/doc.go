// Package builtin holds the tools that come with Baton. Each is a pair of files:
// x.go, with its arguments, its work and the list of its failures, and x.md, what
// the model reads about it. A tool is made with what it works on (a database, a
// directory, a list of hosts) and knows nothing of agents and sessions.
package builtin
