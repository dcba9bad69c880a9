package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"
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
		if !keyLine(strings.TrimRight(s[line:start], "\r\n")) {
			break
		}
		start = line
	}
	return start
}

// keyLine says whether a line can be one of a key's.
func keyLine(text string) bool {
	return text != "" && !strings.ContainsAny(text, " -") && !strings.ContainsFunc(text, func(r rune) bool { return r > 127 || !keyByte(byte(r)) })
}

func keyByte(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("+/=\r\n -", c) >= 0
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

// ibans finds account numbers by country, length and the remainder of 97, where a
// word begins. What only looks like the beginning of one is stepped over.
func ibans(s string) []span {
	var spans []span
	for i := 0; i < len(s); i++ {
		if i > 0 && wordByte(s[i-1]) {
			continue
		}
		for ibanBegins(s, i) {
			end, ok := ibanAt(s, i)
			if !ok {
				i += 4
				continue
			}
			spans = append(spans, span{i, end, "iban"})
			i = end
		}
	}
	return spans
}

// ibanBegins says whether a country and check digits stand at i, and more behind
// them.
func ibanBegins(s string, i int) bool {
	if i+4 >= len(s) || !upper(s[i]) || !upper(s[i+1]) || kinds[s[i+2]]&kinds[s[i+3]]&isDigit == 0 {
		return false
	}
	c := s[i+4]
	if c == ' ' && i+5 < len(s) {
		c = s[i+5]
	}
	return upper(c) || kinds[c]&isDigit != 0
}

// ibanAt is where the account number that begins at start ends.
func ibanAt(s string, start int) (end int, ok bool) {
	want := ibanLength[s[start:start+2]]
	var number [34]byte
	n, i := 0, start
	for ; i < len(s) && n < want; i++ {
		c := s[i]
		if c == ' ' && i > start && s[i-1] != ' ' {
			continue
		}
		if !upper(c) && kinds[c]&isDigit == 0 {
			break
		}
		number[n] = c
		n++
	}
	return i, want > 0 && n == want && (i == len(s) || !wordByte(s[i])) && mod97(number[:n])
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

func mod97(iban []byte) bool {
	rem := 0
	for i := range iban {
		c := iban[(i+4)%len(iban)]
		if c >= 'A' {
			rem = (rem*100 + int(c-'A') + 10) % 97
		} else {
			rem = (rem*10 + int(c-'0')) % 97
		}
	}
	return rem == 1
}

// ssnAt says whether a US social security number stands at i, where 11 bytes are,
// by itself.
func ssnAt(s string, i int) bool {
	for k := range 11 {
		if dash := k == 3 || k == 6; dash && s[i+k] != '-' || !dash && kinds[s[i+k]]&isDigit == 0 {
			return false
		}
	}
	before := i > 0 && (wordByte(s[i-1]) || s[i-1] == '.' || s[i-1] == '-')
	after := i+11 < len(s) && (wordByte(s[i+11]) || s[i+11] == '-')
	return !before && !after && validSSN(s[i:i+11])
}

func ssns(s string) []span {
	var spans []span
	for i := 0; i+11 <= len(s); i++ {
		if s[i+3] == '-' && ssnAt(s, i) {
			spans = append(spans, span{i, i + 11, "ssn"})
			i += 10
		}
	}
	return spans
}

// phoneHere is a number with its country's code. Without one too much looks like
// a phone.
var phoneHere = regexp.MustCompile(`^(\+[1-9](?:[ .()-]{0,2}[0-9]){9,14})(?:$|[^\w])`)

// longestPhone is as many bytes as phoneHere looks at.
const longestPhone = 2 + 14*3 + utf8.UTFMax

// phoneAt is where the phone number whose + stands at i ends.
func phoneAt(s string, i int) (end int, ok bool) {
	if i+1 == len(s) || s[i+1] < '1' || s[i+1] > '9' || i > 0 && (wordByte(s[i-1]) || strings.IndexByte("+./-", s[i-1]) >= 0) {
		return 0, false
	}
	m := phoneHere.FindStringSubmatchIndex(s[i:min(len(s), i+longestPhone)])
	if m == nil {
		return 0, false
	}
	return i + m[3], true
}

func phones(s string) []span {
	var spans []span
	for i := 0; i < len(s); i++ {
		if s[i] != '+' {
			continue
		}
		if end, ok := phoneAt(s, i); ok {
			spans = append(spans, span{i, end, "phone"})
			i = end - 1
		}
	}
	return spans
}

// nationalID is the form of a Chinese resident's number.
var nationalID = regexp.MustCompile(`\b([1-9][0-9]{5}(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx])\b`)

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
