package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/postgres"
)

// Payments is the payment service, as an http.Handler:
//
//	GET  /payments/{id}            a payment with what was refunded of it
//	GET  /payments/{id}/disputes   its disputes
//	GET  /disputes?payment={id}    moved: status 200 with an error in the body
//	GET  /refunds?payment={id}     refunds of a payment
//	POST /refunds                  refund up to EUR 500.00; above it 422
//	POST /refunds/above-limit      refund of any amount
//
// A refund takes {payment_id, amount, currency, reason}. With an
// Idempotency-Key the same request gives the same refund again.
type Payments struct {
	mux    *http.ServeMux
	db     postgres.DB
	token  string
	faults faults
}

// NewPayments works on the shop's database. A token that is not empty must come
// as the request's Authorization.
func NewPayments(db postgres.DB, token string) *Payments {
	p := &Payments{mux: http.NewServeMux(), db: db, token: token}
	for pattern, handle := range map[string]func(*http.Request) reply{
		"GET /payments/{id}":          p.payment,
		"GET /payments/{id}/disputes": p.disputes,
		"GET /disputes":               p.disputesMoved,
		"GET /refunds":                p.refunds,
		"POST /refunds":               func(r *http.Request) reply { return p.refund(r, RefundLimitCents) },
		"POST /refunds/above-limit":   func(r *http.Request) reply { return p.refund(r, 0) },
	} {
		p.mux.HandleFunc(pattern, p.answer(handle))
	}
	return p
}

// Serve answers on a free loopback port until ctx ends, and returns its
// address.
func (p *Payments) Serve(ctx context.Context) (addr string, err error) {
	return serve(ctx, p, "payment service")
}

// serve answers on a free loopback port until ctx ends.
func serve(ctx context.Context, handler http.Handler, what string) (addr string, err error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve the sample %s: %w", what, err)
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("the sample "+what+" ended", "error", err)
		}
	}()
	context.AfterFunc(ctx, func() { _ = srv.Close() }) // those that hang hang no longer
	return ln.Addr().String(), nil
}

func (p *Payments) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// reply is an answer: a status, headers and a JSON body. A nil body is no
// answer at all.
type reply struct {
	status int
	header map[string]string
	body   any
}

func refuse(status int, code, message string, more ...any) reply {
	detail := map[string]any{"code": code, "message": message}
	for i := 0; i+1 < len(more); i += 2 {
		detail[more[i].(string)] = more[i+1]
	}
	return reply{status: status, body: map[string]any{"error": detail}}
}

func (p *Payments) answer(handle func(*http.Request) reply) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.token != "" && r.Header.Get("Authorization") != p.token {
			write(w, refuse(http.StatusUnauthorized, "unauthorized", "The request carries no valid key."))
			return
		}
		// Read before anything falters: only then does the server notice that
		// whoever asked has hung up.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil {
			write(w, refuse(http.StatusRequestEntityTooLarge, "too_large", "The body is larger than 64 KiB."))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := handle(r)
		if answer.body == nil {
			stall(r.Context())
			panic(http.ErrAbortHandler) // the connection is cut, without a word
		}
		write(w, answer)
	}
}

func write(w http.ResponseWriter, r reply) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range r.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(r.body) // whoever asked may be gone
}

const sqlPayment = `
select p.payment_id, p.order_no, p.method, (p.amount * 100)::bigint, p.currency, p.captured_at,
       (select coalesce(sum(r.amount_cents), 0) from psp.refunds r where r.payment_id = p.payment_id)::bigint
from payments p where p.payment_id = $1`

func (p *Payments) payment(r *http.Request) reply {
	id := r.PathValue("id")
	switch p.faults.next(r.Method, id) {
	case hang:
		return reply{}
	case broken:
		return refuse(http.StatusInternalServerError, "internal_error", "Something went wrong on our side. Please try again.")
	case busy:
		answer := refuse(http.StatusTooManyRequests, "too_many_requests", "Too many requests. Try again in a second.")
		answer.header = map[string]string{"Retry-After": "1"}
		return answer
	}
	var paymentID, orderNo, method, currency string
	var cents, refunded int64
	var captured time.Time
	err := p.db.QueryRow(r.Context(), sqlPayment, id).Scan(&paymentID, &orderNo, &method, &cents, &currency, &captured, &refunded)
	if errors.Is(err, pgx.ErrNoRows) {
		return unknownPayment(id)
	}
	if err != nil {
		return fault500(r, err)
	}
	status := "captured"
	switch {
	case refunded == cents:
		status = "refunded"
	case refunded > 0:
		status = "partly_refunded"
	}
	return reply{status: http.StatusOK, body: map[string]any{
		"payment_id": paymentID, "order_no": orderNo, "method": method, "status": status, "currency": currency,
		"amount": money(cents), "refunded": money(refunded), "captured_at": captured.UTC().Format(time.RFC3339),
	}}
}

func (p *Payments) disputes(r *http.Request) reply {
	return reply{status: http.StatusOK, body: map[string]any{"payment_id": r.PathValue("id"), "disputes": []any{}, "count": 0}}
}

// disputesMoved is an error dressed as success, as old services have them.
func (p *Payments) disputesMoved(*http.Request) reply {
	answer := refuse(http.StatusOK, "moved", "Disputes are now found at /payments/{payment_id}/disputes.")
	answer.body.(map[string]any)["status"] = "error"
	return answer
}

const sqlRefunds = `
select refund_id, amount_cents, reason, created_at from psp.refunds where payment_id = $1 order by created_at, refund_id`

func (p *Payments) refunds(r *http.Request) reply {
	id := r.URL.Query().Get("payment")
	if id == "" {
		return refuse(http.StatusBadRequest, "payment_missing", "Name a payment: /refunds?payment=...")
	}
	rows, _ := p.db.Query(r.Context(), sqlRefunds, id) // an error comes with the rows
	list := []map[string]any{}
	var refundID, reason string
	var cents, total int64
	var created time.Time
	_, err := pgx.ForEachRow(rows, []any{&refundID, &cents, &reason, &created}, func() error {
		total += cents
		list = append(list, map[string]any{"refund_id": refundID, "payment_id": id, "amount": money(cents), "currency": "EUR",
			"reason": reason, "status": "succeeded", "created_at": created.UTC().Format(time.RFC3339)})
		return nil
	})
	if err != nil {
		return fault500(r, err)
	}
	return reply{status: http.StatusOK, body: map[string]any{"payment_id": id, "refunds": list, "count": len(list), "total": money(total), "currency": "EUR"}}
}

// refundRequest is the body of POST /refunds.
type refundRequest struct {
	PaymentID string      `json:"payment_id"`
	Amount    json.Number `json:"amount"`
	Currency  string      `json:"currency"`
	Reason    string      `json:"reason"`
}

func (p *Payments) refund(r *http.Request, limitCents int64) reply {
	var in refundRequest
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return refuse(http.StatusBadRequest, "malformed", "The body is not the JSON of a refund: payment_id, amount, currency, reason.")
	}
	cents, ok := parseCents(in.Amount.String())
	switch {
	case in.PaymentID == "":
		return refuse(http.StatusUnprocessableEntity, "payment_missing", "payment_id is missing.")
	case !ok:
		return refuse(http.StatusUnprocessableEntity, "amount_invalid", "amount must be above 0 with at most two decimal places.")
	case in.Currency != "EUR":
		return refuse(http.StatusUnprocessableEntity, "currency_invalid", "Only EUR is refunded here.")
	case strings.TrimSpace(in.Reason) == "":
		return refuse(http.StatusUnprocessableEntity, "reason_missing", "reason is missing.")
	case limitCents > 0 && cents > limitCents:
		return refuse(http.StatusUnprocessableEntity, "limit_exceeded",
			"A refund of EUR "+money(cents).String()+" is above the limit of EUR "+money(limitCents).String()+" for this account.",
			"limit", money(limitCents), "currency", "EUR")
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		key = "none-" + rand.Text()
	}
	answer := p.settle(r, in, cents, key)
	if p.faults.next(r.Method, in.PaymentID) == lostNews {
		return reply{}
	}
	return answer
}

const (
	sqlLockPayment = `
select (amount * 100)::bigint from payments where payment_id = $1 for update`
	sqlRefundByKey = `
select refund_id, payment_id, amount_cents, created_at from psp.refunds where idempotency_key = $1`
	sqlRefunded = `
select coalesce(sum(amount_cents), 0)::bigint from psp.refunds where payment_id = $1`
	sqlAddRefund = `
insert into psp.refunds (refund_id, payment_id, amount_cents, reason, idempotency_key)
values ('R-' || nextval('psp.refund_no'), $1, $2, $3, $4)
returning refund_id, created_at`
)

// settle books the refund, or finds the one booked under the same key. The
// payment's row is locked, so that two requests can't both find money left.
func (p *Payments) settle(r *http.Request, in refundRequest, cents int64, key string) (answer reply) {
	err := postgres.InTx(r.Context(), p.db, func(tx pgx.Tx) error {
		var charged, refunded int64
		err := tx.QueryRow(r.Context(), sqlLockPayment, in.PaymentID).Scan(&charged)
		if errors.Is(err, pgx.ErrNoRows) {
			answer = unknownPayment(in.PaymentID)
			return nil
		}
		if err != nil {
			return err
		}
		var id, forPayment string
		var forCents int64
		var created time.Time
		err = tx.QueryRow(r.Context(), sqlRefundByKey, key).Scan(&id, &forPayment, &forCents, &created)
		if err == nil && (forPayment != in.PaymentID || forCents != cents) {
			answer = refuse(http.StatusConflict, "key_reused", "This Idempotency-Key was used for another refund, "+id+".")
			return nil
		}
		if err == nil {
			answer = booked(http.StatusOK, id, in, cents, created)
			answer.header = map[string]string{"Idempotent-Replayed": "true"}
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := tx.QueryRow(r.Context(), sqlRefunded, in.PaymentID).Scan(&refunded); err != nil {
			return err
		}
		if left := charged - refunded; cents > left {
			answer = refuse(http.StatusConflict, "exceeds_remaining",
				"Of this payment EUR "+money(left).String()+" is left to refund.", "remaining", money(left), "currency", "EUR")
			return nil
		}
		if err := tx.QueryRow(r.Context(), sqlAddRefund, in.PaymentID, cents, in.Reason, key).Scan(&id, &created); err != nil {
			return err
		}
		answer = booked(http.StatusCreated, id, in, cents, created)
		return nil
	})
	if err != nil {
		return fault500(r, err)
	}
	return answer
}

func booked(status int, id string, in refundRequest, cents int64, created time.Time) reply {
	return reply{status: status, body: map[string]any{"refund_id": id, "payment_id": in.PaymentID, "amount": money(cents),
		"currency": "EUR", "reason": in.Reason, "status": "succeeded", "created_at": created.UTC().Format(time.RFC3339)}}
}

func unknownPayment(id string) reply {
	return refuse(http.StatusNotFound, "payment_not_found", "There is no payment "+strconv.Quote(id)+".")
}

func fault500(r *http.Request, err error) reply {
	slog.ErrorContext(r.Context(), "the sample payment service failed", "error", err)
	return refuse(http.StatusInternalServerError, "internal_error", "Something went wrong on our side. Please try again.")
}

// money writes cents as a JSON number with two decimal places.
func money(cents int64) json.Number {
	return json.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100))
}

// parseCents reads an amount above 0 of at most two decimal places.
func parseCents(text string) (int64, bool) {
	if len(text) > 20 || strings.ContainsAny(text, "eE") {
		return 0, false
	}
	sum, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, false
	}
	sum.Mul(sum, big.NewRat(100, 1))
	return sum.Num().Int64(), sum.IsInt() && sum.Sign() > 0 && sum.Num().IsInt64()
}
