package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// maxDepth bounds the nesting of values in both directions, so that neither a
// tool's output nor a playbook can exhaust the stack.
const maxDepth = 200

// fromJSON turns one JSON text into a frozen Starlark value.
//
// Objects become object (fields by attribute or by index, in the order
// written), arrays lists, integers ints of any size. A number with a fraction
// or an exponent becomes a float if that float's shortest text is the same
// number (so every sum of money with up to 15 digits does); otherwise it stays
// a string of the digits as written, since a number that silently changed is
// worse than one that must be handled.
func fromJSON(text []byte) (starlark.Value, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := decodeValue(dec, text, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	v.Freeze()
	return v, nil
}

func decodeValue(dec *json.Decoder, text []byte, depth int) (starlark.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("JSON nested deeper than %d", maxDepth)
	}
	tok, err := dec.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(t), nil
	case string:
		return starlark.String(t), nil
	case json.Number:
		return number(string(t)), nil
	}
	if tok == json.Delim('[') {
		var elems []starlark.Value
		for dec.More() {
			v, err := decodeValue(dec, text, depth+1)
			if err != nil {
				return nil, err
			}
			elems = append(elems, v)
		}
		_, err := dec.Token()
		return starlark.NewList(elems), err
	}
	start := dec.InputOffset() - 1
	fields := new(starlark.Dict)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeValue(dec, text, depth+1)
		if err != nil {
			return nil, err
		}
		if err := fields.SetKey(starlark.String(key.(string)), v); err != nil {
			return nil, err
		}
	}
	_, err = dec.Token()
	return &object{fields: fields, raw: text[start:dec.InputOffset()]}, err
}

// number converts a JSON number as fromJSON says.
func number(text string) starlark.Value {
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return starlark.MakeInt64(i)
		}
		if i, ok := new(big.Int).SetString(text, 10); ok {
			return starlark.MakeBigInt(i)
		}
		return starlark.String(text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return starlark.String(text) // out of range
	}
	if short := strconv.FormatFloat(f, 'e', -1, 64); sameNumber(short, text) {
		return starlark.Float(f)
	}
	return starlark.String(text)
}

// sameNumber compares two decimal texts as numbers, by digits and exponent: an
// exponent of a million costs nothing.
func sameNumber(a, b string) bool {
	digitsA, expA := scientific(a)
	digitsB, expB := scientific(b)
	return digitsA == digitsB && (expA == expB || digitsA == "")
}

// scientific splits a JSON number into its sign and significant digits, and the
// power of ten of the last of these. Zero has no digits.
func scientific(text string) (digits string, exp int) {
	sign := ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = "-", rest
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	exp, _ = strconv.Atoi(power)
	whole, frac, _ := strings.Cut(mantissa, ".")
	exp -= len(frac)
	digits = strings.TrimLeft(whole+frac, "0")
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	if trimmed == "" {
		return "", 0
	}
	return sign + trimmed, exp
}

// object is a JSON object: a frozen dict whose fields can be read as
// attributes too. A field hides a method of the same name (many APIs answer
// {"items": [...]}); o["x"], "x" in o and dict(o) always mean the fields.
type object struct {
	fields *starlark.Dict
	raw    []byte // as written, for passing it on unchanged
}

var (
	_ starlark.IterableMapping = (*object)(nil)
	_ starlark.Sequence        = (*object)(nil)
	_ starlark.HasAttrs        = (*object)(nil)
	_ starlark.Comparable      = (*object)(nil)
)

func (o *object) String() string          { return o.fields.String() }
func (o *object) Type() string            { return "object" }
func (o *object) Freeze()                 { o.fields.Freeze() }
func (o *object) Truth() starlark.Bool    { return o.fields.Truth() }
func (o *object) Hash() (uint32, error)   { return 0, errors.New("unhashable type: object") }
func (o *object) Len() int                { return o.fields.Len() }
func (o *object) Items() []starlark.Tuple { return o.fields.Items() }

func (o *object) Iterate() starlark.Iterator { return o.fields.Iterate() }

func (o *object) Get(k starlark.Value) (starlark.Value, bool, error) { return o.fields.Get(k) }

func (o *object) Attr(name string) (starlark.Value, error) {
	v, found, err := o.fields.Get(starlark.String(name))
	if found || err != nil {
		return v, err
	}
	switch name {
	case "get", "items", "keys", "values":
		return o.fields.Attr(name)
	}
	return nil, nil
}

func (o *object) AttrNames() []string {
	names := make([]string, 0, o.fields.Len())
	for k := range o.fields.Entries() {
		names = append(names, string(k.(starlark.String)))
	}
	return names
}

func (o *object) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return o.fields.CompareSameType(op, y.(*object).fields, depth)
}

// toJSON writes a Starlark value as compact JSON, dicts in the order that the
// author wrote them. Beyond JSON's types it takes tuples and sets (arrays), and
// the records of a session (their fields). maxBytes bounds the output.
func toJSON(v starlark.Value, maxBytes int) (json.RawMessage, error) {
	e := encoder{max: maxBytes}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return e.buf.Bytes(), nil
}

type encoder struct {
	buf bytes.Buffer
	max int
}

func (e *encoder) value(v starlark.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("value nested deeper than %d, or in itself", maxDepth)
	}
	if e.buf.Len() > e.max {
		return fmt.Errorf("value is larger than %d bytes", e.max)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		e.buf.WriteString("null")
	case starlark.Bool:
		e.buf.WriteString(strconv.FormatBool(bool(v)))
	case starlark.Int:
		e.buf.WriteString(v.String())
	case starlark.Float:
		text, err := json.Marshal(float64(v))
		if err != nil {
			return fmt.Errorf("%s is not a JSON number", v)
		}
		e.buf.Write(text)
	case starlark.String:
		return e.text(string(v))
	case starlark.Bytes:
		return errors.New("bytes have no JSON form")
	case *object:
		if err := json.Compact(&e.buf, v.raw); err != nil {
			return err
		}
	case starlark.IterableMapping:
		return e.mapping(v.Items(), depth)
	case starlark.Iterable:
		return e.list(v, depth)
	case *record:
		items, err := v.items()
		if err != nil {
			return err
		}
		return e.mapping(items, depth)
	case *item:
		if v.kind != itemCall {
			return fmt.Errorf("%s has no JSON form", v.Type())
		}
		return e.mapping([]starlark.Tuple{
			{starlark.String("tool"), starlark.String(v.calls[0].Tool)},
			{starlark.String("args"), &object{raw: v.calls[0].Args}},
		}, depth)
	default:
		return fmt.Errorf("%s has no JSON form", v.Type())
	}
	return nil
}

func (e *encoder) text(s string) error {
	enc := json.NewEncoder(&e.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	e.buf.Truncate(e.buf.Len() - 1) // the encoder's newline
	return nil
}

func (e *encoder) mapping(items []starlark.Tuple, depth int) error {
	e.buf.WriteByte('{')
	for i, item := range items {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		key, ok := starlark.AsString(item[0])
		if !ok {
			return fmt.Errorf("key %s is a %s, want string", item[0], item[0].Type())
		}
		if err := e.text(key); err != nil {
			return err
		}
		e.buf.WriteByte(':')
		if err := e.value(item[1], depth+1); err != nil {
			return fmt.Errorf("in %q: %w", key, err)
		}
	}
	e.buf.WriteByte('}')
	return nil
}

func (e *encoder) list(v starlark.Iterable, depth int) error {
	e.buf.WriteByte('[')
	it := v.Iterate()
	defer it.Done()
	var elem starlark.Value
	for i := 0; it.Next(&elem); i++ {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		if err := e.value(elem, depth+1); err != nil {
			return fmt.Errorf("at %d: %w", i, err)
		}
	}
	e.buf.WriteByte(']')
	return nil
}
