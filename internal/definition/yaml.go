package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"baton/internal/permission"
)

// maxFileBytes bounds a definition, a playbook and baton.yaml each.
const maxFileBytes = 256 << 10

// reader walks a YAML document and collects every fault on its way. It reads
// nodes, not structs: a decoder into structs can't say the line of an unknown
// key, stops at the first fault and turns 010 into 8.
type reader struct {
	file   string
	faults Faults
	// expand replaces ${NAME} in texts; nil leaves them alone.
	expand func(text string) (string, error)
}

// read reads the value at a path.
type read = func(n *yaml.Node, path string)

// document returns the one document's root mapping, or nil with a fault.
func (r *reader) document(source []byte) *yaml.Node {
	refuse := func(reason string) *yaml.Node {
		r.faults = append(r.faults, Fault{File: r.file, Reason: reason})
		return nil
	}
	switch {
	case len(source) > maxFileBytes:
		return refuse(fmt.Sprintf("the file has %d bytes, more than %d", len(source), maxFileBytes))
	case !utf8.Valid(source):
		return refuse("the file is not UTF-8")
	}
	dec := yaml.NewDecoder(bytes.NewReader(source))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return refuse("the file is empty")
	} else if err != nil {
		r.faults = append(r.faults, syntaxFault(r.file, err))
		return nil
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		r.refuse(&second, "", Fault{Reason: "a second document begins here; one file is one definition"})
	} else if !errors.Is(err, io.EOF) {
		r.faults = append(r.faults, syntaxFault(r.file, err))
	}
	return doc.Content[0]
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// syntaxFault takes the line out of the parser's message, which is the only
// place where it is.
func syntaxFault(file string, err error) Fault {
	f := Fault{File: file, Reason: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Reason = err.Error()[len(m[0]):]
		if strings.HasPrefix(f.Reason, "did not find expected") {
			f.Line++ // the library counts these from 0, all others from 1
		}
	}
	f.Reason = "not YAML: " + f.Reason
	return f
}

// refuse adds a fault at a node.
func (r *reader) refuse(n *yaml.Node, path string, f Fault) {
	f.File, f.Path = r.file, path
	if n != nil {
		f.Line, f.Column = n.Line, n.Column
	}
	r.faults = append(r.faults, f)
}

// want adds the fault "want expected, got what stands there".
func (r *reader) want(n *yaml.Node, path, expected string) {
	r.refuse(n, path, Fault{Expected: expected, Got: shown(n)})
}

func shown(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	}
	text := n.Value
	if len([]rune(text)) > 40 {
		text = string([]rune(text)[:40]) + "…"
	}
	return strconv.Quote(text)
}

// resolve follows an alias to what it names.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// mapping reads a mapping with known keys and returns the keys that it has.
func (r *reader) mapping(n *yaml.Node, path string, keys map[string]read) map[string]*yaml.Node {
	names := slices.Sorted(maps.Keys(keys))
	return r.entries(n, path, func(key, value *yaml.Node, keyPath string) {
		if fn, ok := keys[key.Value]; ok {
			fn(value, keyPath)
			return
		}
		f := Fault{Reason: "this key is not known", Nearest: nearest(key.Value, names)}
		if f.Nearest == "" {
			f.Reason += "; there are " + listed(names)
		}
		r.refuse(key, keyPath, f)
	})
}

// entries calls fn for each key of a mapping, once.
func (r *reader) entries(n *yaml.Node, path string, fn func(key, value *yaml.Node, keyPath string)) map[string]*yaml.Node {
	n = resolve(n)
	seen := map[string]*yaml.Node{}
	if n.Kind != yaml.MappingNode {
		r.want(n, path, "a mapping (key: value)")
		return seen
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			r.want(key, path, "a name as key")
			continue
		}
		keyPath := key.Value
		if path != "" {
			keyPath = path + "." + key.Value
		}
		if first, twice := seen[key.Value]; twice {
			r.refuse(key, keyPath, Fault{Reason: fmt.Sprintf("this key stands on line %d already", first.Line)})
			continue
		}
		seen[key.Value] = key
		fn(key, value, keyPath)
	}
	return seen
}

// scalar is the node's text, unless it is no scalar, null, or holds NUL, which
// neither Postgres nor a terminal takes.
func (r *reader) scalar(n *yaml.Node, path, expected string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		r.want(n, path, expected)
		return "", false
	}
	if strings.ContainsRune(n.Value, 0) {
		r.refuse(n, path, Fault{Reason: "the text holds a NUL character"})
		return "", false
	}
	if r.expand == nil {
		return n.Value, true
	}
	text, err := r.expand(n.Value)
	if err != nil {
		r.refuse(n, path, Fault{Reason: err.Error()})
		return "", false
	}
	return text, true
}

// text reads a text of 1 to maxLen characters. A bare number or true is
// refused: YAML may have changed it.
func (r *reader) text(dst *string, maxLen int) read {
	return func(n *yaml.Node, path string) {
		s, ok := r.scalar(n, path, "a text")
		switch {
		case !ok:
		case n.ShortTag() != "!!str" && r.expand == nil:
			r.want(n, path, "a text; put it in quotes")
		case strings.TrimSpace(s) == "":
			r.want(n, path, "a text that is not empty")
		case utf8.RuneCountInString(s) > maxLen:
			r.refuse(n, path, Fault{Reason: fmt.Sprintf("the text has more than %d characters", maxLen)})
		default:
			*dst = s
		}
	}
}

// matching reads a text of a given form.
func (r *reader) matching(dst *string, form *regexp.Regexp, expected string) read {
	return func(n *yaml.Node, path string) {
		s, ok := r.scalar(n, path, expected)
		switch {
		case !ok:
		case !form.MatchString(s):
			r.want(n, path, expected)
		default:
			*dst = s
		}
	}
}

// oneOf reads one of a few words.
func oneOf[T ~string](r *reader, dst *T, words ...T) read {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	return func(n *yaml.Node, path string) {
		s, ok := r.scalar(n, path, listed(names))
		switch {
		case !ok:
		case !slices.Contains(names, s):
			r.refuse(n, path, Fault{Expected: "one of " + listed(names), Got: shown(n), Nearest: nearest(s, names)})
		default:
			*dst = T(s)
		}
	}
}

func (r *reader) boolean(dst *bool) read {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			r.want(n, path, "true or false")
			return
		}
		*dst = strings.EqualFold(n.Value, "true")
	}
}

// whole reads a whole number in decimal digits.
func (r *reader) whole(dst *int64, least, most int64) read {
	expected := fmt.Sprintf("a whole number from %d", least)
	if most < math.MaxInt64 {
		expected += fmt.Sprintf(" to %d", most)
	}
	return func(n *yaml.Node, path string) {
		v, err := strconv.ParseInt(n.Value, 10, 64)
		leadingZero := len(n.Value) > 1 && n.Value[0] == '0'
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || leadingZero || v < least || v > most {
			r.want(n, path, expected)
			return
		}
		*dst = v
	}
}

// micros reads a sum of money above 0.
func (r *reader) micros(dst *int64) read { return r.sum(dst, 1) }

// sum reads a sum of money in millionths, exactly; least is 0 or 1.
func (r *reader) sum(dst *int64, least int64) read {
	expected := "a sum above 0 with at most 6 decimal places"
	if least == 0 {
		expected = "a sum, 0 or more, with at most 6 decimal places"
	}
	return func(n *yaml.Node, path string) {
		// Digits and a point only: an exponent can be made to take hours.
		number := n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float") &&
			strings.Trim(n.Value, "0123456789.") == "" && len(n.Value) <= 30
		sum := new(big.Rat)
		if number {
			_, number = sum.SetString(n.Value)
			sum.Mul(sum, big.NewRat(1_000_000, 1))
		}
		if !number || !sum.IsInt() || !sum.Num().IsInt64() || sum.Num().Int64() < least {
			r.want(n, path, expected)
			return
		}
		*dst = sum.Num().Int64()
	}
}

// duration reads a time such as 30s, 20m, 72h or 30d.
func (r *reader) duration(dst *Duration, least, most time.Duration) read {
	expected := fmt.Sprintf("a time from %s to %s, such as 30s, 20m, 72h or 30d", Duration(least), Duration(most))
	return func(n *yaml.Node, path string) {
		s, ok := r.scalar(n, path, expected)
		if !ok {
			return
		}
		d, err := ParseDuration(s)
		if err != nil || d.Std() < least || d.Std() > most {
			r.want(n, path, expected)
			return
		}
		*dst = d
	}
}

// list reads a list by reading each of its elements.
func (r *reader) list(maxLen int, each func(n *yaml.Node, path string)) read {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			r.want(n, path, "a list")
			return
		}
		if len(n.Content) > maxLen {
			r.refuse(n, path, Fault{Reason: fmt.Sprintf("the list has more than %d entries", maxLen)})
			return
		}
		for i, e := range n.Content {
			each(resolve(e), fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// names reads a list of names of a form, each at most once.
func (r *reader) names(dst *[]string, form *regexp.Regexp, expected string) read {
	return r.list(200, func(n *yaml.Node, path string) {
		var s string
		r.matching(&s, form, expected)(n, path)
		switch {
		case s == "":
		case slices.Contains(*dst, s):
			r.refuse(n, path, Fault{Reason: s + " is listed already"})
		default:
			*dst = append(*dst, s)
		}
	})
}

// condition reads what a permission rule wants of an argument: a text, number,
// true, false or null, a list of these, or bounds (lt, lte, gt, gte, not, runs).
// Numbers stay as written. depth ends values that hold themselves.
func (r *reader) condition(n *yaml.Node, path string, depth int) any {
	const expected = "a text, a number, true, false, null, a list of these, or bounds such as {lte: 500}"
	if depth > 4 {
		r.refuse(n, path, Fault{Reason: "the value is nested too deep"})
		return nil
	}
	switch n.Kind {
	case yaml.SequenceNode:
		list := []any{}
		r.list(200, func(e *yaml.Node, path string) {
			list = append(list, r.condition(e, path, depth+1))
		})(n, path)
		return list
	case yaml.MappingNode:
		return r.bounds(n, path, depth)
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
		r.want(n, path, "a decimal number, or a text in quotes")
		return nil
	}
	s, _ := r.scalar(n, path, expected)
	return s
}

func (r *reader) bounds(n *yaml.Node, path string, depth int) map[string]any {
	bounds := map[string]any{}
	number := func(op string) read {
		return func(n *yaml.Node, path string) {
			v, ok := r.condition(n, path, depth+1).(json.Number)
			if !ok {
				r.want(n, path, "a number")
			}
			bounds[op] = v
		}
	}
	seen := r.mapping(n, path, map[string]read{
		"lt": number("lt"), "lte": number("lte"), "gt": number("gt"), "gte": number("gte"),
		"not": func(n *yaml.Node, path string) { bounds["not"] = r.condition(n, path, depth+1) },
		"runs": func(n *yaml.Node, path string) {
			bounds["runs"] = r.condition(n, path, depth+1)
			if permission.CheckCommands(bounds["runs"]) != nil {
				r.want(n, path, "a command, or a list of them, such as [ls, git log *]")
			}
		},
	})
	if len(seen) == 0 {
		r.want(n, path, "at least one of lt, lte, gt, gte, not, runs")
	}
	return bounds
}
