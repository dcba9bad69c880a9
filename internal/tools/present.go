package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	masked := p.redactor.Text(s)
	cleaned := clean.Text(masked)
	if cleaned == masked {
		return cleaned
	}
	return p.redactor.String(cleaned)
}

// brought is the presenter of what a tool itself brought, for which the agent's
// data policy has a default. What the harness's own tools bring is masked already.
func (p presenter) brought() presenter {
	if !p.spec.Always {
		p.redactor = p.redactor.Output(p.spec.Format.Strategy == TableRows)
	}
	return p
}

// learn looks at the fields of an output before any of its sentences is
// presented: they may say what a field is to hide.
func (p presenter) learn(out Output) {
	if !p.redactor.Follows() {
		return
	}
	docs := []json.RawMessage{out.Data, json.RawMessage(out.Text)}
	for _, list := range [][]Item{out.Completed, out.Failed, out.Skipped} {
		for _, item := range list {
			docs = append(docs, item.Data)
		}
	}
	for _, doc := range docs {
		if len(doc) <= maxData && json.Valid(doc) {
			p.brought().json(doc)
		}
	}
}

func (p presenter) json(doc json.RawMessage) json.RawMessage {
	if doc == nil {
		return nil
	}
	cleaned, err := clean.JSON(doc)
	if err != nil {
		return jsonString(p.text(string(doc)))
	}
	return p.redactor.Document(cleaned)
}

// output presents a tool's output. kept is all of it, if more than what is
// shown can be read.
func (p presenter) output(out Output, got Captured) (ready Output, kept string) {
	p.learn(out)
	ready = Output{
		ContentType: clean.Line(p.sentence(out.ContentType, 200)), State: p.sentence(out.State, maxSentence), Degraded: p.degraded(out.Degraded), Truncated: out.Truncated,
		Completed: p.items(out.Completed), Failed: p.items(out.Failed), Skipped: p.items(out.Skipped),
	}
	if out.Notices != nil {
		ready.Notices = p.sentences(out.Notices, maxNotices)
	}
	if len(out.Data) > maxData {
		var note string
		ready.Data, note = tooLong(out.Data)
		ready.Notices = append(ready.Notices, note)
		return ready, ""
	}
	if out.Data != nil {
		return p.data(ready, p.brought().json(out.Data))
	}
	if out.Text != "" {
		got = capture(out.Text)
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
		return p.data(ready, p.brought().json(doc))
	}
	if ready.ContentType == "" {
		ready.ContentType = "text/plain"
	}
	s, all := p.brought().captured(got)
	ready.Data = jsonString(s.text)
	if about := got.aboutErrors(); about != "" {
		ready.Notices = append(ready.Notices, about)
	}
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
	c.Message, c.Causes, c.Hint = p.sentence(c.Message, maxSentence), p.sentences(c.Causes, 3), p.sentences(c.Hint, 3)
	context := p.facts(c.Context)
	if got.TotalBytes > 0 {
		if desc, _ := describeBinary(got); desc != nil {
			context["output"] = desc
		} else {
			s, all := p.brought().captured(got)
			context["output"] = s.text
			if about := got.aboutErrors(); about != "" {
				context["standard_error"] = about
			}
			if s.cut != nil {
				context["output_cut"] = p.howToReadOn(s.notice, s.cut)
				kept = all
			}
		}
	}
	c.Context = context
	c.Errors, c.Alternatives = p.fieldErrors(c.Errors), p.names(c.Alternatives)
	if c.Example = p.short(jsonAny(c.Example)); jsonKind(c.Example.(json.RawMessage)) != "object" {
		c.Example = nil // cut or none
	}
	return &c, kept
}

func (p presenter) texts(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, p.text(s))
	}
	return out
}

// DescribeBinary is the description of bytes that are no text (type, size,
// digest), nil if they are text.
func DescribeBinary(b []byte) json.RawMessage {
	desc, _ := describeBinary(Captured{Head: b, TotalBytes: int64(len(b))})
	return desc
}

// binarySample is how much of an output is looked at, in bytes.
const binarySample = 8000

// noText says that bytes aren't meant to be read: many of them are no
// characters. Text with a flaw is text.
func noText(b []byte) bool {
	sample := b[:min(len(b), binarySample)]
	wrong := 0
	for rest := sample; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 && len(rest) >= utf8.UTFMax {
			wrong++
		}
		rest = rest[n:]
	}
	nuls := bytes.Count(sample, []byte{0})
	return wrong+nuls > 3 && (wrong*10 > len(sample) || nuls*50 > len(sample))
}

// describeBinary describes what is no text: type, size, digest.
func describeBinary(c Captured) (description json.RawMessage, kind string) {
	if !noText(c.Head) {
		return nil, ""
	}
	sample := c.Head[:min(len(c.Head), binarySample)]
	kind = mimetype.Detect(sample).String()
	if strings.HasPrefix(kind, "text/") {
		kind = "application/octet-stream"
	}
	d := map[string]any{"binary": true, "content_type": kind, "bytes": c.TotalBytes}
	if c.Digest == nil && c.Lost == 0 {
		sum := sha256.Sum256(c.Head)
		c.Digest = sum[:]
	}
	if c.Digest != nil {
		d["sha256"] = hex.EncodeToString(c.Digest)
	}
	return jsonAny(d), kind
}
