// Package idempotency lets a client send a request twice and have it done once.
//
// A client that gets no reply can't know whether its request arrived. It names
// the request with a key of its own (the header Idempotency-Key) and sends it
// again, as often as it likes: the first time the request is done, and then its
// reply is repeated.
//
// The reply is stored in the transaction of the verb that it answers: there is
// no moment at which the verb is done and the key unknown, or the other way
// round. A verb that takes keys has a *Request in its arguments and does
//
//	if done, err := once.BeginTx(ctx, tx); done || err != nil {
//		return err
//	}
//	... // the verb's own work
//	return once.StoreTx(ctx, tx, reply)
//
// Two requests with one key at the same moment: the second waits at BeginTx
// until the first has committed, and then repeats its reply, or, if the first
// rolled back, is done itself.
package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/problem"
)

// MaxKey is how long a key may be, in bytes.
const MaxKey = 255

// Lifetime is how long a reply can be had again. A key that is older names a
// new request.
const Lifetime = 24 * time.Hour

// Request is one request that its sender has named. A nil Request has no name:
// it is done whenever it comes.
type Request struct {
	actor, key string
	hash       []byte
	reply      json.RawMessage
	replayed   bool
}

// New names a request. actor is whose key it is: nobody gets another's reply.
// parts are all that makes it this request (method, path, body). The problem
// is idempotency_key_invalid.
func New(actor, key string, parts ...string) (*Request, error) {
	plain := func(r rune) bool { return r > ' ' && r <= '~' }
	if key == "" || len(key) > MaxKey || strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
		return nil, problem.New(problem.Malformed, "idempotency_key_invalid", problem.Params{"most": MaxKey}).At("Idempotency-Key")
	}
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part) // the length keeps the parts apart
	}
	return &Request{actor: actor, key: key, hash: sum.Sum(nil)}, nil
}

const (
	// A conflicting row that has not committed makes this wait for it.
	sqlBegin = `
insert into idempotency_keys as k (actor, key, request_hash, reply) values ($1, $2, $3, 'null')
on conflict (actor, key) do update set request_hash = excluded.request_hash, reply = 'null', created_at = now()
where k.created_at < now() - $4::interval
returning true`
	sqlReply = `select request_hash, reply from idempotency_keys where actor = $1 and key = $2`
)

// BeginTx comes first in the verb's transaction. done says that the request was
// done before: the verb does nothing, and Reply has what it replied then. The
// problem is idempotency_key_reused: the key named another request.
func (r *Request) BeginTx(ctx context.Context, tx pgx.Tx) (done bool, err error) {
	if r == nil {
		return false, nil
	}
	var isNew bool
	err = tx.QueryRow(ctx, sqlBegin, r.actor, r.key, r.hash, Lifetime).Scan(&isNew)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("begin request: %w", err)
	}
	var hash []byte
	if err := tx.QueryRow(ctx, sqlReply, r.actor, r.key).Scan(&hash, &r.reply); err != nil {
		return false, fmt.Errorf("read reply: %w", err)
	}
	if !bytes.Equal(hash, r.hash) {
		return false, problem.New(problem.Invalid, "idempotency_key_reused", nil).At("Idempotency-Key")
	}
	r.replayed = true
	return true, nil
}

const sqlStore = `update idempotency_keys set reply = $3 where actor = $1 and key = $2`

// StoreTx comes last in the verb's transaction. reply is marshalled to JSON.
func (r *Request) StoreTx(ctx context.Context, tx pgx.Tx, reply any) error {
	if r == nil {
		return nil
	}
	text, err := json.Marshal(reply)
	if err != nil {
		return fmt.Errorf("marshal reply: %w", err)
	}
	if _, err := tx.Exec(ctx, sqlStore, r.actor, r.key, text); err != nil {
		return fmt.Errorf("store reply: %w", err)
	}
	r.reply = text
	return nil
}

// Reply is the reply to the byte, the same each time, and whether it is a
// repetition. It is nil before the verb has committed, and for a request
// without a name.
func (r *Request) Reply() (reply json.RawMessage, replayed bool) {
	if r == nil {
		return nil, false
	}
	return r.reply, r.replayed
}
