package redact

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a text with its escapes undone, and where each of its bytes (and its
// end) stands in the original.
type view struct {
	text string
	at   []int
}

// views are the decoded readings of s: percent escapes and backslash escapes,
// each undone as often as it was done, up to three times.
func views(s string) []view {
	var out []view
	for _, undo := range []func(view) (view, bool){unpercent, unbackslash} {
		v := view{text: s}
		for range 3 {
			next, changed := undo(v)
			if !changed {
				break
			}
			v = next
			out = append(out, v)
		}
	}
	return out
}

// pos is where byte i of the view stands in the original text.
func (v view) pos(i int) int {
	if v.at == nil {
		return i
	}
	return v.at[i]
}

func unpercent(v view) (view, bool) {
	return undo(v, '%', func(s string) (string, int) {
		if len(s) < 3 {
			return "", 0
		}
		n, err := strconv.ParseUint(s[1:3], 16, 8)
		if err != nil {
			return "", 0
		}
		return string([]byte{byte(n)}), 3
	})
}

func unbackslash(v view) (view, bool) {
	return undo(v, '\\', func(s string) (string, int) {
		if len(s) < 2 {
			return "", 0
		}
		switch s[1] {
		case '"', '\\', '/', '\'':
			return s[1:2], 2
		case 'n':
			return "\n", 2
		case 'r':
			return "\r", 2
		case 't':
			return "\t", 2
		case 'u':
			if len(s) >= 6 {
				if n, err := strconv.ParseUint(s[2:6], 16, 16); err == nil {
					return string(utf8.AppendRune(nil, rune(n))), 6
				}
			}
		}
		return "", 0
	})
}

// undo replaces escapes that begin with mark. decode says what an escape stands
// for and how long it is, 0 if it is none.
func undo(v view, mark byte, decode func(string) (string, int)) (view, bool) {
	if strings.IndexByte(v.text, mark) < 0 {
		return v, false
	}
	var b strings.Builder
	at := make([]int, 0, len(v.text)+1)
	changed := false
	for i := 0; i < len(v.text); {
		if v.text[i] == mark {
			if text, n := decode(v.text[i:]); n > 0 {
				b.WriteString(text)
				for range len(text) {
					at = append(at, v.pos(i))
				}
				i += n
				changed = true
				continue
			}
		}
		b.WriteByte(v.text[i])
		at = append(at, v.pos(i))
		i++
	}
	return view{b.String(), append(at, v.pos(len(v.text)))}, changed
}

var standard = strings.NewReplacer("-", "+", "_", "/")

// base64Least is the length of the shortest run that is decoded.
const base64Least = 24

// base64Run finds the next run of base64, with its padding, from the given byte
// on. It is what [A-Za-z0-9+/_-]{24,}={0,2} finds, and ten times as fast: each
// text that is shown goes through here.
func base64Run(s string, from int) (start, end int, ok bool) {
	for start = from; start < len(s); start++ {
		for end = start; end < len(s) && base64Byte(s[end]); end++ {
		}
		if end-start >= base64Least {
			for pad := 0; pad < 2 && end < len(s) && s[end] == '='; pad++ {
				end++
			}
			return start, end, true
		}
		start = end
	}
	return 0, 0, false
}

func base64Byte(c byte) bool {
	return wordByte(c) || c == '+' || c == '/' || c == '-'
}

// leastToken is how many bytes of inToken every token holds in a row.
const leastToken = 13

// mayHoldToken says whether a run of base64 decodes to as much text in a row as a
// token has at least. Ids and hashes decode to anything but text.
func mayHoldToken(run string) bool {
	text := 0
	for ; len(run) >= 4; run = run[4:] {
		bits := sextets[run[0]]<<18 | sextets[run[1]]<<12 | sextets[run[2]]<<6 | sextets[run[3]]
		for shift := 16; shift >= 0; shift -= 8 {
			if kinds[byte(bits>>shift)]&inToken == 0 {
				text = 0
			} else if text++; text >= leastToken {
				return true
			}
		}
	}
	// What is left holds two bytes at most, of which the second may be anything.
	return text+2 >= leastToken
}

// sextets are the values of base64's characters, those of both alphabets.
var sextets = func() (v [256]uint32) {
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		v[c] = uint32(i)
	}
	v['-'], v['_'] = v['+'], v['/']
	return v
}()

// findEncoded finds base64 whose decoded text holds a token; the whole run is
// masked, since a cut in it would show half of the token.
func (r *Redactor) findEncoded(s string) []span {
	var spans []span
	for start, end, ok := base64Run(s, 0); ok; start, end, ok = base64Run(s, end) {
		raw := standard.Replace(strings.TrimRight(s[start:end], "="))
		if len(raw)%4 == 1 {
			raw = raw[:len(raw)-1] // cut off; one character alone holds no byte
		}
		b, err := base64.RawStdEncoding.DecodeString(raw)
		if err != nil {
			continue
		}
		text := string(b)
		found := signs(text)
		for _, rule := range tokens {
			if found&rule.sign != 0 && len(rule.find(text)) > 0 {
				spans = append(spans, span{start, end, rule.name})
				break
			}
		}
	}
	return spans
}
