package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"baton/internal/postgres"
)

// Session is a piece of work for a sample agent.
type Session struct {
	Agent  string
	Task   string
	Inputs json.RawMessage // an object
}

// Work finds pieces of work in the shop's data, none twice. It is not safe for
// concurrent use.
type Work struct {
	db    postgres.DB
	taken map[string]bool
	next  int // how many follow have been tried
}

// NewWork finds work beside the sessions that there are already.
func NewWork(db postgres.DB, there ...Session) *Work {
	w := &Work{db: db, taken: map[string]bool{}}
	for _, s := range there {
		w.taken[s.key()] = true
	}
	return w
}

// key is the same for equal work, whichever team does it.
func (s Session) key() string {
	var inputs map[string]any
	if json.Unmarshal(s.Inputs, &inputs) != nil {
		return s.Agent + " " + s.Task
	}
	delete(inputs, "text")
	b, _ := json.Marshal(inputs) // it was JSON, and keys are sorted
	agent := s.Agent
	if strings.HasPrefix(agent, "refunds-") {
		agent = "refunds" // of both teams
	}
	return agent + " " + string(b)
}

// source finds the next pieces of work of one kind, best first; some of them may
// be taken.
type source func(ctx context.Context, w *Work) ([]Session, error)

// Precedent is the refund that has been decided before the others come up.
func (w *Work) Precedent(ctx context.Context) (Session, bool, error) { return w.take(ctx, quickRefund) }

// Start are the pieces of work of a demo's beginning: each case once, and the
// refunds more often, so that a question comes up that is like an earlier one.
func (w *Work) Start(ctx context.Context) ([]Session, error) {
	var list []Session
	for _, from := range []source{largeRefund, supplierDelivery, priceUpdate, newsletter, deliveryReport, smallRefund, orderQuestion, largeRefund, financeRefund, orderQuestion} {
		s, ok, err := w.take(ctx, from)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, s)
		}
	}
	return list, nil
}

// followUps are the kinds of work that come in later, in turn.
var followUps = []source{orderQuestion, largeRefund, supplierDelivery, smallRefund, countryNews, priceUpdate, orderQuestion, financeRefund}

// Next is one piece of work more; ok is false if there is none left.
func (w *Work) Next(ctx context.Context) (s Session, ok bool, err error) {
	for range followUps {
		from := followUps[w.next%len(followUps)]
		w.next++
		if s, ok, err = w.take(ctx, from); ok || err != nil {
			return s, ok, err
		}
	}
	return s, false, nil
}

func (w *Work) take(ctx context.Context, from source) (Session, bool, error) {
	list, err := from(ctx, w)
	if err != nil {
		return Session{}, false, err
	}
	for _, s := range list {
		if !w.taken[s.key()] {
			w.taken[s.key()] = true
			return s, true, nil
		}
	}
	return Session{}, false, nil
}

// enough is how many candidates of a kind are looked at: more than a demo has
// waiting at once.
const enough = 40

func largeRefund(ctx context.Context, w *Work) ([]Session, error) {
	return refunds(ctx, w, "refunds-desk", true)
}
func smallRefund(ctx context.Context, w *Work) ([]Session, error) {
	return refunds(ctx, w, "refunds-desk", false)
}
func financeRefund(ctx context.Context, w *Work) ([]Session, error) {
	return refunds(ctx, w, "refunds-finance", true)
}

func refunds(ctx context.Context, w *Work, agent string, above bool) ([]Session, error) {
	cases, err := Cases(ctx, w.db, enough, above)
	return each(cases, func(c Case) Session {
		return session(agent, c, "%s writes that order %s was charged twice. Check it and settle it.")
	}), err
}

// quickRefund is one whose payment service answers at once: others wait for it.
func quickRefund(ctx context.Context, w *Work) ([]Session, error) {
	cases, err := Cases(ctx, w.db, enough, true)
	var quick []Case
	for _, c := range cases {
		if !strings.ContainsAny(c.First[len(c.First)-1:]+c.Second[len(c.Second)-1:], "13468") {
			quick = append(quick, c)
		}
	}
	return each(append(quick, cases...), func(c Case) Session {
		return session("refunds-desk", c, "%s writes that order %s was charged twice. Check it and settle it.")
	}), err
}

func orderQuestion(ctx context.Context, w *Work) ([]Session, error) {
	orders, err := Orders(ctx, w.db, 200)
	return each(orders, func(c Case) Session {
		return session("order-questions", c, "%s asks whether order %s is paid and sent, and how much they have bought from us in a year.")
	}), err
}

func session(agent string, c Case, task string) Session {
	return Session{agent, fmt.Sprintf(task, c.Customer, c.Order), inputs(map[string]any{"order": c.Order})}
}

func inputs(named map[string]any) json.RawMessage {
	b, _ := json.Marshal(named) // texts and numbers always marshal
	return b
}

func each[T any](list []T, make func(T) Session) []Session {
	var out []Session
	for _, v := range list {
		out = append(out, make(v))
	}
	return out
}

const sqlOpenPurchases = `
select o.po_no, s.name, o.product, o.quantity from purchase_orders o join suppliers s on s.id = o.supplier_id
where not exists (select from psp.renewals r where r.account = s.account)
order by o.po_no`

type openPurchase struct {
	Number, Supplier, Product string
	Quantity                  int
}

// supplierDelivery asks about orders at suppliers whose portal lets nobody in.
func supplierDelivery(ctx context.Context, w *Work) ([]Session, error) {
	rows, _ := w.db.Query(ctx, sqlOpenPurchases) // an error comes with the rows
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[openPurchase])
	if err != nil {
		return nil, fmt.Errorf("find purchase orders: %w", err)
	}
	return each(list, func(p openPurchase) Session {
		return Session{"supplier-deliveries", fmt.Sprintf("When do the %d x %s from %s arrive (order %s)?", p.Quantity, p.Product, p.Supplier, p.Number),
			inputs(map[string]any{"po": p.Number})}
	}), nil
}

const sqlPriceLines = `
with latest as (
    select distinct on (sku) split_part(product, ',', 1) as line, price, minimum from prices order by sku, valid_from desc
)
select line from latest group by line
having count(*) filter (where price * 0.9 < minimum) between 2 and count(*) / 3
order by line <> 'Garden table', line`

// priceUpdate lowers the prices of lines where that works for most articles.
func priceUpdate(ctx context.Context, w *Work) ([]Session, error) {
	rows, _ := w.db.Query(ctx, sqlPriceLines) // an error comes with the rows
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find prices to change: %w", err)
	}
	return each(lines, func(line string) Session {
		return Session{"price-list", fmt.Sprintf("Make all %s 10 %% cheaper for the sale.", plural(line)),
			inputs(map[string]any{"product": line, "plural": plural(line), "percent": 10})}
	}), nil
}

// plural is how people speak of all articles of a line.
func plural(line string) string {
	line = strings.ToLower(line)
	switch {
	case strings.HasSuffix(line, "shelf"):
		return strings.TrimSuffix(line, "f") + "ves"
	case strings.HasSuffix(line, "ch"), strings.HasSuffix(line, "ss"):
		return line + "es"
	}
	return line + "s"
}

func newsletter(context.Context, *Work) ([]Session, error) {
	const text = "Dear customer,\n\nour new prices are here: tables, chairs and sofas for the garden cost up to 10 % less from Monday on.\n\n" +
		"You get this because you asked for our news. If you don't want it any more, answer this mail with \"stop\".\n\nKind regards\nThe furniture shop\n"
	return []Session{{"newsletters", "Tell everybody who has asked for our newsletter about the spring prices.",
		inputs(map[string]any{"subject": "Spring prices", "text": text})}}, nil
}

// countryNews are for the customers of one country.
func countryNews(context.Context, *Work) ([]Session, error) {
	const text = "Dear customer,\n\nour carrier now comes on Saturdays too. Choose your day when you order.\n\n" +
		"You get this because you asked for our news. If you don't want it any more, answer this mail with \"stop\".\n\nKind regards\nThe furniture shop\n"
	names := map[string]string{"SE": "Sweden", "DE": "Germany", "FR": "France", "NL": "the Netherlands", "IE": "Ireland", "IT": "Italy", "DK": "Denmark", "AT": "Austria"}
	var list []Session
	for _, p := range places {
		list = append(list, Session{"newsletters", "Tell our newsletter customers in " + names[p.country] + " that we deliver on Saturdays.",
			inputs(map[string]any{"subject": "Delivery on Saturdays", "text": text, "country": p.country})})
	}
	return list, nil
}

func deliveryReport(context.Context, *Work) ([]Session, error) {
	return []Session{{"delivery-reports", "Go through the carrier's latest report. Which parcels did not arrive, and whom do we call first?",
		inputs(map[string]any{"report": "latest"})}}, nil
}
