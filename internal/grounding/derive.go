package grounding

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Derivation says how a figure was worked out.
type Derivation struct {
	Value     string   `json:"value"`
	Operation string   `json:"operation"`
	Of        []string `json:"of"`
}

// Operations are those that can be recomputed.
var Operations = []string{"sum", "difference", "product", "quotient", "percent", "average", "count", "days_between"}

// Derive recomputes a figure from figures that are held, to as many decimals as
// it is written with. If it comes out, it is held too; else the error says why
// not, to whoever derived it.
func (g *Ground) Derive(d Derivation) error {
	value := Find(d.Value)
	if len(value) != 1 || value[0].Kind != Number {
		return fmt.Errorf("%q is not one number", d.Value)
	}
	if len(d.Of) == 0 {
		return fmt.Errorf("%q is derived of nothing", d.Value)
	}
	for _, part := range d.Of {
		if !g.holdsAll(part) {
			return fmt.Errorf("%q, of which %q is derived, stands in nothing that was shown", part, d.Value)
		}
	}
	result, err := compute(d, 0)
	if err != nil {
		return err
	}
	other, err := compute(d, 1) // of 1.234 and 1,234 as they are meant less often
	if err != nil {
		return err
	}
	for _, r := range value[0].readings {
		for _, result := range []*big.Rat{result, other} {
			off := new(big.Rat).Sub(r.value, result)
			if off.Abs(off).Cmp(half(r.decimals)) <= 0 {
				g.addNumber(r)
				return nil
			}
		}
	}
	return fmt.Errorf("the %s comes out as %s, not as %s", strings.ReplaceAll(d.Operation, "_", " "), strings.TrimSuffix(strings.TrimRight(result.FloatString(4), "0"), "."), d.Value)
}

// holdsAll says whether a part of a derivation stands in the sources: its facts
// if it has any, its words if it has none.
func (g *Ground) holdsAll(part string) bool {
	facts := Find(part)
	if len(facts) == 0 {
		return g.contains(part)
	}
	for _, f := range facts {
		if !g.Holds(f) {
			return false
		}
	}
	return true
}

// compute works a figure out of the n-th reading of each part, or of the last.
func compute(d Derivation, n int) (*big.Rat, error) {
	switch d.Operation {
	case "count":
		return big.NewRat(int64(len(d.Of)), 1), nil
	case "days_between":
		return daysBetween(d.Of)
	}
	var list []*big.Rat
	for _, part := range d.Of {
		facts := Find(part)
		if len(facts) != 1 || facts[0].Kind != Number {
			return nil, fmt.Errorf("%q is not one number", part)
		}
		readings := facts[0].readings
		list = append(list, readings[min(n, len(readings)-1)].value)
	}
	result := new(big.Rat).Set(list[0])
	for _, n := range list[1:] {
		switch d.Operation {
		case "sum", "average":
			result.Add(result, n)
		case "difference":
			result.Sub(result, n)
		case "product":
			result.Mul(result, n)
		case "quotient", "percent":
			if n.Sign() == 0 {
				return nil, fmt.Errorf("nothing can be divided by 0")
			}
			result.Quo(result, n)
		}
	}
	switch d.Operation {
	case "average":
		result.Quo(result, big.NewRat(int64(len(list)), 1))
	case "percent":
		result.Mul(result, big.NewRat(100, 1))
	case "difference":
		result.Abs(result) // texts say how much less as well as how much more
	}
	return result, nil
}

func daysBetween(of []string) (*big.Rat, error) {
	if len(of) != 2 {
		return nil, fmt.Errorf("days lie between two dates, not %d", len(of))
	}
	var days [2]time.Time
	for i, part := range of {
		facts := Find(part)
		if len(facts) == 0 || facts[0].Kind != Date || facts[0].dates[0].year == 0 || facts[0].dates[0].day == 0 {
			return nil, fmt.Errorf("%q is not a day with its year", part)
		}
		d := facts[0].dates[0]
		days[i] = time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	}
	n := int64(days[1].Sub(days[0]).Hours() / 24)
	return big.NewRat(max(n, -n), 1), nil
}
