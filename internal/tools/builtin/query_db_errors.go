package builtin

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"baton/internal/tools"
)

// explain turns a database's error into one that helps: with the column that
// exists, the table that is meant, the limit that was hit.
func (q *queryDB) explain(ctx context.Context, conn *pgx.Conn, sql string, err error) error {
	if big, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
		return tools.Fail(tools.ExecutionError, fmt.Sprintf("A row has %d bytes; the limit is %d.", big.ActualBodyLen, queryMessage), "Select fewer or shorter columns: left(text, 1000), length(text).")
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	f := tools.Classify(err)
	if near := around(sql, int(pg.Position)); near != "" {
		f.With("near", near)
	}
	switch pg.Code {
	case "42703", "42P01", "42P10", "42702":
		q.suggest(ctx, conn, f, pg, sql)
	case "42601":
		if strings.Contains(pg.Message, "multiple commands") {
			f.Message = "Several statements in one call; only one is run."
			f.Hint = []string{"Send one statement per call, without anything behind it."}
			return f
		}
		f.Hint = []string{"Mend the SQL at context.near; it is PostgreSQL."}
	case "25006":
		f.Message = "The statement would write (" + pg.Message + "); query_db can only read."
		f.Hint = []string{"Write a SELECT.", "If something has to be changed, use a tool that is made for it, or ask a person."}
	case "42501":
		f.Hint = []string{"Use tables that can be read; context.tables lists some.", "If this data is needed, ask a person: only the operator can give the right."}
		q.tables(ctx, conn, f)
	case "57014":
		f.Message = fmt.Sprintf("The query was ended at its limit of %s.", q.timeout)
		f.Hint = []string{"Filter more, on columns that have an index; ask for less.", "EXPLAIN shows what takes long."}
		f.With("limit_ms", q.timeout.Milliseconds())
	case "22P02", "42804", "42883":
		f.Hint = []string{"Check the types; cast params where one is needed: $1::bigint, $2::date.", "Mend the SQL at context.near."}
	}
	return f
}

// identifier is a name in SQL, with its qualifiers.
var identifier = regexp.MustCompile(`^(?:"[^"]+"|[\p{L}_][\p{L}\p{N}_$]*)(?:\.(?:"[^"]+"|[\p{L}_][\p{L}\p{N}_$]*))*`)

// at is the SQL from the position that the database reports, in characters from 1.
func at(sql string, position int) string {
	r := []rune(sql)
	if position < 1 || position > len(r) {
		return ""
	}
	return string(r[position-1:])
}

func around(sql string, position int) string {
	r := []rune(sql)
	if position < 1 || position > len(r)+1 {
		return ""
	}
	return string(r[max(0, position-31):min(len(r), position+40)])
}

// suggest names the column or the table that is meant.
func (q *queryDB) suggest(ctx context.Context, conn *pgx.Conn, f *tools.Failure, pg *pgconn.PgError, sql string) {
	name := strings.ReplaceAll(identifier.FindString(at(sql, int(pg.Position))), `"`, "")
	if name == "" {
		return
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	columns := q.catalog(ctx, conn)
	tables := names(columns, func(c catalogColumn) string { return c.table })
	if pg.Code == "42P01" {
		f.With("tables", tools.FirstNames(tables))
		f.Hint = []string{"Use a table that exists; context.tables lists some."}
		if near := tools.Nearest(last, tables); near != "" {
			f.Message = fmt.Sprintf("There is no table %q. The nearest is %q.", name, near)
			f.With("nearest", near).With("columns", tools.FirstNames(names(columns, func(c catalogColumn) string {
				if c.table == near {
					return c.column
				}
				return ""
			})))
		}
		return
	}
	// Columns of the tables that the statement speaks of; of all, if it names none.
	var mine []catalogColumn
	lower := strings.ToLower(sql)
	for _, c := range columns {
		if strings.Contains(lower, strings.ToLower(c.table)) {
			mine = append(mine, c)
		}
	}
	if len(mine) == 0 {
		mine = columns
	}
	candidates := names(mine, func(c catalogColumn) string { return c.column })
	f.Hint = []string{"Use a column that exists; context.columns lists them."}
	if near := tools.Nearest(last, candidates); near != "" {
		where := names(mine, func(c catalogColumn) string {
			if c.column == near {
				return c.table
			}
			return ""
		})
		f.Message = fmt.Sprintf("There is no column %q. The nearest is %q, in %s.", name, near, tools.SomeNames(where))
		f.With("nearest", near)
	}
	f.With("columns", tools.FirstNames(names(mine, func(c catalogColumn) string { return c.table + "." + c.column })))
}

func (q *queryDB) tables(ctx context.Context, conn *pgx.Conn, f *tools.Failure) {
	f.With("tables", tools.FirstNames(names(q.catalog(ctx, conn), func(c catalogColumn) string { return c.table })))
}

type catalogColumn struct{ table, column string }

const sqlCatalog = `
	select case when n.nspname = any (current_schemas(false)) then c.relname else n.nspname || '.' || c.relname end, a.attname
	from pg_catalog.pg_class c
	join pg_catalog.pg_namespace n on n.oid = c.relnamespace
	join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
	where c.relkind in ('r', 'v', 'm', 'p', 'f') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\_%'
	  and has_schema_privilege(n.oid, 'usage') and has_column_privilege(c.oid, a.attnum, 'select')
	order by 1, a.attnum
	limit 3000`

// catalog lists what the role can read. It is only for hints: an error means
// that there are none.
func (q *queryDB) catalog(ctx context.Context, conn *pgx.Conn) []catalogColumn {
	cctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	rows, err := conn.Query(cctx, sqlCatalog, pgx.QueryExecModeExec)
	if err != nil {
		return nil
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c catalogColumn, err error) {
		err = row.Scan(&c.table, &c.column)
		return c, err
	})
	if err != nil {
		return nil
	}
	return list
}

// names are the different texts that f gives, without empty ones.
func names(columns []catalogColumn, f func(catalogColumn) string) []string {
	var out []string
	for _, c := range columns {
		if n := f(c); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
