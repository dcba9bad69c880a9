package escalation

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"baton/internal/clean"
	"baton/internal/tools"
)

// checker collects what is wrong with one question.
type checker struct {
	ask    *Ask
	faults []Fault
}

func (c *checker) wrong(path, expected, got string) {
	c.faults = append(c.faults, Fault{FieldError: tools.FieldError{Path: path, Expected: expected, Got: got}})
}

func (c *checker) vague(path, expected, got string) {
	c.faults = append(c.faults, Fault{FieldError: tools.FieldError{Path: path, Expected: expected, Got: got}, Vague: true})
}

// line and text clean a field and hold it to its length. What is too long is
// not cut: the part that matters might be.
func (c *checker) line(path string, s *string, most int) {
	*s = clean.Line(*s)
	c.length(path, *s, most)
}
func (c *checker) text(path string, s *string, most int) {
	*s = strings.TrimSpace(clean.Text(*s))
	c.length(path, *s, most)
}

func (c *checker) length(path, s string, most int) {
	if n := utf8.RuneCountInString(s); n > most {
		c.wrong(path, fmt.Sprintf("at most %d characters", most), fmt.Sprintf("%d characters", n))
	}
}

func (c *checker) texts() {
	a := c.ask
	c.text("/question", &a.Question, maxQuestion)
	c.line("/title", &a.Title, maxTitle)
	c.text("/problem", &a.Problem, maxProblem)
	c.text("/reason", &a.Reason, maxReason)
	a.Kind = orDefault(a.Kind, KindOptions)
	a.Trigger = orDefault(a.Trigger, AmbiguousDecision)
	switch {
	case a.Question == "":
		c.vague("/question", "a question that a person can answer", "nothing")
	case tooShort(a.Question):
		c.vague("/question", "a whole question: what is to be decided, about what", fmt.Sprintf("%q", a.Question))
	case a.Kind != KindFailed && !strings.ContainsAny(a.Question, "?？؟;"):
		c.vague("/question", "a question, with a question mark", "a statement")
	}
}

// tooShort: Chinese says in five characters what takes ten or more in letters.
func tooShort(s string) bool {
	least := 10
	if strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}) {
		least = 5
	}
	return utf8.RuneCountInString(s) < least
}

func orDefault[T ~string](v, other T) T {
	if v == "" {
		return other
	}
	return v
}

// Key is the letter of the i-th option, from 0.
func Key(i int) string { return string(rune('A' + i)) }

var optionID = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}\p{M}_-]{0,63}$`)

// options cleans the options and gives each its id.
func (c *checker) options() {
	a := c.ask
	if a.Kind == KindInput {
		if len(a.Options) > 0 {
			c.wrong("/options", "none: a form is filled in", fmt.Sprintf("%d", len(a.Options)))
		}
		return
	}
	if len(a.Options) > MaxOptions {
		c.wrong("/options", fmt.Sprintf("at most %d options", MaxOptions), fmt.Sprintf("%d options", len(a.Options)))
		return
	}
	if len(a.Options) < 2 && !a.AllowOther {
		c.vague("/options", fmt.Sprintf("2 to %d options, or allow_other", MaxOptions), fmt.Sprintf("%d", len(a.Options)))
	}
	labels := map[string]int{}
	for i := range a.Options {
		o, at := &a.Options[i], fmt.Sprintf("/options/%d", i)
		c.line(at+"/label", &o.Label, maxLabel)
		c.text(at+"/consequence", &o.Consequence, maxConsequence)
		o.ID = strings.TrimSpace(o.ID)
		if o.Label == "" {
			c.wrong(at+"/label", "what choosing it means, beginning with a verb", "nothing")
			continue
		}
		folded := strings.ToLower(o.Label)
		if j, twice := labels[folded]; twice {
			c.wrong(at+"/label", fmt.Sprintf("a label that differs from that of option %s", Key(j)), fmt.Sprintf("%q", o.Label))
		}
		labels[folded] = i
		if o.ID != "" && !optionID.MatchString(o.ID) {
			c.wrong(at+"/id", "1 to 64 letters, digits, _ and -", fmt.Sprintf("%q", clean.Line(o.ID)))
		}
	}
	c.ids()
}

// ids gives an id to each option without one, and refuses what could be taken
// for another: an id twice, or one that is another option's letter.
func (c *checker) ids() {
	options := c.ask.Options
	taken := map[string]bool{}
	for i := range options {
		name := options[i].ID
		switch letter := strings.ToUpper(name); {
		case name == "":
			continue
		case taken[name]:
			c.wrong(fmt.Sprintf("/options/%d/id", i), "an id that no other option has", fmt.Sprintf("%q", name))
		case len(letter) == 1 && letter >= "A" && letter <= "F" && letter != Key(i):
			c.wrong(fmt.Sprintf("/options/%d/id", i), "an id that is not the letter of another option", fmt.Sprintf("%q", name))
		}
		taken[name] = true
	}
	for i := range options {
		if options[i].ID != "" {
			continue
		}
		base := slug(options[i].Label)
		if len(base) <= 1 {
			base = strings.TrimSuffix("option-"+base, "-")
		}
		name := base
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[name] = true
		options[i].ID = name
	}
}

// slug is a label as a semantic key: letters and digits, the rest is hyphens.
func slug(label string) string {
	var b strings.Builder
	gap := false
	n := 0
	for _, r := range strings.ToLower(label) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap = b.Len() > 0
			continue
		}
		if n++; n > 48 {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// recommendation settles which option is recommended. It can be said in two
// places, which must not disagree.
func (c *checker) recommendation() {
	a := c.ask
	named := strings.TrimSpace(a.Recommended)
	a.Recommended = ""
	if named != "" {
		q := Question{}
		for i, o := range a.Options {
			q.Options = append(q.Options, Option{ID: o.ID, Key: Key(i)})
		}
		o, ok := q.Find(named)
		if !ok {
			c.wrong("/recommended", "the id or the letter of an option", fmt.Sprintf("%q", clean.Line(named)))
			return
		}
		a.Recommended = o.ID
	}
	for i, o := range a.Options {
		if !o.Recommended {
			continue
		}
		if a.Recommended != "" && a.Recommended != o.ID {
			c.wrong(fmt.Sprintf("/options/%d/recommended", i), fmt.Sprintf("one recommendation; %q is recommended already", a.Recommended), "true")
			return
		}
		a.Recommended = o.ID
	}
}

var reasonCode = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,63}$`)

func (c *checker) rest() {
	a := c.ask
	if !slices.Contains([]Kind{KindOptions, KindInput, KindFailed}, a.Kind) {
		c.wrong("/kind", "options, input or failed", string(a.Kind))
	}
	if !slices.Contains(Triggers()[:7], a.Trigger) {
		c.wrong("/trigger", "one of the triggers in the schema", string(a.Trigger))
	}
	if a.Priority != "" && dueAfter[a.Priority] == 0 {
		c.wrong("/priority", "low, normal or high", string(a.Priority))
	}
	if a.ReasonCode != "" && !reasonCode.MatchString(a.ReasonCode) {
		c.wrong("/reason_code", "a code in lower case such as duplicate_charge", fmt.Sprintf("%q", clean.Line(a.ReasonCode)))
	}
	c.parameters()
	c.facts()
	if a.Kind == KindInput {
		c.form()
	} else if len(notNull(a.ResponseSchema)) > 0 {
		c.wrong("/response_schema", "none: only a question of kind input has a form", "a schema")
	}
}

func (c *checker) parameters() {
	a := c.ask
	a.Parameters = notNull(a.Parameters)
	if len(a.Parameters) == 0 {
		a.Parameters = json.RawMessage("{}")
	}
	cleaned, err := clean.JSON(a.Parameters)
	if err != nil || len(cleaned) == 0 || cleaned[0] != '{' {
		c.wrong("/parameters", "an object", "something else")
		return
	}
	a.Parameters = cleaned
}

func (c *checker) facts() {
	if n := len(c.ask.Facts); n > maxFacts {
		c.wrong("/facts", fmt.Sprintf("at most %d facts: those that decide", maxFacts), fmt.Sprintf("%d", n))
	}
	for i := range c.ask.Facts {
		f, at := &c.ask.Facts[i], fmt.Sprintf("/facts/%d", i)
		c.line(at+"/label", &f.Label, maxLabel)
		value := f.text()
		c.length(at+"/value", value, maxValue)
		if f.Label == "" || value == "" {
			c.wrong(at, "a label and a value", "one of them is empty")
		}
	}
}

// text is the fact's value as it is shown. A number stays as it was written.
func (f AskFact) text() string {
	var s string
	if json.Unmarshal(f.Value, &s) == nil {
		return clean.Line(s)
	}
	if v := string(notNull(f.Value)); v != "" && v[0] != '{' && v[0] != '[' {
		return v
	}
	return ""
}
