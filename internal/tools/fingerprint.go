package tools

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Key is a secret to make hashes with, by as many goroutines as like. The zero
// Key is the empty secret.
type Key struct{ hashers *sync.Pool }

// hasher is an HMAC that is used again: setting one up costs more than a hash.
type hasher struct {
	mac       hash.Hash
	text, sum []byte
}

// NewKey makes a key of a secret.
func NewKey(secret []byte) Key {
	return Key{&sync.Pool{New: func() any { return &hasher{mac: hmac.New(sha256.New, secret)} }}}
}

var emptyKey = NewKey(nil)

// hash is an HMAC over names and a document, each with its length before it, so
// that no two lists of them give the same text.
func (k Key) hash(doc []byte, names ...string) (sum [sha256.Size]byte) {
	if k.hashers == nil {
		k = emptyKey
	}
	h := k.hashers.Get().(*hasher)
	defer k.hashers.Put(h)
	h.text = h.text[:0]
	for _, name := range names {
		h.text = append(binary.BigEndian.AppendUint64(h.text, uint64(len(name))), name...)
	}
	h.text = append(binary.BigEndian.AppendUint64(h.text, uint64(len(doc))), doc...)
	h.mac.Reset()
	h.mac.Write(h.text)
	h.sum = h.mac.Sum(h.sum[:0])
	return [sha256.Size]byte(h.sum)
}

// fingerprint is a short hash: two of a plan are stored for every call for ever,
// and told apart within one session. 96 bits do for that.
func (k Key) fingerprint(doc []byte, names ...string) string {
	sum := k.hash(doc, names...)
	var text [16]byte
	base64.RawURLEncoding.Encode(text[:], sum[:12])
	return string(text[:])
}

// exactFingerprint names a tool with exactly these arguments. args are canonical
// or, if they were no JSON, the raw text.
func exactFingerprint(k Keys, tool string, args []byte) string {
	return k.Fingerprint.fingerprint(args, "exact", tool)
}

// looseFingerprint names a tool with arguments that look like these: width,
// accents' encoding, case, space and punctuation don't count.
func looseFingerprint(k Keys, tool string, args []byte) string {
	return k.Fingerprint.fingerprint(loosen(args), "loose", tool)
}

// approvalDigest names exactly what a person approves.
func approvalDigest(k Keys, tool, hash, policy string, args json.RawMessage) string {
	sum := k.Approval.hash(args, "approval", tool, hash, policy)
	var text [2 * len(sum)]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// loosen folds a canonical document, keeping what separates its values: of a
// number the sign, the point and the exponent stay. Its keys are sorted already.
// What is no document is folded as a text.
func loosen(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	if !json.Valid(doc) {
		return appendFolded(out, doc)
	}
	return appendLoose(out, doc)
}

func appendLoose(out []byte, raw json.RawMessage) []byte {
	switch jsonKind(raw) {
	case "object":
		out = append(out, '{')
		eachMember(raw, func(key, value json.RawMessage) {
			out = append(appendFoldedString(out, key), ':')
			out = append(appendLoose(out, value), ',')
		})
		return append(out, '}')
	case "array":
		out = append(out, '[')
		eachElement(raw, func(value json.RawMessage) {
			out = append(appendLoose(out, value), ',')
		})
		return append(out, ']')
	case "string":
		return appendFoldedString(append(out, '"'), raw)
	}
	return append(out, raw...)
}

func appendFoldedString(out []byte, quoted json.RawMessage) []byte {
	s, err := textOf(quoted)
	if err != nil { // cannot be: the document is valid
		s = quoted
	}
	return appendFolded(out, s)
}

// appendFolded adds the letters, digits and symbols of a text, folded.
func appendFolded(out, text []byte) []byte {
	if bytes.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		text = []byte(cases.Fold().String(norm.NFKC.String(string(text))))
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if !unicode.IsSpace(r) && !unicode.IsPunct(r) && !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
			out = utf8.AppendRune(out, unicode.ToLower(r))
		}
		text = text[size:]
	}
	return out
}
