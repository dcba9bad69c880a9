package declared

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"baton/internal/definition"
	"baton/internal/tools"
)

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// values are what templates name: the arguments of a call, its idempotency key,
// and for an undo what the call brought.
type values map[string]any

// read reads the arguments of a call, numbers as they are written.
func read(args json.RawMessage, key string) (values, error) {
	v := values{}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	v[definition.TemplateKey] = key
	return v, nil
}

// at is the value at a path with dots; false if nothing is there.
func (v values) at(path string) (any, bool) {
	var found any = map[string]any(v)
	for step := range strings.SplitSeq(path, ".") {
		object, ok := found.(map[string]any)
		if !ok {
			return nil, false
		}
		if found, ok = object[step]; !ok || found == nil {
			return nil, false
		}
	}
	return found, true
}

// text fills a template in; false if a value that it names is not there. escape is
// what becomes of each value.
func (v values) text(template string, escape func(string) string) (string, bool) {
	whole := true
	out := placeholder.ReplaceAllStringFunc(template, func(m string) string {
		found, ok := v.at(m[1 : len(m)-1])
		whole = whole && ok
		return escape(plain(found))
	})
	return out, whole
}

// plain is a value as text: texts as they are, all else as JSON.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func asIs(s string) string { return s }

// json fills in all texts of a value. One that is a placeholder and nothing else
// becomes the value itself, with its type; what names a missing value is left out.
func (v values) json(template any) (any, bool) {
	switch t := template.(type) {
	case string:
		if m := placeholder.FindString(t); m == t && m != "" {
			return v.at(m[1 : len(m)-1])
		}
		return v.text(t, asIs)
	case []any:
		list := []any{}
		for _, e := range t {
			if filled, ok := v.json(e); ok {
				list = append(list, filled)
			}
		}
		return list, true
	case map[string]any:
		object := map[string]any{}
		for name, e := range t {
			if filled, ok := v.json(e); ok {
				object[name] = filled
			}
		}
		return object, true
	}
	return template, true
}

// query fills in parameters of an address or a form.
func (v values) query(templates map[string]string) url.Values {
	q := url.Values{}
	for name, template := range templates {
		if s, ok := v.text(template, asIs); ok {
			q.Set(name, s)
		}
	}
	return q
}

// address fills in an address. A value can't leave its place in the path: one that
// servers read as a step up, or as several steps, is refused.
func (v values) address(template string, query map[string]string) (string, error) {
	var bad string
	filled, whole := v.text(template, func(s string) string {
		if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\\\x00") {
			bad = s
		}
		return url.PathEscape(s)
	})
	switch {
	case bad != "":
		return "", tools.Fail(tools.InvalidArguments, fmt.Sprintf("%q can't stand in the address of the request.", bad), "Give the bare id or name, without slashes.")
	case !whole || strings.Contains(filled, "//") && strings.Count(filled, "//") > 1:
		return "", tools.Fail(tools.InvalidArguments, "A value that stands in the address of the request is empty.", "Give each of them.")
	}
	if q := v.query(query).Encode(); q != "" {
		filled += "?" + q
	}
	return filled, nil
}
