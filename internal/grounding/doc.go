// Package grounding checks that what a text says stands somewhere: its figures,
// dates, names of things with digits in them, and addresses. A model writes
// well about what it never saw; a figure without a source is where that shows.
//
// Add what was shown to a Ground: results, the task, people's words. Find the
// facts of a text, and ask the Ground which of them it Holds. A figure that was
// worked out is no lie: Derive recomputes it from figures that are held, and
// holds it from then on.
//
// Looks don't count: 1,234.50 is 1.234,50 and 1234.5, 12 November is
// 2026-11-12, 0.125 is 12.5 %, and how many rows a list has is counted anew. A
// number is held if it stands there as a number, a code (ES-118, 48-2217) as it
// is written.
//
// What it can't do: a figure that stands in the sources and is used of another
// thing is held, and a claim without a figure has nothing to be held. It is pure,
// and never changes a text.
package grounding
