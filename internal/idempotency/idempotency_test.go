package idempotency_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/idempotency"
	"baton/internal/postgres"
	"baton/internal/postgres/pgtest"
	"baton/internal/problem"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func named(t *testing.T, actor, key, body string) *idempotency.Request {
	t.Helper()
	r, err := idempotency.New(actor, key, "POST", "/things", body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verb adds a row to things, once, and replies with its number.
func verb(ctx context.Context, db postgres.DB, once *idempotency.Request, fault error) (did bool, err error) {
	err = postgres.InTx(ctx, db, func(tx pgx.Tx) error {
		did = false
		if done, err := once.BeginTx(ctx, tx); done || err != nil {
			return err
		}
		did = true
		var n int
		if err := tx.QueryRow(ctx, `insert into things default values returning n`).Scan(&n); err != nil {
			return err
		}
		if fault != nil {
			return fault
		}
		return once.StoreTx(ctx, tx, map[string]int{"n": n})
	})
	return did, err
}

func things(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := pgtest.New(t)
	if _, err := db.Exec(t.Context(), `create table things (n serial)`); err != nil {
		t.Fatal(err)
	}
	return db
}

func count(t *testing.T, db *pgxpool.Pool) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `select count(*) from things`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// R: I1
// case: fault F17
func TestARequestSentTwiceIsDoneOnceAndRepliedToAlike(t *testing.T) {
	t.Parallel()
	db := things(t)
	var first string
	for i := range 5 {
		once := named(t, "key_1", "k", "body")
		if _, err := verb(t.Context(), db, once, nil); err != nil {
			t.Fatal(err)
		}
		reply, replayed := once.Reply()
		if i == 0 {
			first = string(reply)
		}
		if string(reply) != first || first == "" || replayed != (i > 0) {
			t.Errorf("reply %d is %s (replayed: %v), the first was %s", i+1, reply, replayed, first)
		}
	}
	if n := count(t, db); n != 1 {
		t.Errorf("it was done %d times", n)
	}
}

// R: I1
// case: fault F17
func TestAKeyOfAnotherRequestIsRefused(t *testing.T) {
	t.Parallel()
	db := things(t)
	if _, err := verb(t.Context(), db, named(t, "key_1", "k", "body"), nil); err != nil {
		t.Fatal(err)
	}
	_, err := verb(t.Context(), db, named(t, "key_1", "k", "another body"), nil)
	if !problem.Is(err, "idempotency_key_reused") || problem.From(err).Field != "Idempotency-Key" {
		t.Errorf("another body: %v", err)
	}
	// A key is its sender's own, and without one nothing is remembered.
	for _, other := range []*idempotency.Request{named(t, "key_2", "k", "body"), nil, nil} {
		if did, err := verb(t.Context(), db, other, nil); err != nil || !did {
			t.Errorf("another sender's request: done %v, %v", did, err)
		}
	}
	if n := count(t, db); n != 4 {
		t.Errorf("%d things, want 4", n)
	}
}

// R: I1
func TestOfRequestsAtTheSameMomentOneIsDone(t *testing.T) {
	t.Parallel()
	db := things(t)
	const clients = 8
	replies, errs := make([]string, clients), make([]error, clients)
	var group sync.WaitGroup
	for i := range clients {
		once := named(t, "key_1", "k", "body")
		group.Go(func() {
			_, errs[i] = verb(t.Context(), db, once, nil)
			reply, _ := once.Reply()
			replies[i] = string(reply)
		})
	}
	group.Wait()
	for i := range clients {
		if errs[i] != nil || replies[i] != replies[0] || replies[i] == "" {
			t.Errorf("client %d: %s, %v; client 0 got %s", i, replies[i], errs[i], replies[0])
		}
	}
	if n := count(t, db); n != 1 {
		t.Errorf("it was done %d times", n)
	}
}

// R: I1
func TestARequestThatFailedIsDoneWhenItComesAgain(t *testing.T) {
	t.Parallel()
	db := things(t)
	fault := errors.New("the verb failed")
	if _, err := verb(t.Context(), db, named(t, "key_1", "k", "body"), fault); !errors.Is(err, fault) {
		t.Fatal(err)
	}
	if did, err := verb(t.Context(), db, named(t, "key_1", "k", "another body"), nil); err != nil || !did {
		t.Errorf("after a failure: done %v, %v", did, err)
	}
	if n := count(t, db); n != 1 {
		t.Errorf("%d things, want 1", n)
	}
}

func TestAnOldKeyNamesANewRequest(t *testing.T) {
	t.Parallel()
	db := things(t)
	if _, err := verb(t.Context(), db, named(t, "key_1", "k", "body"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `update idempotency_keys set created_at = now() - interval '25 h'`); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if did, err := verb(t.Context(), db, named(t, "key_1", "k", "another body"), nil); err != nil || did != want {
			t.Errorf("time %d after a day: done %v, %v", i+1, did, err)
		}
	}
}

func TestKeysAreShortPlainTexts(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "a b", "a\nb", "ключ", strings.Repeat("k", 256)} {
		if _, err := idempotency.New("key_1", key); !problem.Is(err, "idempotency_key_invalid") {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if _, err := idempotency.New("key_1", strings.Repeat("k", 255)); err != nil {
		t.Errorf("a long key: %v", err)
	}
}
