package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/definition"
	"baton/internal/problem"
	"baton/internal/tools/builtin"
)

// examineSources looks whether data sources answer, and whether the role that
// agents read with can do more than read.
func examineSources(ctx context.Context, sources map[string]definition.DataSource) (findings []finding) {
	for _, name := range sortedNames(sources) {
		f := finding{subject: "data source " + name}
		more, err := rightsOf(ctx, sources[name].URL)
		switch {
		case err != nil:
			f.err = problem.Wrap(err, problem.Unavailable, "source_unreachable", problem.Params{"source": name, "said": reasonOf(err)})
		case more != "":
			f.err = problem.New(problem.Invalid, "source_writes", problem.Params{"source": name, "rights": more})
		default:
			f.detail = ": its role reads and nothing else"
		}
		findings = append(findings, f)
		findings = append(findings, examineStatements(ctx, name, sources[name])...)
	}
	return findings
}

// examineStatements has the database read each statement, without running it.
func examineStatements(ctx context.Context, name string, source definition.DataSource) (findings []finding) {
	if len(source.Statements) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	subject := "statements of " + name
	conn, err := pgx.Connect(ctx, source.WriteURL)
	if err != nil {
		return []finding{{subject: subject, err: problem.Wrap(err, problem.Unavailable, "source_unreachable", problem.Params{"source": name, "said": reasonOf(err)})}}
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for statement, s := range source.Statements {
		if err := builtin.PrepareStatement(ctx, conn, statementOf(s)); err != nil {
			findings = append(findings, finding{subject: subject, err: problem.Wrap(err, problem.Invalid, "statement_unfit", problem.Params{"source": name, "statement": statement, "said": reasonOf(err)})})
		}
	}
	if findings == nil {
		findings = []finding{{subject: subject, detail: fmt.Sprintf(": %d, and the database can run them", len(source.Statements))}}
	}
	return findings
}

func sortedNames(sources map[string]definition.DataSource) []string {
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// What a role could do beside reading: as what it is, by membership, and to tables.
const sqlRights = `
select array_remove(array[
    case when r.rolsuper then 'it is a superuser' end,
    case when r.rolcreaterole then 'it makes roles' end,
    case when r.rolcreatedb then 'it makes databases' end,
    case when r.rolreplication then 'it replicates' end,
    case when r.rolbypassrls then 'row security does not bind it' end,
    (select 'it belongs to ' || string_agg(g.rolname, ', ' order by g.rolname) from pg_roles g
     where g.rolname like 'pg\_%' and g.rolname not in ('pg_read_all_data', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables', 'pg_monitor', 'pg_use_reserved_connections')
       and not r.rolsuper and pg_has_role(current_user, g.oid, 'member')),
    (select 'it changes ' || min(c.oid::regclass::text) || case when count(*) > 1 then ' and ' || count(*) - 1 || ' more' else '' end from pg_class c
     where c.relkind in ('r', 'p', 'v', 'f') and c.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema') and not r.rolsuper
       and has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
], null)
from pg_roles r where r.rolname = current_user`

// rightsOf says what a role can do beside reading; empty if nothing.
func rightsOf(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var rights []string
	if err := conn.QueryRow(ctx, sqlRights).Scan(&rights); err != nil {
		return "", fmt.Errorf("look at the role: %w", err)
	}
	return strings.Join(rights, "; "), nil
}

// reasonOf is an error without the address that it was about, which may hold a
// password.
func reasonOf(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}
