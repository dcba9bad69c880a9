package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"baton/internal/definition"
	"baton/internal/postgres/pgtest"
	"baton/internal/problem"
)

// R: T1, T2, G4
func TestTheDoctorSaysWhatADataSourcesRoleCanDoBesideReading(t *testing.T) {
	t.Parallel()
	owner := pgtest.Open(t, pgtest.Empty(t))
	const sql = `
		create table orders (id bigint primary key, closed boolean);
		create table customers (id bigint);
		grant select on orders, customers to reader;`
	url := pgtest.Reader(t, pgtest.URL(owner))
	if _, err := owner.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	look := func(url string, statements map[string]definition.Statement) string {
		t.Helper()
		var said []string
		for _, f := range examineSources(t.Context(), map[string]definition.DataSource{"shop": {URL: url, WriteURL: pgtest.URL(owner), Statements: statements}}) {
			line := f.subject + f.detail
			if p, ok := errors.AsType[*problem.Error](f.err); ok {
				line += fmt.Sprintf(" %s %v", p.Code, p.Params)
			}
			said = append(said, line)
		}
		return strings.Join(said, "\n")
	}
	if got := look(url, nil); got != "data source shop: its role reads and nothing else" {
		t.Error(got)
	}
	if _, err := owner.Exec(t.Context(), `grant insert on orders, customers to reader`); err != nil {
		t.Fatal(err)
	}
	if got := look(url, nil); !strings.Contains(got, "source_writes") || !strings.Contains(got, "it changes customers and 1 more") {
		t.Error(got)
	}
	if got := look(pgtest.URL(owner), nil); !strings.Contains(got, "it is a superuser") {
		t.Error(got)
	}
	if got := look("postgres://nobody:hunter2@127.0.0.1:1/shop", nil); !strings.Contains(got, "source_unreachable") || strings.Contains(got, "hunter2") {
		t.Error(got)
	}
	if _, err := owner.Exec(t.Context(), `revoke insert on orders, customers from reader`); err != nil {
		t.Fatal(err)
	}
	order := []definition.Param{{Name: "order", Type: definition.ParamInteger}}
	if got := look(url, map[string]definition.Statement{"close": {Name: "close", Params: order, SQL: "update orders set closed = true where id = @order", Verify: "select closed from orders where id = @order"}}); !strings.Contains(got, "statements of shop: 1, and the database can run them") {
		t.Error(got)
	}
	if got := look(url, map[string]definition.Statement{"close": {Name: "close", Params: order, SQL: "update orders set shut = true where id = @order"}}); !strings.Contains(got, "statement_unfit") || !strings.Contains(got, "shut") {
		t.Error(got)
	}
}
