package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var b bytes.Buffer
	if err := canonicalValue(d, &b, "", 0); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text follows the JSON value at byte %d", d.InputOffset())
	}
	return b.Bytes(), nil
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

func canonicalValue(d *json.Decoder, b *bytes.Buffer, path string, depth int) error {
	if depth > maxArgsDepth {
		return fmt.Errorf("nested deeper than %d levels at %s", maxArgsDepth, path)
	}
	tok, err := d.Token()
	if err != nil {
		return err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '[' {
			return canonicalArray(d, b, path, depth+1)
		}
		return canonicalObject(d, b, path, depth+1)
	case string:
		s, err := marshal(t)
		if err != nil {
			return err
		}
		b.Write(s)
	case json.Number:
		b.WriteString(t.String())
	case bool:
		fmt.Fprint(b, t)
	case nil:
		b.WriteString("null")
	}
	return nil
}

func canonicalArray(d *json.Decoder, b *bytes.Buffer, path string, depth int) error {
	b.WriteByte('[')
	for i := 0; d.More(); i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := canonicalValue(d, b, path+"/"+strconv.Itoa(i), depth); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	_, err := d.Token()
	return err
}

func canonicalObject(d *json.Decoder, b *bytes.Buffer, path string, depth int) error {
	members := map[string]json.RawMessage{}
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		at := path + "/" + escapePointer(key)
		if _, twice := members[key]; twice {
			return &duplicateKey{at}
		}
		var v bytes.Buffer
		if err := canonicalValue(d, &v, at, depth); err != nil {
			return err
		}
		members[key] = v.Bytes()
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	keys := make([]string, 0, len(members))
	for k := range members {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(k)
		if err != nil {
			return err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(members[k])
	}
	b.WriteByte('}')
	return nil
}

// escapePointer writes one step of a JSON pointer.
func escapePointer(step string) string { return pointerEscapes.Replace(step) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
