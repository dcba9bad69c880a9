package secrets

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// MaxValue bounds a secret's value, in bytes.
const MaxValue = 64 << 10

// freshFor is how long values read from the database are used again: a secret
// that is changed is in use everywhere within that time.
const freshFor = 10 * time.Second

// Store keeps named secrets. Values go to tools; no page and no command shows
// one.
type Store struct {
	db   postgres.DB
	ring *Keyring

	mu     sync.Mutex
	values map[string]string
	readAt time.Time
}

// NewStore works on db with the installation's keys.
func NewStore(db postgres.DB, ring *Keyring) *Store { return &Store{db: db, ring: ring} }

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,62}$`)

const sqlSet = `
insert into secrets (name, sealed, set_by) values ($1, $2, $3)
on conflict (name) do update set sealed = excluded.sealed, set_at = now(), set_by = excluded.set_by`

// Set stores a secret under a name, in place of an earlier value. Problems:
// not_allowed, secret_name_invalid, secret_value_invalid.
func (s *Store) Set(ctx context.Context, actor auth.Actor, name, value string) error {
	if err := auth.Can(actor, auth.ManageSecrets, auth.Object{Kind: "secret", ID: name}); err != nil {
		return err
	}
	if !nameForm.MatchString(name) {
		return problem.New(problem.Invalid, "secret_name_invalid", problem.Params{"name": name}).At("name")
	}
	if value == "" || len(value) > MaxValue {
		return problem.New(problem.Invalid, "secret_value_invalid", problem.Params{"most": MaxValue >> 10}).At("value")
	}
	err := postgres.InTx(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlSet, name, s.ring.Seal([]byte(value), "secret "+name), actor.Name); err != nil {
			return fmt.Errorf("set secret: %w", err)
		}
		return auth.AuditTx(ctx, tx, actor, auth.Entry{Verb: auth.ManageSecrets, Kind: "secret", ID: name, Note: "set"})
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = nil
	return postgres.Problem(err, "")
}

const sqlNames = `select name from secrets order by name`

// Names lists the names, never a value. The problem is not_allowed.
func (s *Store) Names(ctx context.Context, actor auth.Actor) ([]string, error) {
	if err := auth.Can(actor, auth.ManageSecrets, auth.Object{Kind: "secret"}); err != nil {
		return nil, err
	}
	rows, _ := s.db.Query(ctx, sqlNames)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, postgres.Problem(err, "")
}

const sqlSealed = `select name, sealed from secrets`

// Values are all secrets by name, for tools and for what keeps them out of
// texts. They are at most ten seconds old.
func (s *Store) Values(ctx context.Context) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values != nil && time.Since(s.readAt) < freshFor {
		return s.values, nil
	}
	rows, _ := s.db.Query(ctx, sqlSealed)
	values := map[string]string{}
	var name string
	var sealed []byte
	_, err := pgx.ForEachRow(rows, []any{&name, &sealed}, func() error {
		value, err := s.ring.Open(sealed, "secret "+name)
		if err != nil {
			return fmt.Errorf("open secret %s: %w", name, err)
		}
		values[name] = string(value)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	s.values, s.readAt = values, time.Now()
	return values, nil
}
