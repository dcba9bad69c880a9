// Package id makes the names of things: UUIDv7 values, typed by what they
// name, so that a session's id can't be passed where an escalation's is due.
//
// On the outside an id is a prefix and 32 hex digits (ses_0193...). In
// Postgres it is a uuid. UUIDv7 grows with time, so new rows land at the right
// edge of their indexes. A tool call has no id of its own: it is the n-th call
// of its session (call_<session's digits>_<n>).
package id

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Kind tells types of ids apart; its text is the prefix on the outside.
type Kind interface{ Prefix() string }

// Of is an id of one kind. The zero value names nothing.
type Of[K Kind] struct{ u uuid.UUID }

type (
	sessionKind    struct{}
	escalationKind struct{}
	decisionKind   struct{}
	personKind     struct{}
	teamKind       struct{}
	keyKind        struct{}
	agentKind      struct{}
	replicaKind    struct{}
)

func (sessionKind) Prefix() string    { return "ses_" }
func (escalationKind) Prefix() string { return "esc_" }
func (decisionKind) Prefix() string   { return "dec_" }
func (personKind) Prefix() string     { return "per_" }
func (teamKind) Prefix() string       { return "team_" }
func (keyKind) Prefix() string        { return "key_" }
func (agentKind) Prefix() string      { return "agt_" }
func (replicaKind) Prefix() string    { return "rep_" }

// The kinds of ids that Baton has.
type (
	Session    = Of[sessionKind]
	Escalation = Of[escalationKind]
	Decision   = Of[decisionKind]
	Person     = Of[personKind]
	Team       = Of[teamKind]
	Key        = Of[keyKind]
	Agent      = Of[agentKind]
	Replica    = Of[replicaKind]
)

// New makes an id that is greater than those made before it on this machine.
// For instance: id.New[id.Session]().
func New[T ~struct{ u uuid.UUID }]() T {
	return T(struct{ u uuid.UUID }{uuid.Must(uuid.NewV7())})
}

// From is the least id that New makes from t on: what was made since then is
// found by an index on ids. For instance: id.From[id.Session](t).
func From[T ~struct{ u uuid.UUID }](t time.Time) T {
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:], uint64(t.UnixMilli())<<16)
	u[6], u[8] = 0x70, 0x80 // version and variant
	return T(struct{ u uuid.UUID }{u})
}

// Parse reads an id of type T from its outside form. It accepts exactly what
// String writes; the error names the prefix that was due.
func Parse[T interface {
	Of[K]
}, K Kind](s string) (Of[K], error) {
	var v Of[K]
	err := v.UnmarshalText([]byte(s))
	return v, err
}

// IsZero says whether the id names nothing.
func (v Of[K]) IsZero() bool { return v.u == uuid.Nil }

// Digits are the 32 hex digits without the prefix.
func (v Of[K]) Digits() string { return hex.EncodeToString(v.u[:]) }

// String is the id's outside form, empty for the zero id.
func (v Of[K]) String() string {
	if v.IsZero() {
		return ""
	}
	var k K
	return k.Prefix() + v.Digits()
}

// MarshalText writes the outside form.
func (v Of[K]) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the outside form; the empty text is the zero id.
func (v *Of[K]) UnmarshalText(text []byte) error {
	var k K
	s := string(text)
	if s == "" {
		*v = Of[K]{}
		return nil
	}
	digits, ok := strings.CutPrefix(s, k.Prefix())
	if !ok || len(digits) != 32 || strings.ToLower(digits) != digits {
		return fmt.Errorf("id %q is not %s and 32 hex digits", s, k.Prefix())
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return fmt.Errorf("id %q is not %s and 32 hex digits", s, k.Prefix())
	}
	copy(v.u[:], raw)
	return nil
}

// ScanUUID implements pgtype.UUIDScanner; NULL becomes the zero id.
func (v *Of[K]) ScanUUID(src pgtype.UUID) error {
	if !src.Valid {
		*v = Of[K]{}
		return nil
	}
	v.u = src.Bytes
	return nil
}

// UUIDValue implements pgtype.UUIDValuer; the zero id becomes NULL.
func (v Of[K]) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: v.u, Valid: !v.IsZero()}, nil
}

// Call names the n-th tool call of a session, counted from 1.
type Call struct {
	Session Session
	N       int
}

// String is call_<session's digits>_<n>, empty for the zero call.
func (c Call) String() string {
	if c.N == 0 {
		return ""
	}
	return "call_" + c.Session.Digits() + "_" + strconv.Itoa(c.N)
}

// ParseCall reads what Call.String writes.
func ParseCall(s string) (Call, error) {
	bad := fmt.Errorf("id %q is not call_, 32 hex digits, _ and a number from 1", s)
	rest, ok := strings.CutPrefix(s, "call_")
	if !ok || len(rest) < 34 || rest[32] != '_' {
		return Call{}, bad
	}
	ses, err := Parse[Session]("ses_" + rest[:32])
	if err != nil {
		return Call{}, bad
	}
	n, err := strconv.Atoi(rest[33:])
	if err != nil || n < 1 || strconv.Itoa(n) != rest[33:] {
		return Call{}, bad
	}
	return Call{ses, n}, nil
}

// MarshalText writes the outside form.
func (c Call) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the outside form; the empty text is the zero call.
func (c *Call) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = Call{}
		return nil
	}
	v, err := ParseCall(string(text))
	if err == nil {
		*c = v
	}
	return err
}
