package tools

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// keyed is an HMAC over parts, each with its length before it, so that no two
// lists of parts give the same text.
func keyed(key []byte, parts ...string) []byte {
	size := 0
	for _, p := range parts {
		size += 8 + len(p)
	}
	text := make([]byte, 0, size)
	for _, p := range parts {
		text = append(binary.BigEndian.AppendUint64(text, uint64(len(p))), p...)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
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
// number the sign, the point and the exponent stay. Its keys are sorted already.
func loosen(doc string) string {
	raw := json.RawMessage(doc)
	if !json.Valid(raw) {
		return foldText(doc)
	}
	var b strings.Builder
	b.Grow(len(doc))
	loosenValue(&b, raw)
	return b.String()
}

func loosenValue(b *strings.Builder, raw json.RawMessage) {
	switch jsonKind(raw) {
	case "object":
		b.WriteByte('{')
		eachMember(raw, func(key, value json.RawMessage) {
			b.WriteString(foldString(key))
			b.WriteByte(':')
			loosenValue(b, value)
			b.WriteByte(',')
		})
		b.WriteByte('}')
	case "array":
		b.WriteByte('[')
		eachElement(raw, func(value json.RawMessage) {
			loosenValue(b, value)
			b.WriteByte(',')
		})
		b.WriteByte(']')
	case "string":
		b.WriteByte('"')
		b.WriteString(foldString(raw))
	default:
		b.Write(raw)
	}
}

func foldString(quoted json.RawMessage) string {
	s, err := textOf(quoted)
	if err != nil { // cannot be: the document is valid
		s = quoted
	}
	return foldText(string(s))
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
