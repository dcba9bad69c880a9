package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"baton/internal/clean"
	"baton/internal/redact"
)

// presenter turns what a tool brought back into what is stored, shown and fed:
// clean, then redacted, then cut. Only in this order can no secret be cut in
// half and slip through.
type presenter struct {
	redactor *redact.Redactor
	spec     Spec
	pages    bool // read_output is there
}

// text is redacted before it is cleaned, since what is not to be seen may hold a
// secret, and again if cleaning put together what was apart.
func (p presenter) text(s string) string {
	masked := p.redactor.String(s)
	cleaned := clean.Text(masked)
	if cleaned == masked {
		return cleaned
	}
	return p.redactor.String(cleaned)
}

func (p presenter) json(doc json.RawMessage) json.RawMessage {
	if doc == nil {
		return nil
	}
	cleaned, err := clean.JSON(doc)
	if err != nil {
		return jsonString(p.text(string(doc)))
	}
	return p.redactor.JSON(cleaned)
}

// output presents a tool's output. kept is all of it, if more than what is
// shown can be read.
func (p presenter) output(out Output, got Captured) (ready Output, kept string) {
	ready = Output{
		ContentType: clean.Line(out.ContentType), State: p.text(out.State), Degraded: p.degraded(out.Degraded), Truncated: out.Truncated,
		Completed: p.items(out.Completed), Failed: p.items(out.Failed), Skipped: p.items(out.Skipped),
	}
	for _, n := range out.Notices {
		ready.Notices = append(ready.Notices, p.text(n))
	}
	if out.Data != nil {
		return p.data(ready, p.json(out.Data))
	}
	if out.Text != "" {
		got = Captured{Head: []byte(out.Text), TotalBytes: int64(len(out.Text)), TotalLines: int64(len(splitLines(out.Text)))}
	}
	if got.TotalBytes == 0 {
		if len(out.Completed)+len(out.Failed)+len(out.Skipped) > 0 {
			ready.Data = json.RawMessage("null")
		} else {
			ready.Data = jsonString("")
		}
		return ready, ""
	}
	if desc, kind := describeBinary(got); desc != nil {
		ready.Data, ready.ContentType = desc, kind
		return ready, ""
	}
	if doc := longJSON(got, p.spec.Format); doc != nil {
		return p.data(ready, p.json(doc))
	}
	if ready.ContentType == "" {
		ready.ContentType = "text/plain"
	}
	s, all := p.captured(got)
	ready.Data = jsonString(s.text)
	if s.cut != nil {
		ready.Truncated = s.cut
		ready.Notices = append(ready.Notices, p.howToReadOn(s.notice, s.cut))
		kept = all
	}
	return ready, kept
}

// data presents structured output.
func (p presenter) data(ready Output, data json.RawMessage) (Output, string) {
	if ready.ContentType == "" {
		ready.ContentType = "application/json"
	}
	var cut *Truncated
	var note string
	var t Table
	if p.spec.Format.Strategy == TableRows && json.Unmarshal(data, &t) == nil && t.Columns != nil {
		ready.Data, cut, note = formatTable(t, p.spec.Format)
	}
	if ready.Data == nil {
		ready.Data, cut, note = formatJSON(data, p.spec.Format)
	}
	if cut == nil {
		return ready, ""
	}
	ready.Truncated = cut
	ready.Notices = append(ready.Notices, p.howToReadOn(note, cut))
	return ready, keptJSON(data)
}

// captured presents captured text: shown is the cut form, all the whole.
func (p presenter) captured(got Captured) (s shown, all string) {
	got = got.trimSeam(p.redactor.Longest())
	head, tail := p.text(string(got.Head)), ""
	gap := -1
	if got.Lost > 0 {
		tail = p.text(string(got.Tail))
		gap = len(splitLines(head))
		if !strings.HasSuffix(head, "\n") && head != "" {
			head += "\n"
		}
	}
	all = head + tail
	s = formatText(all, p.spec.Format, got, gap)
	if gap >= 0 {
		all = head + "[... " + plural(int(got.Lost), "byte was", "bytes were") + " not kept ...]\n" + tail
	}
	return s, all
}

func (p presenter) howToReadOn(note string, cut *Truncated) string {
	if p.pages {
		return note + " Read the rest with read_output from offset " + strconv.FormatInt(cut.NextOffset, 10) + "."
	}
	return note
}

// failure presents a failure and the output up to it.
func (p presenter) failure(f *Failure, got Captured) (ready *Failure, kept string) {
	c := f.full()
	c.Message, c.Causes, c.Hint = p.text(c.Message), p.texts(c.Causes), p.texts(c.Hint)
	if len([]rune(c.Message)) > 2000 {
		c.Message = cutLine(c.Message, 2000)
	}
	context := map[string]any{}
	for k, v := range c.Context {
		context[clean.Line(k)] = p.short(v)
	}
	if got.TotalBytes > 0 {
		if desc, _ := describeBinary(got); desc != nil {
			context["output"] = desc
		} else {
			s, all := p.captured(got)
			context["output"] = s.text
			if s.cut != nil {
				context["output_cut"] = p.howToReadOn(s.notice, s.cut)
				kept = all
			}
		}
	}
	c.Context = context
	for i, e := range c.Errors {
		c.Errors[i] = FieldError{clean.Line(e.Path), p.text(e.Expected), p.text(e.Got)}
	}
	if ex := jsonAny(c.Example); ex != nil {
		c.Example = p.json(ex)
	}
	return &c, kept
}

// short presents one fact of a context.
func (p presenter) short(v any) json.RawMessage {
	data := p.json(jsonAny(v))
	if len(data) <= 8000 {
		return data
	}
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	total := Captured{TotalBytes: int64(len(s)), TotalLines: int64(len(splitLines(s)))}
	return jsonString(formatText(s, Format{MaxLines: 60, MaxLine: 1000, MaxChars: 6000}, total, -1).text)
}

func (p presenter) texts(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, p.text(s))
	}
	return out
}

// maxItems bounds each list of items in a result.
const maxItems = 500

func (p presenter) items(list []Item) []Item {
	var out []Item
	for i, it := range list {
		if i == maxItems {
			return append(out, Item{Item: "...", Reason: fmt.Sprintf("and %d more", len(list)-maxItems), Type: it.Type, Retryable: it.Retryable})
		}
		item := Item{Item: clean.Line(p.text(it.Item)), Type: it.Type, Reason: cutLine(p.text(it.Reason), 1000), Retryable: it.Retryable}
		if it.Data != nil {
			item.Data = p.short(it.Data)
		}
		out = append(out, item)
	}
	return out
}

func (p presenter) degraded(d *Degraded) *Degraded {
	if d == nil {
		return nil
	}
	return &Degraded{p.text(d.Source), p.text(d.Reason), d.AgeS, p.text(d.Missing)}
}

// DescribeBinary is the description of bytes that are no text (type, size,
// digest), nil if they are text.
func DescribeBinary(b []byte) json.RawMessage {
	desc, _ := describeBinary(Captured{Head: b, TotalBytes: int64(len(b))})
	return desc
}

// describeBinary describes what is no text: type, size, and digest where it is whole.
func describeBinary(c Captured) (description json.RawMessage, kind string) {
	sample := c.Head[:min(len(c.Head), 8000)]
	wrong := 0
	for rest := sample; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 && len(rest) >= utf8.UTFMax {
			wrong++
		}
		rest = rest[n:]
	}
	nuls := bytes.Count(sample, []byte{0})
	if wrong+nuls <= 3 || wrong*10 <= len(sample) && nuls*50 <= len(sample) {
		return nil, "" // text with a flaw
	}
	kind = mimetype.Detect(sample).String()
	if strings.HasPrefix(kind, "text/") {
		kind = "application/octet-stream"
	}
	d := map[string]any{"binary": true, "content_type": kind, "bytes": c.TotalBytes}
	if c.Lost == 0 {
		sum := sha256.Sum256(c.Head)
		d["sha256"] = hex.EncodeToString(sum[:])
	}
	return jsonAny(d), kind
}
