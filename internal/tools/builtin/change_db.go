package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/tools"
)

// ChangeDBPrefix begins the names of the tools that run statements; what an
// agent lists is one of them, or change_db for all of its data source.
const ChangeDBPrefix = "change_db__"

// changeTimeout bounds a statement, below the attempt's timeout.
const changeTimeout = 20 * time.Second

// changeRows is how many returned rows are shown.
const changeRows = 100

// Statement is one change that an operator has written.
type Statement struct {
	Name        string
	Words       map[string]tools.Words
	Description string
	SQL         string // with @name for each of Fields
	Verify      string // a SELECT of one true or false; empty: nothing tells
	Schema      json.RawMessage
	Example     json.RawMessage
	Sensitive   []string
	Fields      []string // the places for values; of money, name.value and name.currency
	Effect      tools.Effect
	MaxRows     int64
	ReasonCodes []string
	Claims      []string
}

// ChangeDB is the tool that runs one statement on a data source, in a transaction
// of its own. The pool is that of OpenWritableSource. The error is about SQL and
// parameters that don't fit each other.
func ChangeDB(source string, pool *pgxpool.Pool, s Statement) (tools.Tool, error) {
	c := &changeDB{source: source, pool: pool, s: s}
	if err := c.fits(s.SQL, true); err != nil {
		return nil, fmt.Errorf("statement %s: %w", s.Name, err)
	}
	spec := tools.Spec{
		Name: ChangeDBPrefix + s.Name, Version: "1", Description: strings.TrimSpace(s.Description),
		Words: s.Words, Schema: s.Schema, Example: s.Example, Sensitive: s.Sensitive,
		Effect: s.Effect, Timeout: 30 * time.Second, ReasonCodes: s.ReasonCodes, Claims: s.Claims,
		Service: func(json.RawMessage) string { return "database " + source },
		Failures: []tools.DeclaredFailure{
			{Name: "no_row", Type: tools.NotFound, When: "no row fits the values; nothing is changed"},
			{Name: "too_many_rows", Type: tools.Conflict, When: fmt.Sprintf("more than %d rows would be changed; nothing is", s.MaxRows)},
			{Name: "refused", Type: tools.Conflict, When: "a rule of the database forbids it; nothing is changed"},
			{Name: "wrong_value", Type: tools.InvalidArguments, When: "a value does not fit its column"},
			{Name: "locked", Type: tools.Unavailable, When: "others hold the rows for longer than 3 s"},
			{Name: "cut", Type: tools.OutcomeUnknown, When: "the connection is cut while the change is committed"},
			{Name: "down", Type: tools.Unavailable, When: "the database does not answer"},
		},
	}
	if s.Verify != "" {
		if err := c.fits(s.Verify, false); err != nil {
			return nil, fmt.Errorf("verify of statement %s: %w", s.Name, err)
		}
		spec.Verify = c.verify
	}
	c.spec = spec
	return c, nil
}

// PrepareStatement has a database read a statement and its question, without
// running either.
func PrepareStatement(ctx context.Context, conn *pgx.Conn, s Statement) error {
	c := &changeDB{s: s}
	for _, sql := range []string{s.SQL, s.Verify} {
		if sql == "" {
			continue
		}
		if err := c.fits(sql, sql == s.SQL); err != nil {
			return err
		}
		bound, _, err := c.bind(sql, nil)
		if err == nil {
			_, err = conn.Prepare(ctx, "", bound)
		}
		if err != nil {
			return fmt.Errorf("prepare statement %s: %w", s.Name, err)
		}
	}
	return nil
}

type changeDB struct {
	source string
	pool   *pgxpool.Pool
	s      Statement
	spec   tools.Spec
}

// changed is what a statement has done.
type changed struct {
	RowsAffected int64             `json:"rows_affected"`
	Columns      []tools.Column    `json:"columns,omitempty"`
	Rows         []json.RawMessage `json:"rows,omitempty"` // what the statement returns, as lists of values
}

// Spec is what the harness knows of the statement.
func (c *changeDB) Spec() tools.Spec { return c.spec }

// Run changes what the statement says, or nothing.
func (c *changeDB) Run(ctx context.Context, raw json.RawMessage) (tools.Output, error) {
	tools.NothingSent(ctx)
	var args map[string]any
	if err := decodeNumbers(raw, &args); err != nil {
		return tools.Output{}, err
	}
	sql, values, err := c.bind(c.s.SQL, args)
	if err != nil {
		return tools.Output{}, err
	}
	tx, err := c.begin(ctx, pgx.ReadWrite)
	if err != nil {
		return tools.Output{}, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	done, err := c.change(ctx, tx, sql, values)
	if err != nil {
		return tools.Output{}, notDone(err)
	}
	switch {
	case done.RowsAffected == 0:
		return tools.Output{}, notDone(tools.Fail(tools.NotFound, "Nothing was changed: no row fits these values.", "Look up what is there, then decide again."))
	case done.RowsAffected > c.s.MaxRows:
		return tools.Output{}, notDone(tools.Fail(tools.Conflict, fmt.Sprintf("Nothing was changed: it would be %d rows, and the limit is %d.", done.RowsAffected, c.s.MaxRows),
			"Use values that fit fewer rows.", "If all of them have to be changed, ask a person.").With("rows", done.RowsAffected).With("limit", c.s.MaxRows))
	}
	tools.Sending(ctx)
	if err := tx.Commit(ctx); err != nil {
		return tools.Output{}, committed(err)
	}
	data, err := json.Marshal(done)
	return tools.Output{Data: data}, err
}

// change runs the statement, by the protocol that takes one only.
func (c *changeDB) change(ctx context.Context, tx pgx.Tx, sql string, values []any) (changed, error) {
	args := append([]any{pgx.QueryExecModeDescribeExec, pgx.QueryResultFormats{pgx.TextFormatCode}}, values...)
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return changed{}, err
	}
	defer rows.Close()
	var done changed
	for _, f := range rows.FieldDescriptions() {
		name := fmt.Sprintf("oid %d", f.DataTypeOID)
		if t, ok := tx.Conn().TypeMap().TypeForOID(f.DataTypeOID); ok {
			name = t.Name
		}
		done.Columns = append(done.Columns, tools.Column{Name: f.Name, Type: name})
	}
	for rows.Next() {
		if len(done.Rows) == changeRows {
			continue // counted by the database
		}
		row := make([]json.RawMessage, 0, len(done.Columns))
		for i, raw := range rows.RawValues() {
			row = append(row, jsonValue(rows.FieldDescriptions()[i].DataTypeOID, raw))
		}
		b, err := json.Marshal(row)
		if err != nil {
			return done, err
		}
		done.Rows = append(done.Rows, b)
	}
	rows.Close()
	done.RowsAffected = rows.CommandTag().RowsAffected()
	return done, rows.Err()
}

// begin begins a transaction with limits of time.
func (c *changeDB) begin(ctx context.Context, mode pgx.TxAccessMode) (pgx.Tx, error) {
	tx, err := c.pool.BeginTx(ctx, pgx.TxOptions{AccessMode: mode})
	if err != nil {
		return nil, unreachable(c.source, err)
	}
	const sqlLimits = `select set_config('statement_timeout', $1, true), set_config('lock_timeout', '3s', true)`
	if _, err := tx.Exec(ctx, sqlLimits, pgx.QueryExecModeExec, fmt.Sprintf("%dms", changeTimeout.Milliseconds())); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, notDone(err)
	}
	return tx, nil
}

// bind puts the values of a call in the places that a statement has for them.
// Missing ones are null.
func (c *changeDB) bind(sql string, args map[string]any) (string, []any, error) {
	values := pgx.StrictNamedArgs{}
	for _, field := range c.s.Fields {
		name := strings.ReplaceAll(field, ".", "_")
		if hasPlace(sql, name) {
			values[name] = valueAt(args, field)
		}
	}
	return values.RewriteQuery(context.Background(), nil, sql, nil)
}

// fits says what is wrong between a statement and its parameters: a place without
// a parameter and, of the statement itself, a parameter without a place.
func (c *changeDB) fits(sql string, all bool) error {
	if _, _, err := c.bind(sql, nil); err != nil {
		return err
	}
	for _, field := range c.s.Fields {
		name, part, inside := strings.Cut(field, ".")
		if all && !inside && !hasPlace(sql, name) {
			return fmt.Errorf("the parameter %s has no place @%s in the SQL", name, name)
		}
		if all && inside && !hasPlace(sql, name+"_"+part) {
			return fmt.Errorf("the parameter %s has no place @%s_%s in the SQL", name, name, part)
		}
	}
	return nil
}

// hasPlace says whether @name stands in SQL.
func hasPlace(sql, name string) bool {
	for rest := sql; ; {
		_, after, found := strings.Cut(rest, "@"+name)
		if !found {
			return false
		}
		if after == "" || !identifierByte(after[0]) {
			return true
		}
		rest = after
	}
}

func identifierByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// valueAt is a value as the database reads it: in text.
func valueAt(args map[string]any, field string) any {
	name, part, inside := strings.Cut(field, ".")
	v, there := args[name]
	if inside {
		object, _ := v.(map[string]any)
		v, there = object[part]
	}
	if !there {
		return nil
	}
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return v
	case json.Number:
		return v.String()
	case map[string]any, []any:
		return nil // money as a whole has no place of its own
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return string(b)
	}
}

// decodeNumbers reads JSON with its numbers as they are written.
func decodeNumbers(doc json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return d.Decode(into)
}

// notDone is an error before the commit: the transaction is taken back.
func notDone(err error) error {
	f := tools.Classify(err)
	f.NotSent, f.Unsure = true, false
	return f
}

// committed is an error of the commit itself. A rule that the database found broken
// is sure; a server or a connection that went away tells nothing.
func committed(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); pgconn.SafeToRetry(err) || ok && !slices.Contains([]string{"08", "57", "58", "XX"}, pg.Code[:min(2, len(pg.Code))]) {
		return notDone(err)
	}
	f := tools.Classify(err)
	f.NotSent, f.Unsure = false, true
	return f
}

// verify asks the statement's own question.
func (c *changeDB) verify(ctx context.Context, args json.RawMessage, _ string) (tools.Landed, error) {
	var named map[string]any
	if err := decodeNumbers(args, &named); err != nil {
		return tools.LandUnknown, err
	}
	sql, values, err := c.bind(c.s.Verify, named)
	if err != nil {
		return tools.LandUnknown, err
	}
	tx, err := c.begin(ctx, pgx.ReadOnly)
	if err != nil {
		return tools.LandUnknown, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	var landed *bool
	if err := tx.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeDescribeExec}, values...)...).Scan(&landed); err != nil {
		return tools.LandUnknown, err
	}
	switch {
	case landed == nil:
		return tools.LandUnknown, nil
	case *landed:
		return tools.DidLand, nil
	}
	return tools.DidNotLand, nil
}
