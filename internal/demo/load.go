package demo

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"baton/internal/postgres"
)

// ReaderRole is the role that the agents' queries run as. It may read the
// shop's tables and do nothing else. PricerRole is the role of update_prices: it
// may change a price, and nothing else.
const (
	ReaderRole = "shop_reader"
	PricerRole = "shop_pricer"
)

// The tables of the shop. What the payment service keeps stands in a schema of
// its own, which the reader can't see.
const sqlShopSchema = `
create table customers (
    id         int primary key,
    name       text not null,
    email      text not null,
    city       text not null,
    country    text not null,
    business   boolean not null,
    newsletter boolean not null,
    since      date not null
);
create table prices (
    sku        text not null,
    product    text not null,
    price      numeric(12,2) not null,
    minimum    numeric(12,2) not null,
    currency   text not null,
    valid_from date not null,
    constraint price_not_below_minimum check (price >= minimum)
);
create table orders (
    order_no    text primary key,
    customer_id int not null,
    sku         text not null,
    quantity    int not null,
    total       numeric(12,2) not null,
    currency    text not null,
    status      text not null,
    placed_at   timestamptz not null,
    shipped_at  timestamptz
);
create table payments (
    payment_id  text primary key,
    order_no    text not null,
    method      text not null,
    amount      numeric(12,2) not null,
    currency    text not null,
    status      text not null,
    captured_at timestamptz not null
);
create table suppliers (
    id      int primary key,
    name    text not null,
    account text not null,
    contact text not null
);
create table purchase_orders (
    po_no       text primary key,
    supplier_id int not null,
    sku         text not null,
    product     text not null,
    quantity    int not null,
    ordered_on  date not null
);
create schema psp;
create table psp.refunds (
    refund_id       text primary key,
    payment_id      text not null,
    amount_cents    bigint not null check (amount_cents > 0),
    reason          text not null,
    idempotency_key text not null constraint refunds_key unique,
    created_at      timestamptz not null default now()
);
create index refunds_payment_id on psp.refunds (payment_id);
create sequence psp.refund_no start 4118207 increment 3;
create table psp.renewals (account text primary key, renewed_at timestamptz not null default now());
create table psp.loaded (as_of date not null, edition int not null)`

// edition names this form of the tables. An earlier demo's are made anew.
const edition = 2

const sqlShopIndexes = `
create index orders_customer_id on orders (customer_id);
create index payments_order_no on payments (order_no);
create index customers_email on customers (email);
create index prices_sku on prices (sku);
analyze customers, prices, orders, payments`

// The reader's rights. Beyond its tables it loses what every role has by
// default and a query has no need of.
const sqlShopRights = `
do $$ begin
    if not exists (select from pg_roles where rolname = 'shop_reader') then create role shop_reader login; end if;
exception when duplicate_object or unique_violation then null; end $$;
do $$ begin
    execute format('revoke all on database %I from public', current_database());
    execute format('grant connect on database %I to shop_reader', current_database());
    execute format('alter role shop_reader in database %I set default_transaction_read_only = on', current_database());
end $$;
revoke create on schema public from public;
grant usage on schema public to shop_reader;
grant select on customers, prices, orders, payments, suppliers, purchase_orders to shop_reader;
do $$ begin
    if not exists (select from pg_roles where rolname = 'shop_pricer') then create role shop_pricer login; end if;
exception when duplicate_object or unique_violation then null; end $$;
do $$ begin
    execute format('grant connect on database %I to shop_pricer', current_database());
end $$;
grant usage on schema public to shop_pricer;
grant select on prices to shop_pricer;
grant update (price) on prices to shop_pricer`

const (
	sqlLoaded = `select edition from psp.loaded`
	// What an earlier edition made, in a database that holds nothing else.
	sqlForget = `
do $$ begin
    drop schema psp cascade;
    drop schema public cascade;
    create schema public;
    grant usage on schema public to public;
end $$`
)

// LoadShop makes the shop's tables in a database of the shop's own, fills them
// as of today, and lets the roles at them. A database that has them already is
// left as it is; those of an earlier edition are made anew. It takes a few
// seconds.
func LoadShop(ctx context.Context, db postgres.DB, today time.Time) error {
	var loaded int
	err := db.QueryRow(ctx, sqlLoaded).Scan(&loaded)
	if err == nil && loaded == edition {
		return nil
	}
	pg, _ := errors.AsType[*pgconn.PgError](err)
	fresh := pg != nil && pg.Code == "42P01"   // no such table
	earlier := pg != nil && pg.Code == "42703" // no such column
	if err != nil && !fresh && !earlier {
		return fmt.Errorf("look for the shop: %w", err)
	}
	s := newShop(today)
	err = postgres.InTx(ctx, db, func(tx pgx.Tx) error {
		if !fresh {
			if _, err := tx.Exec(ctx, sqlForget); err != nil {
				return fmt.Errorf("drop the earlier shop: %w", err)
			}
		}
		return s.loadTx(ctx, tx, today)
	})
	if err != nil {
		return fmt.Errorf("load the shop: %w", err)
	}
	return nil
}

const sqlSetLoaded = `insert into psp.loaded values ($1, $2)`

func (s *shop) loadTx(ctx context.Context, tx pgx.Tx, today time.Time) error {
	if _, err := tx.Exec(ctx, sqlShopSchema); err != nil {
		return fmt.Errorf("make tables: %w", err)
	}
	copies := []struct {
		table   string
		columns []string
		rows    int
		row     func(i int) []any
	}{
		{"customers", words("id name email city country business newsletter since"), len(s.customers), func(i int) []any {
			c := s.customers[i]
			return []any{c.id, c.name, c.email, c.city, c.country, c.business, c.newsletter, c.since}
		}},
		{"prices", words("sku product price minimum currency valid_from"), len(s.prices), func(i int) []any {
			p := s.prices[i]
			return []any{p.sku, p.product, numeric(p.cents), numeric(p.minimum), "EUR", p.from}
		}},
		{"orders", words("order_no customer_id sku quantity total currency status placed_at shipped_at"), len(s.orders), func(i int) []any {
			o := s.orders[i]
			shipped := pgtype.Timestamptz{Time: o.shipped, Valid: !o.shipped.IsZero()}
			return []any{o.number, o.customer, o.sku, o.quantity, numeric(o.cents), "EUR", o.status, o.placed, shipped}
		}},
		{"payments", words("payment_id order_no method amount currency status captured_at"), len(s.payments), func(i int) []any {
			p := s.payments[i]
			return []any{p.id, p.order, p.method, numeric(p.cents), "EUR", p.status, p.captured}
		}},
		{"suppliers", words("id name account contact"), len(suppliers), func(i int) []any {
			v := suppliers[i]
			return []any{i + 1, v.name, v.account, v.contact}
		}},
		{"purchase_orders", words("po_no supplier_id sku product quantity ordered_on"), len(s.purchases), func(i int) []any {
			p := s.purchases[i]
			return []any{p.number, p.supplier + 1, p.sku, p.product, p.quantity, p.ordered}
		}},
	}
	for _, c := range copies {
		rows := pgx.CopyFromSlice(c.rows, func(i int) ([]any, error) { return c.row(i), nil })
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{c.table}, c.columns, rows); err != nil {
			return fmt.Errorf("fill %s: %w", c.table, err)
		}
	}
	for _, sql := range []string{sqlShopIndexes, sqlShopRights} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("finish tables: %w", err)
		}
	}
	_, err := tx.Exec(ctx, sqlSetLoaded, today, edition)
	return err
}

func numeric(cents int64) pgtype.Numeric {
	return pgtype.Numeric{Int: big.NewInt(cents), Exp: -2, Valid: true}
}

// Case is an order of the shop for a session to work on.
type Case struct {
	Order    string
	Customer string
	Cents    int64  // of each charge
	First    string // its payment
	Second   string // the second one, of an order that was charged twice
}

const sqlDuplicates = `
with charges as (
    select order_no, array_agg(payment_id order by captured_at) as ids, max(captured_at) as at
    from payments group by order_no having count(*) = 2
), newest as (
    select o.order_no, c.name, (o.total * 100)::bigint as cents, ids[1] as first, ids[2] as second, at
    from charges join orders o using (order_no) join customers c on c.id = o.customer_id
    where (o.total * 100 > $2) = $1 and not exists (select from psp.refunds r where r.payment_id = any(ids))
    order by at desc limit 20 + $3
)
select order_no, name, cents, first, second from newest
order by right(second, 1) in ('1', '6') desc, at desc limit $3`

// Cases returns n orders that were charged twice and not refunded yet, newest
// first; above chooses those over the refund limit. Among the newest, those come
// first whose payment service falters, since they show most.
func Cases(ctx context.Context, db postgres.DB, n int, above bool) ([]Case, error) {
	rows, _ := db.Query(ctx, sqlDuplicates, above, RefundLimitCents, n) // an error comes with the rows
	cases, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Case])
	if err != nil {
		return nil, fmt.Errorf("find cases: %w", err)
	}
	return cases, nil
}

const sqlOpenOrders = `
select o.order_no, c.name, (o.total * 100)::bigint, min(p.payment_id), ''
from (select * from orders where status = 'shipped' order by placed_at desc limit 400) o
join customers c on c.id = o.customer_id join payments p using (order_no)
group by o.order_no, c.name, o.total, o.placed_at having count(*) = 1
order by right(min(p.payment_id), 1) = '3' desc, o.placed_at desc limit $1`

// Orders returns n orders that were paid once and sent lately. Those come first
// whose payment service falters.
func Orders(ctx context.Context, db postgres.DB, n int) ([]Case, error) {
	rows, _ := db.Query(ctx, sqlOpenOrders, n) // an error comes with the rows
	orders, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Case])
	if err != nil {
		return nil, fmt.Errorf("find orders: %w", err)
	}
	return orders, nil
}
