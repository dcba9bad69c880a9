package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"baton/internal/problem"
	"baton/internal/secrets"
)

// openKeyring is what seals and derives with the installation's key. Problems
// as for masterKey.
func openKeyring(c config) (*secrets.Keyring, error) {
	key, err := masterKey(c)
	if err != nil {
		return nil, err
	}
	return secrets.NewKeyring(key)
}

// masterKey is the key that all others are derived from: what is sealed at rest
// and what approvals are bound with. It is the setting; or, with the own
// Postgres, a file beside its data, made on first use. Another's database
// without a key is refused: a key in this machine's files would be lost to the
// next replica. Problems: secret_key_missing, secret_key_unreadable,
// data_dir_unwritable.
func masterKey(c config) ([]byte, error) {
	if key := c.secretKey(); key != "" {
		return hex.DecodeString(key) // its shape was checked with the settings
	}
	if c.databaseURL() != "" {
		return nil, problem.New(problem.Invalid, "secret_key_missing", nil).At("secret_key")
	}
	path := c.keyFile()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newKeyFile(c.dataDir(), path)
	}
	key, hexErr := hex.DecodeString(strings.TrimSpace(string(text)))
	if err := errors.Join(err, hexErr); err != nil || len(key) != 32 {
		return nil, problem.Wrap(err, problem.Unavailable, "secret_key_unreadable", problem.Params{"file": path})
	}
	return key, nil
}

// keyFile is where the key stands that no setting gives.
func (c config) keyFile() string { return filepath.Join(c.dataDir(), "secret.key") }

// newKeyFile makes the key. Of two processes that do so at once one wins: the
// file appears whole, by a link, and never replaces one that is there.
func newKeyFile(dir, path string) ([]byte, error) {
	unwritable := func(err error) error {
		return problem.Wrap(err, problem.Unavailable, "data_dir_unwritable", problem.Params{"dir": dir})
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, unwritable(err)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	next, err := os.CreateTemp(dir, "secret.key.*")
	if err != nil {
		return nil, unwritable(err)
	}
	defer os.Remove(next.Name())
	_, err = next.WriteString(hex.EncodeToString(key) + "\n")
	if err := errors.Join(err, next.Sync(), next.Close()); err != nil {
		return nil, unwritable(err)
	}
	err = os.Link(next.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, unwritable(err)
		}
		return hex.DecodeString(strings.TrimSpace(string(text)))
	}
	if err != nil {
		return nil, unwritable(err)
	}
	return key, nil
}
