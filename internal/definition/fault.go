package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"baton/internal/problem"
)

// Fault is one thing wrong with a file. Its texts are English, for operators.
type Fault struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`   // from 1; 0 if it is in no one place
	Column   int    `json:"column,omitempty"` // from 1
	Path     string `json:"path,omitempty"`   // of the key, with dots: budgets.calls
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// Nearest is the valid name that was probably meant.
	Nearest string `json:"nearest,omitempty"`
	// Reason is the whole fault where expected and got don't say it.
	Reason string `json:"reason,omitempty"`
}

// Error is the fault on one line: place, key, what is wrong, what is right.
func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	switch {
	case f.Reason != "":
		b.WriteString(f.Reason)
	case f.Got != "":
		fmt.Fprintf(&b, "want %s, got %s", f.Expected, f.Got)
	default:
		b.WriteString("want " + f.Expected)
	}
	if f.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %s?", f.Nearest)
	}
	return b.String()
}

// Faults are all that is wrong with a file, in the order of its lines.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Problem is the faults as a problem for people and the API: code
// definition_invalid, the list as its member "errors".
func (f Faults) Problem() *problem.Error {
	params := problem.Params{"n": len(f)}
	if len(f) > 0 {
		params["first"] = f[0].Error()
	}
	return problem.New(problem.Invalid, "definition_invalid", params).With("errors", []Fault(f))
}

func (f Faults) sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int { return a.Line - b.Line })
	return f
}

// nearest is the valid name closest to got, or "" if none is close.
func nearest(got string, valid []string) string {
	best, distance := "", max(2, len(got)/3)+1
	if len(got) < 3 {
		distance = 2 // of so short a name, two changes leave nothing
	}
	for _, v := range valid {
		d := levenshtein.ComputeDistance(strings.ToLower(got), strings.ToLower(v))
		if got != "" && (strings.HasPrefix(v, got) || strings.HasPrefix(got, v)) {
			d = min(d, 1) // a beginning is a likely slip, however much is missing
		}
		if d < distance {
			best, distance = v, d
		}
	}
	return best
}

// listed names at most ten of names.
func listed(names []string) string {
	if len(names) == 0 {
		return "nothing: there is none"
	}
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + fmt.Sprintf(" or one of %d more", len(names)-10)
	}
	return strings.Join(names, ", ")
}
