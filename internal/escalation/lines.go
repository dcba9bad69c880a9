package escalation

import (
	"fmt"
	"slices"

	"baton/internal/clean"
	"baton/internal/id"
	"baton/internal/tools"
)

// done lists what was done: effects first to be named, then what was looked up.
func done(k Known) []Line {
	var effects, reads []Line
	for _, c := range k.Calls {
		if c.Status != tools.StatusSucceeded && c.Status != tools.StatusPartial {
			continue
		}
		line := lineOf(k, c)
		if c.Effect.Writes() {
			effects = merge(effects, line)
		} else {
			reads = merge(reads, line)
		}
	}
	effects = latest(effects, maxLines)
	return append(effects, latest(reads, maxLines-len(effects))...)
}

// tried lists what failed as a whole or in part, equal failures together.
func tried(k Known) []Line {
	var lines []Line
	for _, c := range k.Calls {
		if failed(c) || c.Undone > 0 {
			lines = merge(lines, lineOf(k, c))
		}
	}
	return latest(lines, maxLines)
}

func latest(lines []Line, most int) []Line { return lines[max(0, len(lines)-max(most, 0)):] }

// merge adds a line, or counts it with the one that says the same.
func merge(lines []Line, l Line) []Line {
	i := slices.IndexFunc(lines, func(o Line) bool {
		return o.Undone+l.Undone == 0 && o.Tool == l.Tool && o.Words["en"] == l.Words["en"] && o.ErrorType == l.ErrorType && o.Error == l.Error
	})
	if i >= 0 {
		l.Times += lines[i].Times
		l.Attempts += lines[i].Attempts
		lines = slices.Delete(lines, i, i+1)
	}
	l.Text = l.english()
	return append(lines, l)
}

func lineOf(k Known, c KnownCall) Line {
	l := Line{Call: id.Call{Session: k.Session, N: c.N}, Words: map[string]string{}, Tool: c.Tool, Times: 1, Attempts: max(c.Attempts, 1),
		ErrorType: c.ErrorType, Error: clip(clean.Line(c.Error), maxError), Done: c.Done, Undone: c.Undone}
	spec := tools.Spec{Name: c.Tool, Words: c.Words}
	for lang := range c.Words {
		_, l.Words[lang] = spec.Describe(lang, c.Args)
	}
	return l
}

func (l Line) english() string {
	text := l.Words["en"]
	if text == "" {
		text = l.Tool
	}
	if l.Times > 1 {
		text += fmt.Sprintf(" (%d times)", l.Times)
	}
	if l.Undone > 0 {
		text += fmt.Sprintf(": %d of %d items done", l.Done, l.Done+l.Undone)
	}
	if l.ErrorType != "" {
		text += ": " + l.Error
		if l.Error == "" {
			text += string(l.ErrorType)
		}
		if l.Attempts > l.Times {
			text += fmt.Sprintf(" (%d attempts)", l.Attempts)
		}
	}
	return text
}
