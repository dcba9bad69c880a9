package tools

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// keyed is an HMAC over parts, each with its length before it, so that no two
// lists of parts give the same text.
func keyed(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		mac.Write(n[:])
		mac.Write([]byte(p))
	}
	return mac.Sum(nil)
}

// fingerprint is keyed, short: two of a plan are stored for every call for ever,
// and told apart within one session. 96 bits do for that.
func fingerprint(key []byte, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString(keyed(key, parts...)[:12])
}

// exactFingerprint names a tool with exactly these arguments. args are canonical
// or, if they were no JSON, the raw text.
func exactFingerprint(k Keys, tool, args string) string {
	return fingerprint(k.Fingerprint, "exact", tool, args)
}

// looseFingerprint names a tool with arguments that look like these: width,
// accents' encoding, case, space and punctuation don't count.
func looseFingerprint(k Keys, tool, args string) string {
	return fingerprint(k.Fingerprint, "loose", tool, loosen(args))
}

// approvalDigest names exactly what a person approves.
func approvalDigest(k Keys, tool, hash, policy string, args json.RawMessage) string {
	return hex.EncodeToString(keyed(k.Approval, "approval", tool, hash, policy, string(args)))
}

// loosen folds a canonical document, keeping what separates its values: of a
// number the sign, the point and the exponent stay.
func loosen(doc string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return foldText(doc)
	}
	var b strings.Builder
	loosenValue(&b, v)
	return b.String()
}

func loosenValue(b *strings.Builder, v any) {
	switch t := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(t))
		for k := range t {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b.WriteByte('{')
		for _, k := range keys {
			b.WriteString(foldText(k))
			b.WriteByte(':')
			loosenValue(b, t[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, el := range t {
			loosenValue(b, el)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case string:
		b.WriteByte('"')
		b.WriteString(foldText(t))
	case json.Number:
		b.WriteString(t.String())
	case bool:
		if t {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	default:
		b.WriteString("null")
	}
}

// foldText keeps letters, digits and symbols, folded.
func foldText(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		s = strings.ToLower(s) // the same, of ASCII
	} else {
		s = cases.Fold().String(norm.NFKC.String(s))
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}
