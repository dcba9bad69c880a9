package redact

import (
	"regexp"
	"strings"
)

var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
)

// maxKey bounds a private key in bytes.
const maxKey = 64 << 10

// privateKeys finds whole keys and, where text was cut, their halves.
func privateKeys(s string) []span {
	var spans []span
	at := 0
	for at < len(s) {
		begin, end := keyBegin.FindStringIndex(s[at:]), keyEnd.FindStringIndex(s[at:])
		switch {
		case begin == nil && end == nil:
			return spans
		case begin != nil && (end == nil || begin[0] < end[0]):
			start := at + begin[0]
			stop := keyStop(s, at+begin[1])
			spans = append(spans, span{start, stop, "private-key"})
			at = stop
		default: // an end without its beginning: the lines before it are the key
			spans = append(spans, span{keyStart(s, at, at+end[0]), at + end[1], "private-key"})
			at += end[1]
		}
	}
	return spans
}

// keyStop is where a key that begins before from ends.
func keyStop(s string, from int) int {
	window := s[from:min(len(s), from+maxKey)]
	if end := keyEnd.FindStringIndex(window); end != nil {
		return from + end[1]
	}
	stop := from
	for stop < len(s) && stop < from+maxKey && (keyByte(s[stop]) || strings.IndexByte(":,", s[stop]) >= 0) {
		stop++
	}
	return stop
}

// keyStart is where the lines of a key that ends before end begin, not before
// from.
func keyStart(s string, from, end int) int {
	start := end
	for start > from {
		line := strings.LastIndexByte(s[from:start-1], '\n') + 1 + from
		text := strings.TrimRight(s[line:start], "\r\n")
		if text == "" || strings.ContainsAny(text, " -") || strings.ContainsFunc(text, func(r rune) bool { return r > 127 || !keyByte(byte(r)) }) {
			break
		}
		start = line
	}
	return start
}

func keyByte(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("+/=\r\n -", c) >= 0
}

var digitRun = regexp.MustCompile(`[0-9](?:[ -]?[0-9]){12,}`)

// cards finds payment card numbers: of a known kind, right in length and check
// digit, and standing alone or in the groups that cards are printed in.
func cards(s string) []span {
	var spans []span
	for _, at := range digitRun.FindAllStringIndex(s, -1) {
		start, end := at[0], at[1]
		if start > 0 && wordByte(s[start-1]) || end < len(s) && wordByte(s[end]) {
			continue
		}
		if start > 1 && (s[start-1] == '.' || s[start-1] == '-') && wordByte(s[start-2]) && s[start-2] >= '0' && s[start-2] <= '9' {
			continue // the rest of a longer number
		}
		spans = append(spans, cardGroups(s, start, end)...)
	}
	return spans
}

// cardGroups looks for cards in one run of digits and single separators.
func cardGroups(s string, start, end int) []span {
	type group struct{ start, end int }
	var groups []group
	g := group{start, start}
	for i := start; i <= end; i++ {
		if i == end || s[i] == ' ' || s[i] == '-' {
			g.end = i
			groups = append(groups, g)
			g = group{i + 1, i + 1}
		}
	}
	var spans []span
	for i := 0; i < len(groups); i++ {
		for j := min(len(groups)-1, i+4); j >= i; j-- {
			a, b := groups[i].start, groups[j].end
			part := s[a:b]
			if j > i && strings.Contains(part, "-") && strings.Contains(part, " ") {
				continue // mixed separators: two things side by side
			}
			// With dashes on the outside it is a part of some other code.
			if i > 0 && s[a-1] == '-' || j < len(groups)-1 && s[b] == '-' {
				continue
			}
			var sizes []int
			for _, g := range groups[i : j+1] {
				sizes = append(sizes, g.end-g.start)
			}
			digits := strings.NewReplacer(" ", "", "-", "").Replace(part)
			if printedAs(sizes) && cardKind(digits) && luhn(digits) {
				spans = append(spans, span{a, b, "card"})
				i = j
				break
			}
		}
	}
	return spans
}

func printedAs(sizes []int) bool {
	switch {
	case len(sizes) == 1:
		return sizes[0] >= 13 && sizes[0] <= 19
	case len(sizes) == 3 && sizes[0] == 4 && sizes[1] == 6:
		return sizes[2] == 4 || sizes[2] == 5
	case len(sizes) >= 4:
		for _, n := range sizes[:len(sizes)-1] {
			if n != 4 {
				return false
			}
		}
		return sizes[len(sizes)-1] <= 4
	case len(sizes) == 2:
		return sizes[0] == 8 && sizes[1] == 8 || sizes[0] == 6 && sizes[1] == 13
	}
	return false
}

// cardKind says whether the number begins as a card of its length does.
func cardKind(d string) bool {
	n := len(d)
	has := func(from, to string) bool { p := d[:len(from)]; return p >= from && p <= to }
	switch {
	case n < 13 || n > 19:
		return false
	case d[0] == '4':
		return n == 13 || n == 16 || n == 19
	case has("51", "55"), has("2221", "2720"):
		return n == 16
	case has("34", "34"), has("37", "37"):
		return n == 15
	case has("300", "305"), has("36", "36"), has("38", "39"):
		return n >= 14
	case has("6011", "6011"), has("644", "649"), has("65", "65"), has("62", "62"), has("3528", "3589"):
		return n >= 16
	case has("5018", "5018"), has("5020", "5020"), has("5038", "5038"), has("6304", "6304"), has("6759", "6763"):
		return true
	}
	return false
}

func luhn(d string) bool {
	sum := 0
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

var ibanLength = map[string]int{
	"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28,
	"CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
	"FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
	"IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20,
	"LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15,
	"PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19,
	"SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}

var ibanStart = regexp.MustCompile(`(?:^|[^A-Za-z0-9_])([A-Z]{2}[0-9]{2})[ ]?[A-Z0-9]`)

// ibans finds account numbers by country, length and the remainder of 97.
func ibans(s string) []span {
	var spans []span
	for at := 0; at < len(s); {
		m := ibanStart.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		start := at + m[2]
		at = start + 4
		var digits []byte
		i := start
		for want := ibanLength[s[start:start+2]]; i < len(s) && len(digits) < want; i++ {
			c := s[i]
			if c == ' ' && i > start && s[i-1] != ' ' {
				continue
			}
			if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z') {
				break
			}
			digits = append(digits, c)
		}
		if len(digits) > 0 && len(digits) == ibanLength[s[start:start+2]] && (i == len(s) || !wordByte(s[i])) && mod97(digits) {
			spans = append(spans, span{start, i, "iban"})
			at = i
		}
	}
	return spans
}

func mod97(iban []byte) bool {
	rem := 0
	for _, c := range append(append([]byte{}, iban[4:]...), iban[:4]...) {
		if c >= 'A' {
			rem = (rem*100 + int(c-'A') + 10) % 97
		} else {
			rem = (rem*10 + int(c-'0')) % 97
		}
	}
	return rem == 1
}

func validSSN(s string) bool {
	area, group, serial := s[:3], s[4:6], s[7:]
	return area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000"
}

func validChineseID(s string) bool {
	weights := [17]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2}
	sum := 0
	for i, w := range weights {
		sum += int(s[i]-'0') * w
	}
	return "10X98765432"[sum%11] == strings.ToUpper(s)[17]
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_'
}
