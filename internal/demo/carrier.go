package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/postgres"
)

// ReportLines is how long the carrier's report is.
const ReportLines = 5_000

// Carrier is the parcel service, as an http.Handler:
//
//	GET /reports/latest   the latest parcels, ReportLines lines of text
//
// The report is a function of the shop's data. It is grouped by country; the few
// parcels that did not arrive stand at the end of each group, and where, in its
// contents.
type Carrier struct{ db postgres.DB }

// NewCarrier works on the shop's database.
func NewCarrier(db postgres.DB) *Carrier { return &Carrier{db} }

// Serve answers on a free loopback port until ctx ends, and returns its
// address.
func (c *Carrier) Serve(ctx context.Context) (addr string, err error) {
	mux := http.NewServeMux()
	mux.Handle("GET /reports/latest", c)
	return serve(ctx, mux, "carrier")
}

const sqlParcels = `
select o.order_no, o.shipped_at, c.city, c.country, l.as_of
from (select * from orders where shipped_at is not null order by shipped_at desc, order_no limit $1) o
join customers c on c.id = o.customer_id cross join psp.loaded l
order by c.country, o.shipped_at, o.order_no`

type parcel struct {
	Order   string
	Shipped time.Time
	City    string
	Country string
	AsOf    time.Time
}

// ServeHTTP answers with the report.
func (c *Carrier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rows, _ := c.db.Query(r.Context(), sqlParcels, ReportLines) // an error comes with the rows
	parcels, err := pgx.CollectRows(rows, pgx.RowToStructByPos[parcel])
	if err != nil || len(parcels) == 0 {
		slog.ErrorContext(r.Context(), "the sample carrier failed", "error", err)
		http.Error(w, "The report can't be made at the moment.", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(report(parcels))) // whoever asked may be gone
}

// fate is what became of a parcel, and whether it arrived. It depends on the
// order's number alone.
func (p parcel) fate() (text string, arrived bool) {
	var a, b int
	_, _ = fmt.Sscanf(p.Order, "%d-%d", &a, &b) // order numbers have this form
	n := a*10_000 + b
	if n%457 != 0 {
		return fmt.Sprintf("delivered %s, signed", p.Shipped.Add(time.Duration(20+n%50)*time.Hour).Format("02 Jan 15:04")), true
	}
	switch n % 3 {
	case 0:
		return "LOST after scan in depot", false
	case 1:
		return "RETURNED, address not found", false
	}
	return "RETURNED, refused by receiver", false
}

// report writes the parcels, of which there are at least ReportLines.
func report(parcels []parcel) string {
	byCountry := map[string]int{}
	for _, p := range parcels {
		byCountry[p.Country]++
	}
	// What isn't a parcel: five lines at the top, one of contents and three more
	// for each country, one at the end.
	room := ReportLines - 5 - 4*len(byCountry) - 1
	parcels = parcels[len(parcels)-room:]
	groups := [][]parcel{}
	for i, p := range parcels {
		if i == 0 || p.Country != parcels[i-1].Country {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], p)
	}
	contents := []string{}
	lines := []string{}
	at := 5 + len(byCountry) // lines before the first group
	missing := 0
	for _, g := range groups {
		lines = append(lines, "", fmt.Sprintf("%s  %d parcels", g[0].Country, len(g)))
		var late []string
		for _, p := range g {
			text, arrived := p.fate()
			line := fmt.Sprintf("%s  %s  %-12s  %s", p.Order, p.Shipped.Format(time.DateOnly), p.City, text)
			if arrived {
				lines = append(lines, line)
			} else {
				late = append(late, line)
			}
		}
		lines = append(lines, fmt.Sprintf("%s  not delivered: %d", g[0].Country, len(late)))
		contents = append(contents, fmt.Sprintf("  %s  parcels %5d   not delivered %3d   at line %5d", g[0].Country, len(g), len(late), at+len(lines)))
		lines = append(lines, late...)
		missing += len(late)
	}
	for range ReportLines - at - len(lines) - 1 {
		lines = append(lines, "")
	}
	top := []string{
		"NORDPOST PARCELS  report for customer 20114",
		"As of " + parcels[0].AsOf.Format(time.DateOnly) + ", times of the place of delivery",
		fmt.Sprintf("Parcels %d, not delivered %d", len(parcels), missing),
		"",
		"CONTENTS  lines are counted from 1 at the top of this report",
	}
	all := append(append(top, contents...), lines...)
	return strings.Join(append(all, "END OF REPORT"), "\n") + "\n"
}
