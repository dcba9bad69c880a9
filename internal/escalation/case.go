package escalation

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Case is what kind of question it was, for finding decisions about like ones.
// Its structure decides whether two cases are alike; text only ranks.
type Case struct {
	ReasonCode string
	// OptionSet are the options' ids, sorted, with "!" after those that have a
	// bound effect. Letters don't count: they are only the order of display.
	OptionSet  string
	Tool       string // whose call is to be decided, or failed
	ToolHash   string
	ErrorType  string
	ErrorClass string
	Parameters json.RawMessage
	Problem    string // with what differs from time to time masked
}

// optionSet names what there was to choose from.
func optionSet(kind Kind, q Question) string {
	var ids []string
	for _, o := range q.Options {
		name := o.ID
		if o.Action != nil && o.Action.Effect.Writes() {
			name += "!"
		}
		ids = append(ids, name)
	}
	slices.Sort(ids)
	if kind == KindApproval && q.ActionRequest != nil {
		ids = append(ids, "approve:"+q.ActionRequest.Tool)
	}
	if len(ids) == 0 {
		return string(kind)
	}
	return strings.Join(ids, " ")
}

// masks are in this order: what is longest and surest first.
var masks = []struct {
	re *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]+`), "<email>"},
	{regexp.MustCompile(`https?://\S+`), "<url>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b`), "<date>"},
	{regexp.MustCompile(`\d{4}年\d{1,2}月\d{1,2}日`), "<date>"},
	{regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b`), "<id>"},
	{regexp.MustCompile(`\b\w*\d\w*[A-Za-z_-]\w*\b|\b[A-Za-z_]+[-_#]?\d[\w-]*\b`), "<id>"},
	{regexp.MustCompile(`[+-]?\d[\d.,'\x{00a0}\x{202f}]*\d|\d`), "<n>"},
}

// mask replaces what differs from case to case: numbers, dates, ids, addresses.
func mask(text string) string {
	for _, m := range masks {
		text = m.re.ReplaceAllString(text, m.as)
	}
	return strings.Join(strings.Fields(text), " ")
}
