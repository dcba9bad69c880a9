package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"baton/internal/problem"
)

// maxDepth is how deep lists and objects in a body may stand in one another.
const maxDepth = 32

// body reads the request's body into the struct that into points to, and
// returns it as it came. Problems: media_type_unsupported, too_large,
// body_missing, json_malformed, json_too_deep, and, each at its field,
// field_repeated, field_unknown, field_type.
func (q Request) body(into any) ([]byte, error) {
	text, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if len(text) == 0 {
		return nil, problem.New(problem.Malformed, "body_missing", nil)
	}
	kind, params, err := mime.ParseMediaType(q.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	if err != nil || kind != "application/json" || charset != "" && charset != "utf-8" {
		return nil, problem.New(problem.Malformed, "media_type_unsupported", nil).At("Content-Type")
	}
	return text, decode(text, into)
}

// noBody refuses a body where none is taken. An empty object is none.
func (q Request) noBody() error {
	text, err := io.ReadAll(q.Body)
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if len(text) == 0 {
		return nil
	}
	return decode(text, &struct{}{})
}

// decode is two passes: what may be a fault of any JSON, and what may be one of
// this JSON. Names are compared as they are written: Go's own way of taking
// "Task" for "task" would let one document mean two things.
func decode(text []byte, into any) error {
	if err := scan(text); err != nil {
		return err
	}
	err := json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	if fault, ok := errors.AsType[*json.SemanticError](err); ok {
		return semantic(fault)
	}
	if err != nil {
		return problem.Wrap(err, problem.Malformed, "json_malformed", problem.Params{"at": len(text)})
	}
	return nil
}

// scan checks that text is one JSON value, not too deep, in which no object has
// a key twice, not even in another case: which of the two would count depends
// on who reads it.
func scan(text []byte) error {
	d := jsontext.NewDecoder(strings.NewReader(string(text)))
	var objects []map[string]bool // the keys seen in each value that is open; nil for a list
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) && d.StackDepth() == 0 && d.InputOffset() > 0 {
			return nil
		}
		if err != nil {
			return syntactic(err, d.InputOffset())
		}
		switch token.Kind() {
		case '{':
			objects = append(objects, map[string]bool{})
		case '[':
			objects = append(objects, nil)
		case '}', ']':
			objects = objects[:len(objects)-1]
		case '"':
			// Keys are the odd tokens of an object.
			if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
				key := fold(token.String())
				seen := objects[len(objects)-1]
				if seen[key] {
					return repeated(d.StackPointer())
				}
				seen[key] = true
			}
		}
		if len(objects) > maxDepth {
			return problem.New(problem.Malformed, "json_too_deep", problem.Params{"most": maxDepth}).At(string(d.StackPointer()))
		}
		if d.StackDepth() == 0 {
			if rest := strings.TrimLeft(string(text[d.InputOffset():]), " \t\r\n"); rest != "" {
				return problem.New(problem.Malformed, "json_malformed", problem.Params{"at": len(text) - len(rest)})
			}
			return nil
		}
	}
}

// fold is s without the difference between capital and small letters.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

func repeated(at jsontext.Pointer) error {
	return problem.New(problem.Invalid, "field_repeated", problem.Params{"name": shown(at.LastToken())}).At(string(at))
}

func syntactic(err error, offset int64) error {
	if fault, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(fault, jsontext.ErrDuplicateName) {
			return repeated(fault.JSONPointer)
		}
		offset = fault.ByteOffset
		return problem.Wrap(err, problem.Malformed, "json_malformed", problem.Params{"at": offset}).At(string(fault.JSONPointer))
	}
	return problem.Wrap(err, problem.Malformed, "json_malformed", problem.Params{"at": offset})
}

func semantic(fault *json.SemanticError) error {
	at := fault.JSONPointer
	if errors.Is(fault.Err, json.ErrUnknownName) {
		return problem.Wrap(fault, problem.Invalid, "field_unknown",
			problem.Params{"name": shown(at.LastToken()), "known": strings.Join(fields(fault.GoType), ", ")}).At(string(at))
	}
	return problem.Wrap(fault, problem.Invalid, "field_type",
		problem.Params{"expected": typeName(fault.GoType), "got": kindName(fault.JSONKind)}).At(string(at))
}

// shown is a name of the client's, short enough for a sentence.
func shown(name string) string {
	if r := []rune(name); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return name
}

// fields are the names that a struct knows.
func fields(t reflect.Type) (names []string) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// typeName is what JSON calls what fits a type of Go.
func typeName(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "another value"
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return "nothing"
}

// missing is the problem of a field that must be there.
func missing(pointer string) error {
	return problem.New(problem.Invalid, "field_missing", problem.Params{"name": strings.TrimPrefix(pointer, "/")}).At(pointer)
}

// inBody makes the field that a verb's problem names a JSON pointer into the
// body: verbs know fields, and not where a client wrote them.
func inBody(err error) error {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || p.Field == "" || strings.HasPrefix(p.Field, "/") || isHeader(p.Field) {
		return err
	}
	return p.At("/" + p.Field)
}

// isHeader says whether a field is a header: those begin with a capital.
func isHeader(field string) bool { return field != "" && field == http.CanonicalHeaderKey(field) }
