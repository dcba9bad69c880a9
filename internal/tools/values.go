package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// values counts the JSON values of one column or field.
type values struct {
	nulls    int
	distinct map[string]int
	uncount  int // values that came after maxPatterns different ones
	min, max json.RawMessage
	sum      *big.Rat // of numbers; nil once something else came
	small    int64    // a part of the sum that is not in it yet
	decimals int
	numbers  int
}

// valuesSummary is what is told of them.
type valuesSummary struct {
	Nulls    int             `json:"nulls"`
	Distinct int             `json:"distinct"` // -1: more than 10,000; top then is of the first 10,000
	Min      json.RawMessage `json:"min,omitempty"`
	Max      json.RawMessage `json:"max,omitempty"`
	Sum      json.RawMessage `json:"sum,omitempty"` // exact; where all values are numbers
	Top      []topValue      `json:"top,omitempty"`
}

type topValue struct {
	Value json.RawMessage `json:"value"`
	Count int             `json:"count"`
}

// add counts a value, compact JSON.
func (v *values) add(raw json.RawMessage) {
	if v.distinct == nil {
		v.distinct, v.sum = map[string]int{}, new(big.Rat)
	}
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		v.nulls++
		return
	}
	if n := v.distinct[string(raw)]; n > 0 || len(v.distinct) < maxPatterns {
		v.distinct[string(raw)] = n + 1
	} else {
		v.uncount++
	}
	if v.min == nil || compareJSON(raw, v.min) < 0 {
		v.min = raw
	}
	if v.max == nil || compareJSON(raw, v.max) > 0 {
		v.max = raw
	}
	v.addNumber(raw)
}

func (v *values) addNumber(raw json.RawMessage) {
	if v.sum == nil {
		return
	}
	v.numbers++
	if len(raw) <= 15 && bytes.IndexByte(raw, '.') < 0 {
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			if v.small += n; v.small > 1<<60 || v.small < -1<<60 {
				v.settle()
			}
			return
		}
	}
	n, ok := exactNumber(raw)
	if !ok {
		v.sum = nil
		return
	}
	v.sum.Add(v.sum, n)
	v.decimals = max(v.decimals, decimals(raw))
}

func (v *values) settle() {
	v.sum.Add(v.sum, new(big.Rat).SetInt64(v.small))
	v.small = 0
}

// longestValue is up to how many bytes a value is told.
const longestValue = 200

func (v *values) summary(top int) valuesSummary {
	s := valuesSummary{Nulls: v.nulls, Distinct: len(v.distinct), Min: v.min, Max: v.max}
	if v.uncount > 0 {
		s.Distinct = -1
	}
	for _, edge := range []*json.RawMessage{&s.Min, &s.Max} {
		if len(*edge) > longestValue {
			*edge = nil
		}
	}
	if v.sum != nil && v.numbers > 0 {
		v.settle()
		s.Sum = json.RawMessage(v.sum.FloatString(v.decimals))
	}
	names := make([]string, 0, len(v.distinct))
	for name, n := range v.distinct {
		if n > 1 && len(name) <= longestValue {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(v.distinct[b]-v.distinct[a], strings.Compare(a, b)) })
	for _, name := range names[:min(top, len(names))] {
		s.Top = append(s.Top, topValue{json.RawMessage(name), v.distinct[name]})
	}
	return s
}

// compareJSON orders numbers as numbers, all else as text. Numbers that a float
// can't tell apart, such as long ids, are compared exactly.
func compareJSON(a, b json.RawMessage) int {
	x, err1 := json.Number(a).Float64()
	y, err2 := json.Number(b).Float64()
	if err1 != nil || err2 != nil {
		return bytes.Compare(a, b)
	}
	if x == y && !bytes.Equal(a, b) {
		if m, ok := exactNumber(a); ok {
			if n, ok := exactNumber(b); ok {
				return m.Cmp(n)
			}
		}
	}
	return cmp.Compare(x, y)
}

// exactNumber reads a JSON number of a length that people write.
func exactNumber(raw json.RawMessage) (*big.Rat, bool) {
	if len(raw) == 0 || len(raw) > 40 || !digit(raw[0]) && raw[0] != '-' || bytes.ContainsAny(raw, "eE") {
		return nil, false
	}
	return new(big.Rat).SetString(string(raw))
}

func decimals(raw json.RawMessage) int {
	if point := bytes.IndexByte(raw, '.'); point >= 0 {
		return len(raw) - point - 1
	}
	return 0
}
