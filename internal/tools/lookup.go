package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"
)

// maxNames bounds how many names a message lists; the rest is a count.
const maxNames = 10

// concepts fold the words by which models call the same thing.
var concepts = map[string]string{
	"mail": "email", "message": "email", "sql": "query", "db": "database", "select": "query", "postgres": "database",
	"fetch": "http", "request": "http", "url": "http", "api": "http", "curl": "http", "rest": "http", "call": "http",
	"doc": "file", "document": "file", "open": "read", "cat": "read", "view": "read", "show": "read", "load": "read",
	"save": "write", "create": "write", "update": "edit", "modify": "edit", "patch": "edit", "replace": "edit",
	"bash": "shell", "exec": "shell", "terminal": "shell", "command": "shell", "sh": "shell",
	"find": "search", "grep": "search", "lookup": "search", "ls": "list", "glob": "list", "dir": "list",
	"person": "human", "user": "human", "question": "ask", "done": "finish", "complete": "finish", "end": "finish", "submit": "finish",
}

// words splits a name into folded words: at _ . - and capitals, without plural s.
func words(name string) []string {
	var out []string
	var w []rune
	flush := func() {
		s := strings.ToLower(string(w))
		if len(s) > 3 && strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") {
			s = s[:len(s)-1]
		}
		if c, ok := concepts[s]; ok {
			s = c
		}
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
		w = w[:0]
	}
	prev := rune(0)
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(prev):
			flush()
			w = append(w, r)
		default:
			w = append(w, r)
		}
		prev = r
	}
	flush()
	return out
}

// sameWord forgives a slip in a word of some length.
func sameWord(a, b string) bool {
	return a == b || min(len(a), len(b)) >= 4 && levenshtein.ComputeDistance(a, b) <= max(len(a), len(b))/5
}

// nearest is the name most likely meant, "" if none is near. Shared words count
// first, letters second: read_fil is read_file and sendEmail is send_email, but
// bash is nothing like ask.
func nearest(name string, names []string) string {
	type guess struct {
		name   string
		shared float64
		edits  int
	}
	var best []guess
	mine := words(name)
	for _, n := range names {
		theirs := words(n)
		both := 0
		for _, w := range mine {
			if slices.ContainsFunc(theirs, func(t string) bool { return sameWord(w, t) }) {
				both++
			}
		}
		g := guess{n, 0, levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(n))}
		if all := len(mine) + len(theirs) - both; all > 0 {
			g.shared = float64(both) / float64(all)
		}
		if g.shared >= 0.3 || g.edits <= max(1, min(len(name), len(n))/4) {
			best = append(best, g)
		}
	}
	if len(best) == 0 {
		return ""
	}
	slices.SortFunc(best, func(a, b guess) int {
		return cmp.Or(-cmp.Compare(a.shared, b.shared), cmp.Compare(a.edits, b.edits), cmp.Compare(a.name, b.name))
	})
	return best[0].name
}

// Nearest is the name most likely meant by one that does not exist, "" if none
// is near. Tools use it to suggest what exists.
func Nearest(name string, names []string) string { return nearest(name, names) }

// SomeNames is a list of names for a message: at most ten, and a count of the rest.
func SomeNames(names []string) string { return some(names) }

// FirstNames are at most 40 names for a failure's context, and a count of the rest.
func FirstNames(names []string) []string {
	const most = 40
	if len(names) <= most {
		return names
	}
	return append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", len(names)-most))
}

// some is a list of names for a message: at most ten, and a count of the rest.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:maxNames], ", ") + ", and " + plural(len(names)-maxNames, "more", "more")
}
