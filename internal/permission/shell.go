package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxCommand is how long a command's text may be to be looked into, in bytes.
const maxCommand = 64 << 10

// runs says whether a shell command runs what entries name. It goes by the parsed
// form; the beginning of a text says nothing about its end.
//
// A rule that allows is strict: the text must be simple commands and nothing else
// (joined by ; && || or pipes), each of them one of the entries, each word
// written as it is meant. Substitutions, variables, assignments, redirections to
// files, background jobs, functions, loops: whatever makes another command or
// writes a file makes it false, and a person is asked.
//
// A rule that asks or denies is lenient: it is enough that an entry's program
// stands anywhere in the text, under whatever folder, or that what runs can't be
// told.
func runs(text any, entries any, strict bool) bool {
	s, ok := text.(string)
	list := commandEntries(entries)
	if !ok || len(s) > maxCommand || len(list) == 0 {
		return !strict
	}
	if strict {
		// Shells and this parser may differ on what no person types.
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			return false
		}
		// Shells read some texts differently: it must be harmless in both ways.
		return onlyRuns(s, syntax.LangPOSIX, list) && onlyRuns(s, syntax.LangBash, list)
	}
	return mayRun(s, syntax.LangPOSIX, list) || mayRun(s, syntax.LangBash, list)
}

// commandEntries are a condition's entries, split into words; nil if it has
// anything else.
func commandEntries(v any) (list [][]string) {
	all, ok := v.([]any)
	if !ok {
		all = []any{v}
	}
	for _, one := range all {
		s, ok := one.(string)
		words := strings.Fields(s)
		if !ok || len(words) == 0 {
			return nil
		}
		list = append(list, words)
	}
	return list
}

// CheckCommands says what is wrong with the commands of a condition: they are a
// text or a list of texts, each a program's name, maybe with arguments.
func CheckCommands(v any) error {
	if commandEntries(v) == nil {
		return fmt.Errorf("runs is %v, want a command or a list of them", v)
	}
	return nil
}

func parse(text string, lang syntax.LangVariant) (f *syntax.File, ok bool) {
	defer func() {
		if recover() != nil { // a fault of the parser: what it can't read is not known
			f, ok = nil, false
		}
	}()
	f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	return f, err == nil
}

func onlyRuns(text string, lang syntax.LangVariant, entries [][]string) bool {
	f, ok := parse(text, lang)
	if !ok || len(f.Stmts) == 0 {
		return false
	}
	for _, s := range f.Stmts {
		if !plainStatement(s, entries) {
			return false
		}
	}
	return true
}

func plainStatement(s *syntax.Stmt, entries [][]string) bool {
	if s.Background || s.Coprocess || s.Disown {
		return false
	}
	for _, r := range s.Redirs {
		if !harmless(r) {
			return false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return plainStatement(c.X, entries) && plainStatement(c.Y, entries)
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return false
		}
		words := make([]string, 0, len(c.Args))
		for _, w := range c.Args {
			text, ok := literal(w)
			if !ok {
				return false
			}
			words = append(words, text)
		}
		return slices.ContainsFunc(entries, func(e []string) bool { return entryFits(e, words) })
	}
	return false
}

// harmless says whether a redirection touches no file: 2>&1, or to /dev/null.
func harmless(r *syntax.Redirect) bool {
	to, ok := literal(r.Word)
	if !ok || r.Hdoc != nil {
		return false
	}
	switch r.Op {
	case syntax.DplOut:
		return to == "1" || to == "2"
	case syntax.RdrOut, syntax.AppOut:
		return to == "/dev/null"
	case syntax.RdrIn:
		return to == "/dev/null"
	}
	return false
}

// literal is a word's text, if it is written as it is meant. A pattern for names
// of files stays as it is.
func literal(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.Contains(p.Value, `\`) {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok || strings.ContainsAny(lit.Value, "\\`") {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// entryFits says whether a command is what an entry names: a program with
// whatever arguments, or with those that the entry lists, of which a last * are
// all that follow.
func entryFits(entry, words []string) bool {
	if entry[0] != words[0] {
		return false
	}
	if len(entry) == 1 {
		return true
	}
	rest := len(entry)
	if entry[rest-1] == "*" {
		rest--
	}
	if len(words) < rest || len(words) > rest && rest == len(entry) {
		return false
	}
	for i := 1; i < rest; i++ {
		if !glob(words[i], entry[i]) {
			return false
		}
	}
	return true
}

// shells are programs and words that run what they read, which may come from
// anywhere.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "eval", "source", "."}

// mayRun says whether an entry's program may be run by the text.
func mayRun(text string, lang syntax.LangVariant, entries [][]string) bool {
	f, ok := parse(text, lang)
	if !ok {
		return true
	}
	found := false
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				if name, ok := literal(n.Args[0]); !ok || slices.Contains(shells, path.Base(name)) {
					found = true // who knows what that is
				}
			}
		case *syntax.Word:
			found = found || names(n, entries)
		}
		return !found
	})
	return found
}

// names says whether a word is an entry's program, or holds it among others, as
// the text of a nested shell does.
func names(w *syntax.Word, entries [][]string) bool {
	text, ok := literal(w)
	if !ok {
		var b strings.Builder
		_ = syntax.NewPrinter().Print(&b, w) // a builder takes everything
		text = strings.ReplaceAll(b.String(), `\`, "")
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !nameRune(r) }) {
		for _, e := range entries {
			if fold(path.Base(word)) == fold(path.Base(e[0])) {
				return true
			}
		}
	}
	return false
}

func nameRune(r rune) bool {
	return r == '/' || r == '-' || r == '_' || r == '.' || r == '+' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= 0x80
}
