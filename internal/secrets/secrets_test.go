package secrets_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"baton/internal/secrets"
)

func ring(t testing.TB, current []byte, older ...[]byte) *secrets.Keyring {
	t.Helper()
	k, err := secrets.NewKeyring(current, older...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// R: K5
func TestSealedOpensOnlyInItsContextAndWhole(t *testing.T) {
	t.Parallel()
	k := ring(t, secrets.NewKey())
	rapid.Check(t, func(t *rapid.T) {
		value, context := rapid.SliceOf(rapid.Byte()).Draw(t, "value"), rapid.String().Draw(t, "context")
		sealed := k.Seal(value, context)
		if len(value) > 7 && bytes.Contains(sealed, value) {
			t.Fatal("the value stands in the sealed form")
		}
		if got, err := k.Open(sealed, context); err != nil || !bytes.Equal(got, value) {
			t.Fatalf("got %q, %v", got, err)
		}
		if _, err := k.Open(sealed, context+"x"); !errors.Is(err, secrets.ErrTampered) {
			t.Fatalf("opened in another context: %v", err)
		}
		i := rapid.IntRange(0, len(sealed)-1).Draw(t, "at")
		sealed[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := k.Open(sealed, context); err == nil {
			t.Fatalf("opened with byte %d changed", i)
		}
		if _, err := k.Open(sealed[:i], context); err == nil {
			t.Fatalf("opened %d bytes of it", i)
		}
	})
}

// R: K5
func TestRotation(t *testing.T) {
	t.Parallel()
	old, next := secrets.NewKey(), secrets.NewKey()
	sealed := ring(t, old).Seal([]byte("v"), "c")
	both := ring(t, next, old)
	if got, err := both.Open(sealed, "c"); err != nil || string(got) != "v" || !both.Stale(sealed) {
		t.Errorf("%q, %v", got, err)
	}
	again := both.Seal([]byte("v"), "c")
	if both.Stale(again) || bytes.Equal(again, sealed) {
		t.Error("sealed with the old key")
	}
	if _, err := ring(t, next).Open(sealed, "c"); !errors.Is(err, secrets.ErrUnknownKey) {
		t.Errorf("%v", err)
	}
	if _, err := secrets.NewKeyring([]byte("short")); err == nil {
		t.Error("a short key was taken")
	}
}

// R: K5
func TestDerivedKeysDiffer(t *testing.T) {
	t.Parallel()
	key := secrets.NewKey()
	a := ring(t, key)
	if !bytes.Equal(a.Derive("x"), ring(t, key).Derive("x")) || bytes.Equal(a.Derive("x"), a.Derive("y")) || bytes.Equal(a.Derive("x"), key) || bytes.Equal(a.Derive("x"), ring(t, secrets.NewKey()).Derive("x")) {
		t.Error("derived keys are not a function of key and purpose")
	}
}

// R: K5
func TestSameValueSealsDifferently(t *testing.T) {
	t.Parallel()
	k := ring(t, secrets.NewKey())
	if bytes.Equal(k.Seal([]byte("v"), "c"), k.Seal([]byte("v"), "c")) {
		t.Error("equal values can be told")
	}
}
