package grounding

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// maxDigits bounds what is read as a number; longer ones are codes.
const maxDigits = 30

// reading is one meaning of a number as it is written.
type reading struct {
	value    *big.Rat
	decimals int
}

func (r reading) key() string { return r.value.RatString() }

// scaled is the reading times 10 to the n, for 3k and 0.125.
func (r reading) scaled(n int) reading {
	return reading{new(big.Rat).Mul(r.value, power(n)), max(0, r.decimals-n)}
}

func power(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// readings are the numbers that a text may stand for: none if it is no number,
// two for 1,234, which is either.
func readings(text string) []reading {
	text = strings.NewReplacer("'", "", "’", "", " ", "").Replace(text)
	dots, commas := strings.Count(text, "."), strings.Count(text, ",")
	switch {
	case utf8.RuneCountInString(text) > maxDigits:
		return nil
	case dots == 0 && commas == 0:
		return plain(text, "", "")
	case dots > 0 && commas > 0:
		group, point := ",", "."
		if strings.LastIndex(text, ",") > strings.LastIndex(text, ".") {
			group, point = ".", ","
		}
		if strings.Count(text, point) > 1 {
			return nil
		}
		return plain(text, group, point)
	case dots+commas > 1:
		return plain(text, strings.Trim(text, "0123456789")[:1], "")
	}
	point := "."
	if commas > 0 {
		point = ","
	}
	list := plain(text, "", point)
	before, after, _ := strings.Cut(text, point)
	if len(after) == 3 && len(before) <= 3 && before != "0" {
		grouped := plain(text, point, "")
		if point == "," { // as it is meant most often comes first
			return append(grouped, list...)
		}
		return append(list, grouped...)
	}
	return list
}

// plain reads a number whose marks are known.
func plain(text, group, point string) []reading {
	whole, rest := text, ""
	if point != "" {
		whole, rest, _ = strings.Cut(text, point)
	}
	if group != "" {
		groups := strings.Split(whole, group)
		for i, g := range groups {
			if i > 0 && len(g) != 3 || g == "" || len(g) > 3 {
				return nil
			}
		}
		whole = strings.Join(groups, "")
	}
	if !digits(whole) || rest != "" && !digits(rest) {
		return nil
	}
	number := whole
	if rest != "" {
		number += "." + rest
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil
	}
	return []reading{{value, len(rest)}}
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// half is the half of the last of so many decimals: a longer number that is no
// further off comes out as the shorter one.
func half(decimals int) *big.Rat { return new(big.Rat).Mul(power(-decimals), big.NewRat(1, 2)) }

// margin is how far off a number may be that is said to be about this one: the
// last of its digits that isn't 0.
func (r reading) margin() *big.Rat {
	if !r.value.IsInt() {
		return half(r.decimals)
	}
	n := r.value.Num().String()
	return power(len(n) - len(strings.TrimRight(n, "0")))
}

// numberWords are the numbers that prose writes out. One is an article too
// often to be a figure.
var numberWords = map[string]int64{
	"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}
