package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// How much there is: 200,000 rows in all.
const (
	customerCount  = 25_000
	priceCount     = 5_000
	orderCount     = 84_760
	duplicateCount = 480 // orders that were charged twice
	// aboveLimitEach says that one of so many duplicates is above RefundLimit.
	aboveLimitEach = 4
	// newsletterCount customers have asked for the newsletter; the mailboxes of
	// some of them are closed.
	newsletterCount = 1_840
	closedEach      = 460
)

// RefundLimitCents is what the sample agent may refund on its own: EUR 500.00.
const RefundLimitCents = 50_000

type customer struct {
	id                         int
	name, email, city, country string
	business, newsletter       bool
	since                      time.Time
}

type price struct {
	sku, product string
	cents        int64
	minimum      int64 // below it the shop must not sell, as agreed with the supplier
	from         time.Time
}

type order struct {
	number   string
	customer int // id
	sku      string
	quantity int
	cents    int64
	status   string
	placed   time.Time
	shipped  time.Time // zero: not yet
}

type payment struct {
	id, order, method string
	cents             int64
	status            string
	captured          time.Time
}

// shop is the whole data set, as of a day. It is a function of that day alone.
type shop struct {
	customers []customer
	prices    []price
	orders    []order
	payments  []payment
	purchases []purchase
}

func newShop(today time.Time) shop {
	// A fixed seed: the demo's data is the same on every machine.
	rng := rand.New(rand.NewPCG(1871, 1954))
	today = time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, time.UTC)
	var s shop
	s.addCustomers(rng, today)
	s.addPrices(today)
	s.addOrders(rng, today)
	s.addPayments(rng)
	s.addPurchases(today)
	return s
}

func (s *shop) addCustomers(rng *rand.Rand, today time.Time) {
	for i := range customerCount {
		p := places[rng.IntN(len(places))]
		first, last := pick(rng, p.first), pick(rng, p.last)
		c := customer{
			id: 10_001 + i, name: first + " " + last, city: pick(rng, p.cities), country: p.country,
			business: rng.IntN(12) == 0, since: today.AddDate(0, 0, -30-rng.IntN(2_500)),
		}
		domain := "postbox.example"
		if c.business {
			c.name = last + " " + pick(rng, p.companyEndings)
			domain = strings.ToLower(last) + ".example"
			first, last = "office", c.city
		}
		const stride = 7_919 // without a factor of customerCount: each rank once
		rank := i * stride % customerCount
		if c.newsletter = rank < newsletterCount; c.newsletter && rank%closedEach == 0 {
			domain = closedDomain
		}
		c.email = strings.ToLower(fmt.Sprintf("%s.%s%d@%s", first, last, 1+i, domain))
		s.customers = append(s.customers, c)
	}
}

// addPrices gives each article its prices over time, the latest last.
func (s *shop) addPrices(today time.Time) {
	articles := len(products) * len(finishes) * len(sizes)
	for i := range priceCount {
		article, revision := i%articles, i/articles
		p := products[article%len(products)]
		finish := finishes[article/len(products)%len(finishes)]
		size := article / len(products) / len(finishes)
		cents := p.cents * int64(100+8*size+3*revision) / 100
		s.prices = append(s.prices, price{
			sku:     fmt.Sprintf("%s-%s-%s", p.code, strings.ToUpper(finish[:1]+finish[len(finish)-1:]), sizes[size]),
			product: fmt.Sprintf("%s, %s, %s", p.name, finish, sizes[size]),
			cents:   cents / 50 * 50,
			minimum: cents / 50 * 50 * int64(72+article*5%22) / 100,
			from:    today.AddDate(-3, 7*revision, 0),
		})
	}
}

func (s *shop) addOrders(rng *rand.Rand, today time.Time) {
	articles := len(products) * len(finishes) * len(sizes)
	const days = 3 * 365
	for i := range orderCount {
		c := &s.customers[rng.IntN(len(s.customers))]
		// Orders are numbered as they come in, the newest last.
		age := days - 1 - i*days/orderCount
		placed := today.AddDate(0, 0, -age-1).Add(time.Duration(7*3600+rng.IntN(15*3600)) * time.Second)
		if placed.Before(c.since) {
			c.since = placed // the first order made them a customer
		}
		article := rng.IntN(articles)
		p := s.prices[article]
		for r := article; r < len(s.prices) && !s.prices[r].from.After(placed); r += articles {
			p = s.prices[r]
		}
		o := order{
			number: fmt.Sprintf("%d-%04d", 40+(i+1)/10_000, (i+1)%10_000), customer: c.id, sku: p.sku,
			quantity: 1 + rng.IntN(2)*rng.IntN(3), placed: placed, status: "delivered",
		}
		if c.business {
			o.quantity += rng.IntN(8)
		}
		o.cents = int64(o.quantity) * p.cents
		o.shipped = placed.Add(time.Duration(20+rng.IntN(70)) * time.Hour)
		switch {
		case o.shipped.After(today):
			o.status, o.shipped = "paid", time.Time{}
		case age < 8:
			o.status = "shipped"
		case rng.IntN(30) == 0:
			o.status = "returned"
		}
		s.orders = append(s.orders, o)
	}
}

// addPayments pays every order once, and the orders with a duplicate charge
// twice, within the hour.
func (s *shop) addPayments(rng *rand.Rand) {
	duplicate := s.duplicates()
	methods := words("card card card transfer wallet")
	for i, o := range s.orders {
		p := payment{id: paymentID(len(s.payments)), order: o.number, method: pick(rng, methods), cents: o.cents,
			status: "captured", captured: o.placed.Add(time.Duration(20+rng.IntN(200)) * time.Second)}
		s.payments = append(s.payments, p)
		if duplicate[i] {
			p.id = paymentID(len(s.payments))
			p.captured = p.captured.Add(time.Duration(40+rng.IntN(2_400)) * time.Second)
			s.payments = append(s.payments, p)
		}
	}
}

// duplicates chooses the orders that are charged twice, spread evenly over
// time, one of aboveLimitEach above the refund limit.
func (s *shop) duplicates() map[int]bool {
	chosen := map[int]bool{}
	stride := len(s.orders) / duplicateCount
	for d := range duplicateCount {
		above := d%aboveLimitEach == 0
		for i := d * stride; i < (d+1)*stride; i++ {
			if o := s.orders[i]; (o.cents > RefundLimitCents) == above && o.status != "returned" {
				chosen[i] = true
				break
			}
		}
	}
	return chosen
}

// purchase is an order of the shop's own, at a supplier.
type purchase struct {
	number   string
	supplier int // index
	sku      string
	product  string
	quantity int
	ordered  time.Time
}

// addPurchases orders of each supplier three times.
func (s *shop) addPurchases(today time.Time) {
	for i := range 3 * len(suppliers) {
		p := s.prices[i*37]
		s.purchases = append(s.purchases, purchase{
			number: fmt.Sprintf("PO-%d", 2201+i), supplier: i % len(suppliers), sku: p.sku, product: p.product,
			quantity: 20 + i*7%5*10, ordered: today.AddDate(0, 0, -40+i),
		})
	}
}

// paymentID is the n-th payment's id: unique, and without an order that shows.
func paymentID(n int) string {
	const prime = 8_999_993 // more than there are payments; 48271 is one of its units
	return fmt.Sprintf("P-%d", 1_000_000+(n+1)*48_271%prime)
}

func pick(rng *rand.Rand, list []string) string { return list[rng.IntN(len(list))] }

func words(s string) []string { return strings.Fields(s) }
