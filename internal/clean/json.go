package clean

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// MaxDepth is how deep JSON may nest; what lies deeper is replaced by a
// sentence. Postgres and browsers bear more, readers do not.
const MaxDepth = 64

// JSON cleans every string and key of a JSON document, keeps numbers as they are
// written, and cuts what nests deeper than MaxDepth. Keys that become equal are
// told apart by a number. The error says that doc is not JSON.
func JSON(doc json.RawMessage) (json.RawMessage, error) {
	if json.Valid(doc) && isClean(string(doc)) {
		return withoutSpace(doc), nil
	}
	return rewritten(doc)
}

// withoutSpace is valid JSON without the space between its values. A document
// that has none is returned as it is.
func withoutSpace(doc json.RawMessage) json.RawMessage {
	var out []byte // nil: all up to from is kept
	from := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			for i++; doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case ' ', '\n', '\t', '\r':
			if out == nil {
				out = make([]byte, 0, len(doc))
			}
			out = append(out, doc[from:i]...)
			from = i + 1
		}
	}
	if out == nil {
		return doc[:len(doc):len(doc)]
	}
	return append(out, doc[from:]...)
}

// rewritten is the document written anew, piece by piece.
func rewritten(doc json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(doc, []byte("\uFFFD"))))
	d.UseNumber()
	var b bytes.Buffer
	b.Grow(len(doc))
	if err := value(d, &b, 0); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the JSON value")
	}
	return b.Bytes(), nil
}

// clearKeys is up to how many keys of one object are compared with each other
// on the quick way.
const clearKeys = 64

// isClean says of valid JSON that only space between its values has to go, as of
// most documents: then it needn't be taken apart, which takes ten times as long.
// A string with an escape is not looked into.
func isClean(doc string) bool {
	type container struct {
		object bool
		keys   int // where its keys begin
	}
	open, keys := make([]container, 0, 8), make([]string, 0, 32)
	key := false // the next string is one
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '{', '[':
			if len(open) == MaxDepth {
				return false
			}
			key = doc[i] == '{'
			open = append(open, container{key, len(keys)})
		case '}', ']':
			keys = keys[:open[len(open)-1].keys]
			open = open[:len(open)-1]
		case ',':
			key = open[len(open)-1].object
		case ':':
			key = false
		case '"':
			end := i + 1
			for doc[end] != '"' {
				if doc[end] == '\\' {
					return false
				}
				end++
			}
			s := doc[i+1 : end]
			i = end
			// Separators of lines are no ASCII, and written as escapes.
			if !letters(s) && (Text(s) != s || strings.ContainsAny(s, "\u2028\u2029")) {
				return false
			}
			if !key {
				continue
			}
			others := keys[open[len(open)-1].keys:]
			if len(others) == clearKeys || slices.Contains(others, s) || (!letters(s) || strings.Contains(s, " ")) && Line(s) != s {
				return false
			}
			keys = append(keys, s)
		}
	}
	return true
}

// letters says of a text of printable ASCII and of letters that hide nothing that
// it is clean: those of Latin, and the unified ideographs.
func letters(s string) bool {
	for _, r := range s {
		if r < 0x20 || r >= 0x7f && r < 0xc0 || r > 0x24f && (r < 0x4e00 || r > 0x9fff) {
			return false
		}
	}
	return true
}

func value(d *json.Decoder, b *bytes.Buffer, depth int) error {
	tok, err := d.Token()
	if err != nil {
		return err
	}
	switch t := tok.(type) {
	case json.Delim:
		if depth >= MaxDepth {
			writeString(b, "(nested too deep to show)")
			return skip(d)
		}
		b.WriteString(t.String())
		if t == '[' {
			return elements(d, b, depth)
		}
		return members(d, b, depth)
	case string:
		writeString(b, Text(t))
	case json.Number:
		b.WriteString(t.String())
	case bool:
		b.WriteString(strconv.FormatBool(t))
	default:
		b.WriteString("null")
	}
	return nil
}

func elements(d *json.Decoder, b *bytes.Buffer, depth int) error {
	for i := 0; d.More(); i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := value(d, b, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	_, err := d.Token()
	return err
}

func members(d *json.Decoder, b *bytes.Buffer, depth int) error {
	seen := map[string]int{}
	for i := 0; d.More(); i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		tok, err := d.Token()
		if err != nil {
			return err
		}
		key := Line(tok.(string)) // a key is always a string, or Token had failed
		name := key
		for seen[name] > 0 {
			seen[key]++
			name = strings.TrimSpace(key + " (" + strconv.Itoa(seen[key]) + ")") // key may be empty
		}
		seen[name]++
		writeString(b, name)
		b.WriteByte(':')
		if err := value(d, b, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	_, err := d.Token()
	return err
}

// skip reads past the array or object whose opening was just read, without
// recursion: the depth is an attacker's.
func skip(d *json.Decoder) error {
	for depth := 1; depth > 0; {
		tok, err := d.Token()
		if err != nil {
			return err
		}
		switch tok {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}

func writeString(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)         // a string always encodes
	b.Truncate(b.Len() - 1) // the newline that Encode adds
}
