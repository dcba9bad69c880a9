package clean

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// MaxDepth is how deep JSON may nest; what lies deeper is replaced by a
// sentence. Postgres and browsers bear more, readers do not.
const MaxDepth = 64

// JSON cleans every string and key of a JSON document, keeps numbers as they are
// written, and cuts what nests deeper than MaxDepth. Keys that become equal are
// told apart by a number. The error says that doc is not JSON.
func JSON(doc json.RawMessage) (json.RawMessage, error) {
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
			name = key + " (" + strconv.Itoa(seen[key]) + ")"
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
