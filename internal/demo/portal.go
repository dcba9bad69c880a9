package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/postgres"
)

// Portal is the suppliers' portal, as an http.Handler:
//
//	GET  /orders/{po}         what becomes of a purchase order, with or without a slash at the end
//	POST /password-renewals   {account}: renew its password for 90 days
//
// Every account's password has expired. Until it is renewed, each question is
// answered 401 in the same words.
type Portal struct {
	mux *http.ServeMux
	db  postgres.DB
}

// NewPortal works on the shop's database.
func NewPortal(db postgres.DB) *Portal {
	p := &Portal{mux: http.NewServeMux(), db: db}
	p.mux.HandleFunc("GET /orders/{po}", func(w http.ResponseWriter, r *http.Request) { write(w, p.order(r)) })
	p.mux.HandleFunc("GET /orders/{po}/{$}", func(w http.ResponseWriter, r *http.Request) { write(w, p.order(r)) })
	p.mux.HandleFunc("POST /password-renewals", func(w http.ResponseWriter, r *http.Request) { write(w, p.renew(r)) })
	return p
}

// Serve answers on a free loopback port until ctx ends, and returns its
// address.
func (p *Portal) Serve(ctx context.Context) (addr string, err error) {
	return serve(ctx, p, "supplier portal")
}

func (p *Portal) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

const sqlPurchase = `
select o.quantity, o.ordered_on, s.account, l.as_of, exists (select from psp.renewals r where r.account = s.account)
from purchase_orders o join suppliers s on s.id = o.supplier_id cross join psp.loaded l where o.po_no = $1`

func (p *Portal) order(r *http.Request) reply {
	po := r.PathValue("po")
	var quantity int
	var ordered, asOf time.Time
	var account string
	var renewed bool
	err := p.db.QueryRow(r.Context(), sqlPurchase, po).Scan(&quantity, &ordered, &account, &asOf, &renewed)
	if errors.Is(err, pgx.ErrNoRows) {
		return refuse(http.StatusNotFound, "order_not_found", fmt.Sprintf("There is no order %q.", po))
	}
	if err != nil {
		return fault500(r, err)
	}
	if !renewed {
		return refuse(http.StatusUnauthorized, "password_expired", "The password of account "+account+" has expired.",
			"account", account, "expired_on", asOf.AddDate(0, 0, -18).Format(time.DateOnly))
	}
	return reply{status: http.StatusOK, body: map[string]any{"po_no": po, "quantity": quantity, "status": "in production",
		"ships_on": ordered.AddDate(0, 0, 52).Format(time.DateOnly), "arrives_on": ordered.AddDate(0, 0, 57).Format(time.DateOnly)}}
}

const (
	sqlRenew = `
insert into psp.renewals (account)
select account from suppliers where account = $1
on conflict (account) do update set renewed_at = now()
returning renewed_at`
)

func (p *Portal) renew(r *http.Request) reply {
	var in struct {
		Account string `json:"account"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 4<<10))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return refuse(http.StatusBadRequest, "malformed", "The body is not the JSON of a renewal: account.")
	}
	var at time.Time
	err := p.db.QueryRow(r.Context(), sqlRenew, in.Account).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		return refuse(http.StatusNotFound, "account_not_found", fmt.Sprintf("There is no account %q.", in.Account))
	}
	if err != nil {
		return fault500(r, err)
	}
	return reply{status: http.StatusCreated, body: map[string]any{"account": in.Account, "valid_until": at.AddDate(0, 0, 90).UTC().Format(time.DateOnly)}}
}
