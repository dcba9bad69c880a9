package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/tools"
)

//go:embed query_db.md
var queryDBText string

// Limits of one query.
const (
	queryTimeout = 20 * time.Second // of the statement, below the attempt's timeout
	queryRows    = 1000             // by default
	queryMaxRows = 5000
	queryBytes   = 4 << 20  // of all rows together
	queryMessage = 16 << 20 // of one row, as the database sends it
)

const queryDBSchema = `{
  "type": "object",
  "properties": {
    "sql": {"type": "string", "minLength": 1, "description": "one statement that reads"},
    "params": {"type": "array", "maxItems": 100, "description": "values for $1, $2, ...", "items": {"type": ["string", "number", "boolean", "null"]}},
    "max_rows": {"type": "integer", "minimum": 1, "maximum": 5000, "description": "1000 by default"}
  },
  "required": ["sql"],
  "additionalProperties": false
}`

type queryArgs struct {
	SQL     string            `json:"sql"`
	Params  []json.RawMessage `json:"params"`
	MaxRows int               `json:"max_rows"`
}

// OpenDataSource makes a pool for query_db. Nothing is connected until the first
// query. The role in the URL should be able to SELECT and nothing else; the rest
// is done here: read-only by default, cancelled at the server when a call ends,
// and no row so large that it fills the memory.
func OpenDataSource(ctx context.Context, url string) (*pgxpool.Pool, error) {
	return openSource(ctx, url, map[string]string{"application_name": "baton query_db", "default_transaction_read_only": "on"})
}

// OpenWritableSource makes a pool for change_db. The role in the URL should have
// the rights that the statements need and no others.
func OpenWritableSource(ctx context.Context, url string) (*pgxpool.Pool, error) {
	return openSource(ctx, url, map[string]string{"application_name": "baton change_db"})
}

func openSource(ctx context.Context, url string, settings map[string]string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read data source: %w", err)
	}
	c.MaxConns, c.MinConns = 4, 0
	// No statement outlives its call: release discards all of them.
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.ConnConfig.StatementCacheCapacity, c.ConnConfig.DescriptionCacheCapacity = 0, 0
	c.ConnConfig.ConnectTimeout = 10 * time.Second
	maps.Copy(c.ConnConfig.RuntimeParams, settings)
	c.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(queryMessage)
		return f
	}
	c.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 2 * time.Second}
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open data source: %w", err)
	}
	return pool, nil
}

// QueryDB is the tool query_db on one data source. The pool is that of
// OpenDataSource. Statements are not judged by their text: the role, the
// read-only transaction, the protocol that takes one statement only, and the
// rollback at the end are what keep it from writing.
func QueryDB(source string, pool *pgxpool.Pool) (tools.Tool, error) {
	q := &queryDB{source, pool, queryTimeout}
	spec := tools.Spec{
		Name: "query_db", Version: "1", Description: strings.TrimSpace(queryDBText) + "\n- The data source is " + source + ".",
		Words: map[string]tools.Words{
			"en":      {Title: "Look up data", Sentence: "Look up data"},
			"zh-Hans": {Title: "查询数据", Sentence: "查询数据"},
		},
		Schema: json.RawMessage(queryDBSchema), Example: json.RawMessage(`{"sql":"select id, status, total from orders where customer_id = $1::bigint order by id desc limit 20","params":["4711"]}`),
		Effect: tools.EffectRead, Timeout: 30 * time.Second,
		Service: func(json.RawMessage) string { return "database " + source },
		Format:  tools.Format{Strategy: tools.TableRows},
		Failures: []tools.DeclaredFailure{
			{Name: "no_such_column", Type: tools.NotFound, When: "a column does not exist"},
			{Name: "no_such_table", Type: tools.NotFound, When: "a table does not exist"},
			{Name: "wrong_sql", Type: tools.ExecutionError, When: "the statement can't be parsed or a value does not fit"},
			{Name: "not_a_read", Type: tools.PermissionDenied, When: "the statement would write, or reads what the role may not"},
			{Name: "several_statements", Type: tools.ExecutionError, When: "more than one statement"},
			{Name: "slow", Type: tools.Timeout, When: "the statement runs longer than 20 s"},
			{Name: "down", Type: tools.Unavailable, When: "the database does not answer"},
		},
	}
	return tools.Func(spec, q.run)
}

type queryDB struct {
	source  string
	pool    *pgxpool.Pool
	timeout time.Duration
}

func (q *queryDB) run(ctx context.Context, a queryArgs) (tools.Output, error) {
	params, err := textParams(a.Params)
	if err != nil {
		return tools.Output{}, err
	}
	limit := a.MaxRows
	if limit == 0 {
		limit = queryRows
	}
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return tools.Output{}, unreachable(q.source, err)
	}
	defer release(ctx, conn)
	table, err := q.read(ctx, conn.Conn(), a.SQL, params, min(limit, queryMaxRows))
	if err != nil {
		return tools.Output{}, q.explain(ctx, conn.Conn(), a.SQL, err)
	}
	data, err := json.Marshal(table)
	if err != nil {
		return tools.Output{}, fmt.Errorf("marshal rows: %w", err)
	}
	out := tools.Output{Data: data}
	switch {
	case len(table.Rows) == 0 && table.Complete:
		out.Notices = []string{fmt.Sprintf("No row matches. The query was run to its end on the data source %s.", q.source)}
	case !table.Complete:
		out.Notices = []string{fmt.Sprintf("There are more rows than the %d that were fetched; how many is not known. Filter, aggregate, or raise max_rows (at most %d).", len(table.Rows), queryMaxRows)}
	}
	return out, nil
}

// read runs one statement in a read-only transaction that is rolled back.
func (q *queryDB) read(ctx context.Context, conn *pgx.Conn, sql string, params []any, limit int) (tools.Table, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return tools.Table{}, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// The first statement; after it the transaction can't be made to write.
	const sqlLimits = `select set_config('statement_timeout', $1, true), set_config('lock_timeout', '3s', true)`
	if _, err := tx.Exec(ctx, sqlLimits, pgx.QueryExecModeExec, fmt.Sprintf("%dms", q.timeout.Milliseconds())); err != nil {
		return tools.Table{}, err
	}
	qctx, stop := context.WithCancel(ctx)
	defer stop()
	// Describe and execute, by the extended protocol: it takes one statement.
	args := append([]any{pgx.QueryExecModeDescribeExec, pgx.QueryResultFormats{pgx.TextFormatCode}}, params...)
	rows, err := tx.Query(qctx, sql, args...)
	if err != nil {
		return tools.Table{}, err
	}
	defer rows.Close()
	types := conn.TypeMap()
	table := tools.Table{Columns: []tools.Column{}, Rows: [][]json.RawMessage{}, Complete: true}
	for _, f := range rows.FieldDescriptions() {
		name := fmt.Sprintf("oid %d", f.DataTypeOID)
		if t, ok := types.TypeForOID(f.DataTypeOID); ok {
			name = t.Name
		}
		table.Columns = append(table.Columns, tools.Column{Name: f.Name, Type: name})
	}
	bytes := 0
	for rows.Next() {
		if len(table.Rows) == limit || bytes > queryBytes {
			table.Complete = false
			break
		}
		row := make([]json.RawMessage, 0, len(table.Columns))
		for i, raw := range rows.RawValues() {
			v := jsonValue(rows.FieldDescriptions()[i].DataTypeOID, raw)
			bytes += len(v) + 1
			row = append(row, v)
		}
		table.Rows = append(table.Rows, row)
	}
	table.RowCount = len(table.Rows)
	if !table.Complete {
		table.RowCount = -1
		stop() // cancels at the server; what it still sends is not wanted
		return table, nil
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return tools.Table{}, err
	}
	if len(table.Columns) == 0 {
		return tools.Table{}, tools.Fail(tools.InvalidArguments, fmt.Sprintf("The statement (%s) brings no rows.", rows.CommandTag()), "Use a SELECT.")
	}
	return table, nil
}

// textParams passes values as the model wrote them; the database reads them as
// the types that it needs.
func textParams(list []json.RawMessage) ([]any, error) {
	var out []any
	for i, raw := range list {
		var s string
		switch {
		case string(raw) == "null":
			out = append(out, nil)
			continue
		case raw[0] == '"':
			if err := json.Unmarshal(raw, &s); err != nil {
				return nil, fmt.Errorf("read param %d: %w", i+1, err)
			}
		default:
			s = string(raw)
		}
		out = append(out, s)
	}
	return out, nil
}

// jsonValue is a value in the database's text form as JSON. Numbers stay as they
// are written.
func jsonValue(oid uint32, raw []byte) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	switch oid {
	case pgtype.BoolOID:
		if string(raw) == "t" {
			return json.RawMessage("true")
		}
		return json.RawMessage("false")
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID, pgtype.OIDOID, pgtype.JSONOID, pgtype.JSONBOID:
		if json.Valid(raw) { // NaN and Infinity are not
			return json.RawMessage(append([]byte{}, raw...))
		}
	}
	b, err := json.Marshal(string(raw))
	if err != nil {
		return json.RawMessage(`"?"`)
	}
	return b
}

// release gives a connection back as if it were new (locks, settings), or closes
// it where that can't be done.
func release(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release()
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if _, err := conn.Conn().PgConn().Exec(rctx, "discard all").ReadAll(); err != nil {
		_ = conn.Conn().Close(rctx)
	}
}

func unreachable(source string, err error) error {
	if _, ok := errors.AsType[*pgconn.PgError](err); ok {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	f := tools.Fail(tools.Unavailable, fmt.Sprintf("The data source %s can't be reached.", source)).Because(err)
	f.NotSent = true
	return f
}
