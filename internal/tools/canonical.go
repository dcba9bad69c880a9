package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a call's arguments.
const (
	MaxArgs      = 256 << 10 // bytes
	maxArgsDepth = 64
)

// canonical is JSON with its object keys sorted and its space removed. Numbers
// and strings stay as written, to the byte, since folding numbers merges order
// ids such as 9007199254740993 and 9007199254740992. A key that stands twice in
// one object is an error: which of the two would run is anybody's guess.
//
// What comes out is what runs, so that nobody approves one text and runs another.
func canonical(doc json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(doc) {
		return nil, invalidJSON(doc)
	}
	w := canonicalWriter{doc: doc, out: make([]byte, 0, len(doc)), path: make([]step, 0, 4), members: make([]rawMember, 0, 8)}
	if _, err := w.value(w.skip(0)); err != nil {
		return nil, err
	}
	return w.out, nil
}

// invalidJSON says what is wrong with a text that is no JSON, and where.
func invalidJSON(doc json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	var v json.RawMessage
	if err := d.Decode(&v); err != nil {
		return err
	}
	return fmt.Errorf("text follows the JSON value at byte %d", d.InputOffset())
}

// canonicalOr is the canonical form, or doc itself where there is none.
func canonicalOr(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return nil
	}
	c, err := canonical(doc)
	if err != nil {
		return doc
	}
	return c
}

// duplicateKey is the error for a key that stands twice.
type duplicateKey struct{ path string }

func (e *duplicateKey) Error() string { return "key " + e.path + " stands twice" }

// canonicalWriter takes a valid document apart where it lies: a decoder makes an
// object of every token, and this is done for each call, several times.
type canonicalWriter struct {
	doc     json.RawMessage
	out     []byte
	path    []step      // to where one is
	members []rawMember // of the objects on it, one after the other
	spare   []byte
}

// step is one of a path's. A path is told only in errors.
type step struct {
	key []byte // of a member; nil: an element
	n   int    // of an element
}

// rawMember is one of an object's: its key, and where it was written to.
type rawMember struct {
	key      []byte
	from, to int
}

func (w *canonicalWriter) where() string {
	var b strings.Builder
	for _, s := range w.path {
		b.WriteByte('/')
		if s.key == nil {
			b.WriteString(strconv.Itoa(s.n))
		} else {
			b.WriteString(escapePointer(string(s.key)))
		}
	}
	return b.String()
}

func (w *canonicalWriter) skip(i int) int {
	for i < len(w.doc) && (w.doc[i] == ' ' || w.doc[i] == '\n' || w.doc[i] == '\t' || w.doc[i] == '\r') {
		i++
	}
	return i
}

// value writes the value that begins at i and returns where it ends.
func (w *canonicalWriter) value(i int) (int, error) {
	if len(w.path) > maxArgsDepth {
		return 0, fmt.Errorf("nested deeper than %d levels at %s", maxArgsDepth, w.where())
	}
	switch w.doc[i] {
	case '[':
		return w.array(i)
	case '{':
		return w.object(i)
	case '"':
		end := stringEnd(w.doc, i)
		w.out = appendText(w.out, w.doc[i:end])
		return end, nil
	}
	end := i
	for end < len(w.doc) && strings.IndexByte(",]} \n\t\r", w.doc[end]) < 0 {
		end++
	}
	w.out = append(w.out, w.doc[i:end]...)
	return end, nil
}

// below writes the value that begins at i, one step down.
func (w *canonicalWriter) below(i int, s step) (end int, err error) {
	w.path = append(w.path, s)
	end, err = w.value(i)
	if err == nil {
		w.path = w.path[:len(w.path)-1]
	}
	return end, err
}

func (w *canonicalWriter) array(i int) (int, error) {
	w.out = append(w.out, '[')
	i = w.skip(i + 1)
	for n := 0; w.doc[i] != ']'; n++ {
		if n > 0 {
			w.out = append(w.out, ',')
		}
		end, err := w.below(i, step{n: n})
		if err != nil {
			return 0, err
		}
		if i = w.skip(end); w.doc[i] == ',' {
			i = w.skip(i + 1)
		}
	}
	w.out = append(w.out, ']')
	return i + 1, nil
}

// object writes the members in the order in which they stand, and anew if that
// isn't the order of their keys.
func (w *canonicalWriter) object(i int) (int, error) {
	first, begin, sorted := len(w.members), len(w.out), true
	w.out = append(w.out, '{')
	i = w.skip(i + 1)
	for w.doc[i] != '}' {
		if len(w.members) > first {
			w.out = append(w.out, ',')
		}
		end := stringEnd(w.doc, i)
		key, err := textOf(w.doc[i:end])
		if err != nil {
			return 0, err
		}
		from := len(w.out)
		w.out = append(appendText(w.out, w.doc[i:end]), ':')
		i, err = w.below(w.skip(w.skip(end)+1), step{key: key}) // over the colon
		if err != nil {
			return 0, err
		}
		sorted = sorted && (len(w.members) == first || bytes.Compare(w.members[len(w.members)-1].key, key) < 0)
		w.members = append(w.members, rawMember{key, from, len(w.out)})
		if i = w.skip(i); w.doc[i] == ',' {
			i = w.skip(i + 1)
		}
	}
	w.out = append(w.out, '}')
	members := w.members[first:]
	w.members = w.members[:first]
	if sorted {
		return i + 1, nil
	}
	return i + 1, w.sort(begin, members)
}

// sort puts what was written of an object from begin on in the order of its keys.
func (w *canonicalWriter) sort(begin int, members []rawMember) error {
	slices.SortFunc(members, func(a, b rawMember) int { return bytes.Compare(a.key, b.key) })
	if w.spare == nil {
		w.spare = make([]byte, 0, len(w.doc))
	}
	w.spare = append(w.spare[:0], w.out[begin:]...)
	w.out = w.out[:begin+1]
	for n, m := range members {
		if n > 0 {
			if bytes.Equal(m.key, members[n-1].key) {
				w.path = append(w.path, step{key: m.key})
				return &duplicateKey{w.where()}
			}
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, w.spare[m.from-begin:m.to-begin]...)
	}
	w.out = append(w.out, '}')
	return nil
}

// stringEnd is where the string that begins at i ends, after its quote.
func stringEnd(doc json.RawMessage, i int) int {
	for i++; doc[i] != '"'; i++ {
		if doc[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// plainText says of a string in its quotes that it is written in one way only.
func plainText(quoted json.RawMessage) bool {
	for _, c := range quoted {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

func textOf(quoted json.RawMessage) ([]byte, error) {
	if plainText(quoted) {
		return quoted[1 : len(quoted)-1], nil
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return []byte(s), err
}

// appendText writes a string as all of its spellings are written.
func appendText(out []byte, quoted json.RawMessage) []byte {
	if plainText(quoted) {
		return append(out, quoted...)
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil { // cannot be: the document is valid
		return append(out, quoted...)
	}
	return append(out, jsonString(s)...)
}

// escapePointer writes one step of a JSON pointer.
func escapePointer(step string) string { return pointerEscapes.Replace(step) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
