package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"baton/internal/definition"
	"baton/internal/tools"
)

// honestWorlds are what the playbooks of testdata/honest work on, as its README
// says: each session on one of its own.
type honestWorlds struct{ bySession sync.Map }

func (w *honestWorlds) of(ctx context.Context) *honestWorld {
	fresh := &honestWorld{fetched: map[string]int{}, progress: map[string]int{}, refunded: map[string]bool{}}
	world, _ := w.bySession.LoadOrStore(tools.RunningCall(ctx).ID.Session, fresh)
	return world.(*honestWorld)
}

type honestWorld struct {
	mu       sync.Mutex
	fetched  map[string]int
	progress map[string]int
	refunded map[string]bool
	prices   []string
	sent     int
}

// makers are the tools on these worlds.
func (w *honestWorlds) makers() map[string]toolMaker {
	made := map[string]toolMaker{}
	add := func(spec tools.Spec, run func(context.Context, json.RawMessage) (tools.Output, error)) {
		spec.Description = spec.Name
		spec.Retry = tools.RetryPolicy{Base: time.Millisecond, Cap: time.Millisecond}
		made[spec.Name] = func(context.Context, definition.Version) (tools.Tool, error) { return worldTool{spec, run}, nil }
	}
	on := func(run func(*honestWorld, context.Context, json.RawMessage) (tools.Output, error)) func(context.Context, json.RawMessage) (tools.Output, error) {
		return func(ctx context.Context, args json.RawMessage) (tools.Output, error) {
			return run(w.of(ctx), ctx, args)
		}
	}
	schema := func(properties, required string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
	}
	text := func(name string) string { return `"` + name + `":{"type":"string"}` }
	add(tools.Spec{Name: "find", Effect: tools.EffectRead, Schema: schema(text("table")+`,"where":{"type":"object"},"limit":{"type":"integer","minimum":1,"maximum":50}`, `"table"`)}, find)
	add(tools.Spec{Name: "fetch", Effect: tools.EffectRead, Schema: schema(text("path"), `"path"`), Timeout: 50 * time.Millisecond, Deadline: 2 * time.Second, Grace: 10 * time.Millisecond,
		FailedIf: func(o tools.Output) *tools.Failure {
			var answer struct{ Error string }
			if json.Unmarshal(o.Data, &answer) == nil && answer.Error != "" {
				return tools.Fail(tools.ExecutionError, "The portal answers: "+answer.Error)
			}
			return nil
		}}, on((*honestWorld).fetch))
	add(tools.Spec{Name: "job", Effect: tools.EffectRead, Polling: true, Schema: schema(text("id"), `"id"`)}, on((*honestWorld).job))
	add(tools.Spec{Name: "refund", Effect: tools.EffectSide, Claims: []string{"refunded", "paid back"}, Schema: schema(text("order")+`,"amount":{"type":"string"}`, `"order","amount"`)}, on((*honestWorld).refund))
	add(tools.Spec{Name: "set_prices", Effect: tools.EffectIdempotent, Claims: []string{"changed", "updated"}, Alternatives: []string{"undo_prices"},
		Schema: schema(`"items":{"type":"array","minItems":1,"items":{"type":"object","properties":{"sku":{"type":"string"},"price":{"type":"number"}},"required":["sku","price"]}}`, `"items"`)}, on((*honestWorld).setPrices))
	add(tools.Spec{Name: "undo_prices", Effect: tools.EffectSide, Schema: schema("", "")}, on((*honestWorld).undoPrices))
	add(tools.Spec{Name: "notify", Effect: tools.EffectIrreversible, Claims: []string{"sent", "notified"}, Schema: schema(text("to")+","+text("text"), `"to","text"`)}, on((*honestWorld).notify))
	add(tools.Spec{Name: "crash", Effect: tools.EffectRead, Schema: schema("", "")}, func(context.Context, json.RawMessage) (tools.Output, error) { panic("crash") })
	return made
}

type worldTool struct {
	spec tools.Spec
	run  func(context.Context, json.RawMessage) (tools.Output, error)
}

func (t worldTool) Spec() tools.Spec { return t.spec }

func (t worldTool) Run(ctx context.Context, args json.RawMessage) (tools.Output, error) {
	return t.run(ctx, args)
}

func answer(v any) (tools.Output, error) {
	b, err := json.Marshal(v)
	return tools.Output{Data: b}, err
}

type row = map[string]any

// worldTables are the rows that README names.
func worldTables() map[string][]row {
	t := map[string][]row{"customers": {
		{"id": "C-1", "name": "Anna", "email": "anna@example.org", "city": "Lyon"},
		{"id": "C-2", "name": "Ben", "email": "ben@example.org", "city": "Graz"},
		{"id": "C-3", "name": "Cleo", "email": "cleo@elsewhere.example", "city": "Lyon"},
	}}
	for i := 1; i <= 12; i++ {
		status := "paid"
		if i%3 == 0 {
			status = "open"
		}
		t["orders"] = append(t["orders"], row{"id": fmt.Sprintf("O-%d", 1000+i), "customer": fmt.Sprintf("C-%d", (i-1)%3+1),
			"total": fmt.Sprintf("%d.00", 20*i), "status": status, "placed": fmt.Sprintf("2026-11-%02d", i)})
	}
	for i, order := range []string{"O-1001", "O-1002", "O-1004", "O-1005"} {
		status := "delivered"
		if i == 3 {
			status = "lost"
		}
		t["parcels"] = append(t["parcels"], row{"id": fmt.Sprintf("P-%d", i+1), "order": order, "carrier": "Swift", "status": status, "seen": fmt.Sprintf("2026-11-%02dT10:30:00Z", 14+i)})
	}
	return t
}

func find(_ context.Context, args json.RawMessage) (tools.Output, error) {
	var a struct {
		Table string
		Where row
		Limit int
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Output{}, err
	}
	rows, ok := worldTables()[a.Table]
	if !ok {
		return tools.Output{}, tools.Fail(tools.NotFound, fmt.Sprintf("There is no table %q.", a.Table), "Use one of context.tables.").With("tables", []string{"customers", "orders", "parcels"})
	}
	found := []row{}
	for column := range a.Where {
		if _, ok := rows[0][column]; !ok {
			return tools.Output{}, tools.Fail(tools.InvalidArguments, fmt.Sprintf("The table %s has no column %q.", a.Table, column), "Use one of context.columns.").With("columns", columnsOf(rows[0]))
		}
	}
	for _, r := range rows {
		fits := true
		for column, want := range a.Where {
			fits = fits && r[column] == want
		}
		if fits {
			found = append(found, r)
		}
	}
	total := len(found)
	if a.Limit > 0 && total > a.Limit {
		found = found[:a.Limit]
	}
	return answer(row{"rows": found, "total": total})
}

func columnsOf(r row) (names []string) {
	for name := range r {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (w *honestWorld) fetch(ctx context.Context, args json.RawMessage) (tools.Output, error) {
	var a struct{ Path string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Output{}, err
	}
	w.mu.Lock()
	w.fetched[a.Path]++
	times := w.fetched[a.Path]
	w.mu.Unlock()
	switch {
	case strings.HasPrefix(a.Path, "/stock/SKU-"):
		n, err := strconv.Atoi(strings.TrimPrefix(a.Path, "/stock/SKU-"))
		if err == nil && n >= 1 && n <= 9 {
			return answer(row{"sku": fmt.Sprintf("SKU-%d", n), "available": 7 * n, "price": fmt.Sprintf("%d.50", 10+n)})
		}
	case a.Path == "/report":
		var b strings.Builder
		for i := 1; i <= 5000; i++ {
			fmt.Fprintf(&b, "line %d: parcel X-%05d arrived\n", i, i)
			if i == 3217 {
				b.WriteString("ERROR: parcel X-03217 was damaged\n")
			}
		}
		return tools.Output{Text: b.String()}, nil
	case a.Path == "/rates":
		return answer(row{"rates": []row{{"currency": "USD", "rate": 1.085}, {"currency": "CHF", "rate": 0.945}, {"currency": "GBP", "rate": 0.8525}}})
	case strings.HasPrefix(a.Path, "/flaky/"):
		if n, err := strconv.Atoi(strings.TrimPrefix(a.Path, "/flaky/")); err == nil {
			if times <= n {
				return tools.Output{}, tools.FromHTTP("portal", 503, nil)
			}
			return answer(row{"ok": true, "token": "T-" + strconv.Itoa(4400+n)})
		}
	case a.Path == "/down":
		return tools.Output{}, tools.FromHTTP("portal", 503, nil)
	case a.Path == "/locked":
		return tools.Output{}, tools.FromHTTP("portal", 401, nil)
	case a.Path == "/slow":
		<-ctx.Done()
		return tools.Output{}, ctx.Err()
	case a.Path == "/odd":
		return answer(row{"error": "maintenance until 18:00"})
	}
	return tools.Output{}, tools.Fail(tools.NotFound, fmt.Sprintf("The portal has nothing at %s.", a.Path))
}

func (w *honestWorld) job(_ context.Context, args json.RawMessage) (tools.Output, error) {
	var a struct{ ID string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Output{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch a.ID {
	case "stuck":
		return answer(row{"id": a.ID, "progress": 10})
	case "index", "export":
		done := min(100, w.progress[a.ID])
		w.progress[a.ID] += 25
		return answer(row{"id": a.ID, "progress": done})
	}
	return tools.Output{}, tools.Fail(tools.NotFound, fmt.Sprintf("There is no job %q.", a.ID))
}

func (w *honestWorld) refund(_ context.Context, args json.RawMessage) (tools.Output, error) {
	var a struct{ Order, Amount string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Output{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range worldTables()["orders"] {
		if o["id"] != a.Order {
			continue
		}
		total, _ := strconv.ParseFloat(o["total"].(string), 64)
		amount, err := strconv.ParseFloat(a.Amount, 64)
		switch {
		case err != nil || amount <= 0:
			return tools.Output{}, tools.Fail(tools.InvalidArguments, "The amount is no amount above 0.")
		case amount > total:
			return tools.Output{}, tools.Fail(tools.ExecutionError, fmt.Sprintf("The order's total is %s; no more can be paid back.", o["total"])).With("total", o["total"])
		case w.refunded[a.Order]:
			return tools.Output{}, tools.Fail(tools.Conflict, "This order has been paid back already.")
		}
		w.refunded[a.Order] = true
		return answer(row{"refund": "RF-" + strings.TrimPrefix(a.Order, "O-"), "order": a.Order, "amount": a.Amount})
	}
	return tools.Output{}, tools.Fail(tools.NotFound, fmt.Sprintf("There is no order %q.", a.Order))
}

func (w *honestWorld) setPrices(_ context.Context, args json.RawMessage) (tools.Output, error) {
	var a struct {
		Items []struct {
			SKU   string
			Price float64
		}
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Output{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out := tools.Output{}
	for _, it := range a.Items {
		if it.Price < 0 {
			return tools.Output{}, tools.Fail(tools.InvalidArguments, fmt.Sprintf("The price of %s is below 0; nothing was changed.", it.SKU))
		}
	}
	for _, it := range a.Items {
		if strings.HasPrefix(it.SKU, "LOCKED") {
			out.Failed = append(out.Failed, tools.Item{Item: it.SKU, Type: tools.PermissionDenied, Reason: "Somebody has locked it."})
			continue
		}
		w.prices = append(w.prices, it.SKU)
		out.Completed = append(out.Completed, tools.Item{Item: it.SKU})
	}
	out.State = fmt.Sprintf("%d of %d prices are changed.", len(out.Completed), len(a.Items))
	out.Data = json.RawMessage(`{}`)
	return out, nil
}

func (w *honestWorld) undoPrices(context.Context, json.RawMessage) (tools.Output, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.prices) == 0 {
		return tools.Output{}, tools.Fail(tools.Conflict, "There is nothing to take back.")
	}
	taken := w.prices
	w.prices = nil
	return answer(row{"taken_back": taken})
}

func (w *honestWorld) notify(_ context.Context, args json.RawMessage) (tools.Output, error) {
	var a struct{ To, Text string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Output{}, err
	}
	if !strings.HasSuffix(a.To, "@example.org") {
		f := tools.Fail(tools.ExecutionError, fmt.Sprintf("%s takes no messages of ours; nothing was sent.", a.To))
		f.NotSent = true
		return tools.Output{}, f
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	return answer(row{"message_id": fmt.Sprintf("M-%d", 100+w.sent), "to": a.To})
}
