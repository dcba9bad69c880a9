package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	w := canonicalWriters.Get().(*canonicalWriter)
	defer canonicalWriters.Put(w)
	*w = canonicalWriter{doc: doc, out: make([]byte, 0, len(doc)), members: w.members[:0], spare: w.spare}
	switch _, err := w.value(w.skip(0), 0); {
	case errors.Is(err, errTwice):
		return nil, &duplicateKey{w.where()}
	case err != nil:
		return nil, fmt.Errorf("%w at %s", err, w.where())
	}
	return w.out, nil
}

// canonicalWriters keep their room for members.
var canonicalWriters = sync.Pool{New: func() any { return new(canonicalWriter) }}

// form is a call's arguments in canonical form, or why they have none.
type form struct {
	doc json.RawMessage
	err error
}

func formOf(args []byte) form {
	doc, err := canonical(args)
	return form{doc, err}
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

var (
	errTwice = errors.New("a key stands twice")
	errDeep  = fmt.Errorf("nested deeper than %d levels", maxArgsDepth)
)

// canonicalWriter takes a valid document apart where it lies: a decoder makes an
// object of every token, and this is done for each call, several times.
type canonicalWriter struct {
	doc     json.RawMessage
	out     []byte
	path    []step      // to what is wrong, from there to the root
	members []rawMember // of the objects that are open, one after the other
	spare   []byte
}

// step is one of a path's.
type step struct {
	key []byte // of a member; nil: an element
	n   int    // of an element
}

// rawMember is where one of an object's members was written: its key, in quotes,
// from from to colon, and all of it to to.
type rawMember struct{ from, colon, to int }

// key is the key as it is written. A key is written in one way only, so that two
// are the same if they are written the same.
func (m rawMember) key(out []byte) []byte { return out[m.from+1 : m.colon-1] }

func (w *canonicalWriter) where() string {
	var b strings.Builder
	for _, s := range slices.Backward(w.path) {
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
func (w *canonicalWriter) value(i, depth int) (int, error) {
	if depth > maxArgsDepth {
		return 0, errDeep
	}
	switch w.doc[i] {
	case '[':
		return w.array(i, depth)
	case '{':
		return w.object(i, depth)
	case '"':
		return w.text(i), nil
	}
	end := i
	for end < len(w.doc) && strings.IndexByte(",]} \n\t\r", w.doc[end]) < 0 {
		end++
	}
	w.out = append(w.out, w.doc[i:end]...)
	return end, nil
}

func (w *canonicalWriter) array(i, depth int) (int, error) {
	w.out = append(w.out, '[')
	i = w.skip(i + 1)
	for n := 0; w.doc[i] != ']'; n++ {
		if n > 0 {
			w.out = append(w.out, ',')
		}
		end, err := w.value(i, depth+1)
		if err != nil {
			w.path = append(w.path, step{n: n})
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
func (w *canonicalWriter) object(i, depth int) (int, error) {
	first, begin, sorted := len(w.members), len(w.out), true
	w.out = append(w.out, '{')
	i = w.skip(i + 1)
	for w.doc[i] != '}' {
		if len(w.members) > first {
			w.out = append(w.out, ',')
		}
		m := rawMember{from: len(w.out)}
		end := w.text(i)
		m.colon = len(w.out)
		w.out = append(w.out, ':')
		end, err := w.value(w.skip(w.skip(end)+1), depth+1) // over the colon
		if err != nil {
			w.path = append(w.path, w.stepOf(m, w.out))
			return 0, err
		}
		m.to = len(w.out)
		sorted = sorted && (len(w.members) == first || bytes.Compare(w.members[len(w.members)-1].key(w.out), m.key(w.out)) < 0)
		w.members = append(w.members, m)
		if i = w.skip(end); w.doc[i] == ',' {
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

// text writes the string that begins at i as all of its spellings are written,
// and returns where it ends.
func (w *canonicalWriter) text(i int) int {
	end, plain := stringEnd(w.doc, i)
	quoted := w.doc[i:end]
	if !plain {
		if text, err := textOf(quoted); err == nil { // it can't fail: the document is valid
			quoted = jsonString(string(text))
		}
	}
	w.out = append(w.out, quoted...)
	return end
}

// stepOf is the step to a member that was written to out.
func (w *canonicalWriter) stepOf(m rawMember, out []byte) step {
	key, _ := textOf(out[m.from:m.colon]) // it is valid
	return step{key: append([]byte{}, key...)}
}

// sort puts what was written of an object from begin on in the order of its keys.
func (w *canonicalWriter) sort(begin int, members []rawMember) error {
	w.spare = append(w.spare[:0], w.out[begin:]...)
	for i := range members {
		members[i].from, members[i].colon, members[i].to = members[i].from-begin, members[i].colon-begin, members[i].to-begin
	}
	slices.SortFunc(members, func(a, b rawMember) int { return bytes.Compare(a.key(w.spare), b.key(w.spare)) })
	w.out = w.out[:begin+1]
	for n, m := range members {
		if n > 0 {
			if bytes.Equal(m.key(w.spare), members[n-1].key(w.spare)) {
				w.path = append(w.path, w.stepOf(m, w.spare))
				return errTwice
			}
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, w.spare[m.from:m.to]...)
	}
	w.out = append(w.out, '}')
	return nil
}

// stringEnd is where the string that begins at i ends, after its quote, and
// whether it can be written in one way only.
func stringEnd(doc json.RawMessage, i int) (end int, plain bool) {
	plain = true
	for i++; doc[i] != '"'; i++ {
		if doc[i] == '\\' {
			i++
			plain = false
		}
		plain = plain && doc[i] < 0x80
	}
	return i + 1, plain
}

// textOf is what a string in its quotes says.
func textOf(quoted json.RawMessage) ([]byte, error) {
	if _, plain := stringEnd(quoted, 0); plain {
		return quoted[1 : len(quoted)-1], nil
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return []byte(s), err
}

// escapePointer writes one step of a JSON pointer.
func escapePointer(step string) string { return pointerEscapes.Replace(step) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
