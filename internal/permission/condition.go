package permission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// lookup finds an argument by name, by a path with dots, or by JSON pointer. An
// argument whose own name holds dots is found under that name first.
func lookup(args json.RawMessage, arg string) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	if o, ok := v.(map[string]any); ok {
		if got, ok := o[arg]; ok {
			return got, true
		}
	}
	steps := strings.Split(arg, ".")
	if p, ok := strings.CutPrefix(arg, "/"); ok {
		steps = strings.Split(p, "/")
		for i, s := range steps {
			steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
		}
	}
	for _, s := range steps {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[s]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(s)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// fits says whether an argument is what a condition wants. Of a list of
// arguments, all must fit a strict condition, and any a lenient one.
func fits(got, want any, strict bool) bool {
	if list, ok := got.([]any); ok {
		for _, el := range list {
			if fits(el, want, strict) != strict {
				return !strict
			}
		}
		return strict && len(list) > 0
	}
	switch w := want.(type) {
	case []any:
		for _, one := range w {
			if fits(got, one, strict) {
				return true
			}
		}
		return false
	case map[string]any:
		for op, bound := range w {
			if !inBound(got, op, bound, strict) {
				return false
			}
		}
		return len(w) > 0
	}
	return equal(got, want, strict)
}

func inBound(got any, op string, bound any, strict bool) bool {
	if op == "not" {
		// What is excluded is excluded in every spelling from a rule that allows.
		return !fits(got, bound, !strict)
	}
	if op == "runs" {
		return runs(got, bound, strict)
	}
	a, ok1 := number(got)
	b, ok2 := number(bound)
	if !ok1 || !ok2 {
		return false
	}
	switch c := a.Cmp(b); op {
	case "lt":
		return c < 0
	case "lte":
		return c <= 0
	case "gt":
		return c > 0
	case "gte":
		return c >= 0
	}
	return false
}

func equal(got, want any, strict bool) bool {
	if a, ok := number(got); ok {
		b, ok := number(want)
		return ok && a.Cmp(b) == 0
	}
	a, ok1 := got.(string)
	b, ok2 := want.(string)
	if ok1 != ok2 {
		return false
	}
	if ok1 {
		if !strict {
			a, b = fold(a), fold(b)
		}
		return glob(a, b)
	}
	return got == want // booleans and null
}

// number reads JSON and YAML numbers exactly; a text is never a number.
func number(v any) (*big.Rat, bool) {
	var s string
	switch n := v.(type) {
	case json.Number:
		s = n.String()
	case int, int64, uint64, float64:
		s = fmt.Sprint(n)
	default:
		return nil, false
	}
	if len(s) > 64 || exponent(s) > 100 {
		return nil, false // as a fraction it would fill the memory
	}
	return new(big.Rat).SetString(s)
}

func exponent(s string) int {
	_, exp, ok := strings.Cut(strings.ToLower(s), "e")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimPrefix(exp, "+"))
	if err != nil {
		return 1 << 20
	}
	return max(n, -n)
}

func fold(s string) string { return cases.Fold().String(norm.NFKC.String(strings.TrimSpace(s))) }

// glob matches text with "*" for any text.
func glob(s, pattern string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return s == pattern
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, last)
}

func checkCondition(want any) error {
	switch w := want.(type) {
	case string, bool, nil, int, int64, uint64, float64, json.Number:
		return nil
	case []any:
		for _, one := range w {
			if err := checkCondition(one); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for op, bound := range w {
			switch op {
			case "not":
				if err := checkCondition(bound); err != nil {
					return err
				}
			case "lt", "lte", "gt", "gte":
				if _, ok := number(bound); !ok {
					return fmt.Errorf("%s is %v, want a number", op, bound)
				}
			case "runs":
				if err := CheckCommands(bound); err != nil {
					return err
				}
			default:
				return fmt.Errorf("bound %q is not lt, lte, gt, gte, not or runs", op)
			}
		}
		return nil
	}
	return fmt.Errorf("condition is %T, want a value, a list or bounds", want)
}
