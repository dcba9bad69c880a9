// Package declared makes tools of what an operator has written in a file: one
// request to a service, with parameters that a model fills in. No Go is needed for
// one, and nothing in the file runs.
//
// The file (definition.DeclaredTool) is a template. A model chooses values, never
// the host, the path's shape, a header's name or what a credential is. What comes
// back is judged by what the file says of failures; what nobody said anything of
// is judged as http_request does.
package declared
