// Package tools is the harness around tool calls: what a tool is, what a call
// may do (Prepare), and how it is run so that exactly one readable, bounded
// result comes back whatever the tool does (Execute).
package tools
