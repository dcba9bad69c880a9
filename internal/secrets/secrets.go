// Package secrets seals values with the installation's key and opens them again,
// and derives the keys that other rooms need from it.
//
// The installation has one key of 32 bytes. No value is sealed with it itself:
// each purpose has a key derived from it (HKDF), so that a value sealed for one
// purpose can't be opened for another. A sealed value names the key that it was
// sealed with; after a rotation older keys still open, and only the newest seals.
//
//	sealed = version (1) | key id (4) | nonce (12) | AES-256-GCM(value) with tag
//
// What is sealed is bound to a context, such as the name of the secret or the
// id of the call: moved to another row it does not open.
package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// KeySize is the size of the installation's key in bytes.
const KeySize = 32

const (
	version   = 1
	idSize    = 4
	nonceSize = 12
	tagSize   = 16
)

// Errors of Open. Neither says more, on purpose.
var (
	ErrUnknownKey = errors.New("sealed with a key that is not here")
	ErrTampered   = errors.New("sealed value is damaged, or bound to another context")
)

// Keyring holds the installation's keys. It is safe for concurrent use.
type Keyring struct {
	root  []byte
	id    [idSize]byte
	seals map[[idSize]byte]cipher.AEAD
}

// NewKeyring makes a ring of the key that seals and of older ones that only open.
func NewKeyring(current []byte, older ...[]byte) (*Keyring, error) {
	k := &Keyring{root: append([]byte{}, current...), seals: map[[idSize]byte]cipher.AEAD{}}
	for i, key := range append([][]byte{current}, older...) {
		if len(key) != KeySize {
			return nil, fmt.Errorf("secret key has %d bytes, want %d", len(key), KeySize)
		}
		var id [idSize]byte
		copy(id[:], derive(key, "key id"))
		block, err := aes.NewCipher(derive(key, "seal"))
		if err != nil {
			return nil, fmt.Errorf("make cipher: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("make cipher: %w", err)
		}
		if i == 0 {
			k.id = id
		}
		if _, twice := k.seals[id]; !twice {
			k.seals[id] = aead
		}
	}
	return k, nil
}

// NewKey makes a key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
	return key
}

// Seal encrypts a value for a context. Sealing the same value twice gives two
// different texts.
func (k *Keyring) Seal(value []byte, context string) []byte {
	out := make([]byte, 1+idSize+nonceSize, 1+idSize+nonceSize+len(value)+tagSize)
	out[0] = version
	copy(out[1:], k.id[:])
	nonce := out[1+idSize:]
	_, _ = rand.Read(nonce)
	return k.seals[k.id].Seal(out, nonce, value, bind(out[:1+idSize], context))
}

// Open decrypts what Seal made for the same context. The error is ErrUnknownKey
// or ErrTampered.
func (k *Keyring) Open(sealed []byte, context string) ([]byte, error) {
	if len(sealed) < 1+idSize+nonceSize+tagSize || sealed[0] != version {
		return nil, ErrTampered
	}
	head, rest := sealed[:1+idSize], sealed[1+idSize:]
	aead, ok := k.seals[[idSize]byte(head[1:])]
	if !ok {
		return nil, ErrUnknownKey
	}
	value, err := aead.Open(nil, rest[:nonceSize], rest[nonceSize:], bind(head, context))
	if err != nil {
		return nil, ErrTampered
	}
	return value, nil
}

// Stale says whether a sealed value should be sealed anew, with the newest key.
func (k *Keyring) Stale(sealed []byte) bool {
	return len(sealed) < 1+idSize || [idSize]byte(sealed[1:1+idSize]) != k.id
}

// Derive makes the key of a purpose, 32 bytes, from the newest key: always the
// same for the same purpose, and of no use for any other.
func (k *Keyring) Derive(purpose string) []byte { return derive(k.root, "purpose "+purpose) }

func derive(key []byte, purpose string) []byte {
	out, err := hkdf.Key(sha256.New, key, nil, "baton "+purpose, KeySize)
	if err != nil { // only for lengths that no hash can give
		panic(err)
	}
	return out
}

// bind is the associated data: the head of the sealed form and the context.
func bind(head []byte, context string) []byte {
	return append(append([]byte{}, head...), context...)
}
