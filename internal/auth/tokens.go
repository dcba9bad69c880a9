package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"strings"
)

// newToken is a secret of 256 bits for a link or a cookie.
func newToken() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// keyPrefix lets people and secret scanners recognise a key of ours.
const keyPrefix = "baton_"

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newKey is a secret of 160 bits behind our prefix, with a checksum, so that a
// mistyped or cut key is told from a wrong one without asking the database.
func newKey() string {
	var raw [20]byte
	_, _ = rand.Read(raw[:])
	body := base32Lower.EncodeToString(raw[:])
	return keyPrefix + body + checksum(body)
}

func wellFormedKey(key string) bool {
	body, ok := strings.CutPrefix(key, keyPrefix)
	return ok && len(body) == 32+6 && checksum(body[:32]) == body[32:]
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return base32Lower.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})[:6]
}

// hash is what is stored of a token. Tokens are random, so a plain digest is
// enough: there is nothing to guess.
func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func hint(key string) string { return fmt.Sprintf("…%s", key[len(key)-4:]) }
