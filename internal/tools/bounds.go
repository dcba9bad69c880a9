package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"baton/internal/clean"
)

// Bounds of a result's parts. Together with the format of its data they bound
// what any tool can make a model read and the ledger keep, whatever it returns.
const (
	maxData     = 8 << 20   // bytes of data; longer answers are only described
	maxPart     = 256 << 10 // bytes of any other part before it is looked at
	maxSentence = 2000      // characters of a message, a notice, a cause, a hint
	maxNotices  = 20
	maxItems    = 500   // of each list of items
	itemsChars  = 30000 // of each list of items
	maxFacts    = 40    // of a failure's context
	factsChars  = 30000 // of all facts, without the output
	maxErrors   = 50    // wrong arguments that are listed
)

// capture takes in what a tool returned as text, as if it had been written: of
// more than a capture holds the beginning and the end.
func capture(text string) Captured {
	if len(text) <= CaptureHead+CaptureTail {
		return Captured{Head: []byte(text), TotalBytes: int64(len(text)), TotalLines: int64(countLines(text))}
	}
	var c Capture
	for i := 0; i < len(text); i += CaptureHead {
		_, _ = c.Write([]byte(text[i:min(i+CaptureHead, len(text))])) // never fails
	}
	return c.Read()
}

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// tooLong stands for data that is not taken in.
func tooLong(data json.RawMessage) (json.RawMessage, string) {
	d := jsonAny(map[string]any{"left_out": true, "bytes": len(data)})
	return d, fmt.Sprintf("The answer has %d bytes, more than the %d that are taken in; it was not kept. Ask for less at once.", len(data), maxData)
}

// sentence presents a text that is to be short. Of a very long one only the
// beginning is looked at, without what stands at the cut, which may be the half
// of a secret.
func (p presenter) sentence(s string, limit int) string {
	if len(s) > maxPart {
		c := Captured{Head: []byte(s[:maxPart]), TotalBytes: int64(len(s)), Lost: int64(len(s) - maxPart)}
		s = string(c.trimSeam(p.redactor.Longest()).Head)
	}
	return cutLine(p.text(s), limit)
}

func (p presenter) sentences(list []string, most int) []string {
	out := make([]string, 0, min(len(list), most))
	for _, s := range list[:min(len(list), most)] {
		out = append(out, p.sentence(s, maxSentence))
	}
	return out
}

// facts presents a failure's context: as many facts, by name, as there is room
// for.
func (p presenter) facts(context map[string]any) map[string]any {
	names := make([]string, 0, len(context))
	for name := range context {
		names = append(names, name)
	}
	slices.Sort(names)
	out, room := map[string]any{}, factsChars
	for i, name := range names {
		from := p
		if name == "body" { // of what a service answered
			from = p.brought()
		}
		fact := from.short(jsonAny(context[name]))
		if room -= utf8.RuneCount(fact) + len(name); room < 0 || i == maxFacts {
			out["further_facts"] = plural(len(names)-i, "fact was", "facts were") + " left out"
			break
		}
		out[clip(clean.Line(p.sentence(name, 200)), 200)] = fact
	}
	return out
}

// short presents one fact or the data of one item.
func (p presenter) short(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxPart {
		return jsonString(fmt.Sprintf("(%d bytes, left out)", len(raw)))
	}
	data := p.json(raw)
	if len(data) <= 8000 {
		return data
	}
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	total := Captured{TotalBytes: int64(len(s)), TotalLines: int64(countLines(s))}
	return jsonString(formatText(s, Format{MaxLines: 60, MaxLine: 1000, MaxChars: 6000}, total, -1).text)
}

// items presents a list of items, as many as there is room for.
func (p presenter) items(list []Item) []Item {
	var out []Item
	room := itemsChars
	for i, it := range list {
		item := Item{Item: clean.Line(p.sentence(it.Item, 400)), Type: it.Type, Reason: p.sentence(it.Reason, 1000), Retryable: it.Retryable}
		if it.Data != nil {
			item.Data = p.brought().short(jsonAny(it.Data))
		}
		room -= utf8.RuneCountInString(item.Item) + utf8.RuneCountInString(item.Reason) + utf8.RuneCount(item.Data) + 40
		if i == maxItems || room < 0 && i > 0 {
			return append(out, Item{Item: "...", Reason: fmt.Sprintf("and %d more", len(list)-i), Type: it.Type, Retryable: it.Retryable})
		}
		out = append(out, item)
	}
	return out
}

func (p presenter) degraded(d *Degraded) *Degraded {
	if d == nil {
		return nil
	}
	return &Degraded{p.sentence(d.Source, maxSentence), p.sentence(d.Reason, maxSentence), d.AgeS, p.sentence(d.Missing, maxSentence)}
}

// fieldErrors presents what is wrong with arguments.
func (p presenter) fieldErrors(list []FieldError) []FieldError {
	var out []FieldError
	for _, e := range list[:min(len(list), maxErrors)] {
		out = append(out, FieldError{clean.Line(p.sentence(e.Path, 400)), p.sentence(e.Expected, maxSentence), p.sentence(e.Got, maxSentence)})
	}
	return out
}

// names presents the tools that may do instead.
func (p presenter) names(list []string) []string {
	var out []string
	for _, n := range list[:min(len(list), maxNames)] {
		out = append(out, clean.Line(p.sentence(n, 200)))
	}
	return out
}
