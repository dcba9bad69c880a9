package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/tools"
)

//go:embed update_prices.md
var updatePricesText string

const updatePricesSchema = `{
  "type": "object",
  "properties": {
    "reason": {"type": "string", "minLength": 1, "maxLength": 200, "description": "why, in a few words: people read it"},
    "items": {"type": "array", "minItems": 1, "maxItems": 500, "description": "the articles, each once",
      "items": {
        "type": "object",
        "properties": {
          "sku": {"type": "string", "minLength": 1, "maxLength": 40},
          "old": {"type": "string", "pattern": "^[0-9]{1,7}\\.[0-9]{2}$", "description": "the price now, in EUR: 449.00"},
          "new": {"type": "string", "pattern": "^[0-9]{1,7}\\.[0-9]{2}$", "description": "the price from now on, in EUR"}
        },
        "required": ["sku", "old", "new"],
        "additionalProperties": false
      }}
  },
  "required": ["reason", "items"],
  "additionalProperties": false
}`

type updatePricesArgs struct {
	Reason string        `json:"reason"`
	Items  []priceChange `json:"items"`
}

type priceChange struct {
	SKU string `json:"sku"`
	Old string `json:"old"`
	New string `json:"new"`
}

// UpdatePrices is the tool update_prices on the shop's price list: item by item,
// and the same call with old and new exchanged takes it back. The pool's role is
// PricerRole.
func UpdatePrices(pool *pgxpool.Pool) (tools.Tool, error) {
	return tools.Func(tools.Spec{
		Name: "update_prices", Version: "1", Description: strings.TrimSpace(updatePricesText),
		Words: map[string]tools.Words{
			"en": {Title: "Change prices", Sentence: "Change the price of {items:article|articles}: {reason}",
				Reversal: "Can be undone: the old prices are on record."},
			"zh-Hans": {Title: "修改价格", Sentence: "修改 {items:件商品}的价格：{reason}", Reversal: "可以撤销：原价已记录。"},
		},
		Schema:  json.RawMessage(updatePricesSchema),
		Example: json.RawMessage(`{"reason":"winter sale","items":[{"sku":"OUT-OK-M","old":"538.50","new":"484.65"}]}`),
		// What has the new price already is left as it is, so a repeat is harmless.
		Effect:         tools.EffectIdempotent,
		Claims:         []string{"changed", "updated", "cheaper", "raised", "lowered", "已修改", "已更新"},
		ConcurrencyKey: func(json.RawMessage) string { return "price list" },
		Service:        func(json.RawMessage) string { return "price list" },
		Undo:           undoPrices,
		Failures: []tools.DeclaredFailure{
			{Name: "no_such_article", Type: tools.NotFound, When: "an article is not in the price list"},
			{Name: "below_minimum", Type: tools.ExecutionError, When: "a price is below what was agreed with the supplier"},
			{Name: "changed_meanwhile", Type: tools.Conflict, When: "an article has another price than the one given as old"},
			{Name: "down", Type: tools.Unavailable, When: "the price list can't be reached; the rest is not tried"},
		},
	}, func(ctx context.Context, a updatePricesArgs) (tools.Output, error) { return updatePrices(ctx, pool, a) })
}

func updatePrices(ctx context.Context, pool *pgxpool.Pool, a updatePricesArgs) (tools.Output, error) {
	tools.NothingSent(ctx)
	byName := map[string]priceChange{}
	names := make([]string, 0, len(a.Items))
	for _, item := range a.Items {
		if _, twice := byName[item.SKU]; twice {
			return tools.Output{}, tools.Fail(tools.InvalidArguments, "The article "+item.SKU+" stands in the list twice.", "Name each article once.")
		}
		byName[item.SKU], names = item, append(names, item.SKU)
	}
	batch := tools.Report(ctx, names)
	tools.Sending(ctx)
	for _, name := range batch.Pending() {
		batch.Begin(name)
		data, err := changePrice(ctx, pool, byName[name])
		f, own := tools.AsFailure(err)
		switch {
		case err == nil:
			batch.Done(name, data)
		case own:
			batch.Fail(name, f)
		default:
			return tools.Output{}, err // the others would fail the same way
		}
	}
	completed, failed, _ := batch.Items()
	if len(completed) == 0 {
		f := tools.Fail(failed[0].Type, "No price was changed. "+failed[0].Reason, "Look at the reason for each article, then change the list.")
		f.NotSent = true
		return tools.Output{}, f
	}
	out := tools.Output{Completed: completed, Failed: failed}
	if len(failed) > 0 {
		out.State = fmt.Sprintf("%d prices were changed, %d were not. The old prices of those that were changed stand in completed.", len(completed), len(failed))
		out.Notices = []string{"Ways on: set the failed ones to a price that is allowed; take the changed ones back with old and new exchanged; accept it as it is; ask a person."}
	}
	return out, nil
}

const (
	sqlLockPrice = `
select price = $2::numeric, price = $3::numeric, price::text, minimum::text, valid_from from prices
where sku = $1 order by valid_from desc limit 1 for update`
	sqlSetPrice = `update prices set price = $3::numeric where sku = $1 and valid_from = $2`
)

// changePrice changes one article's latest price. A *tools.Failure is about this
// article; any other error is about all of them.
func changePrice(ctx context.Context, pool *pgxpool.Pool, c priceChange) (json.RawMessage, error) {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var asOld, asNew bool
		var now, minimum string
		var from time.Time
		err := tx.QueryRow(ctx, sqlLockPrice, c.SKU, c.Old, c.New).Scan(&asOld, &asNew, &now, &minimum, &from)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return tools.Fail(tools.NotFound, "There is no article "+c.SKU+" in the price list.")
		case err != nil:
			return err
		case asNew:
			return nil
		case !asOld:
			return tools.Fail(tools.Conflict, fmt.Sprintf("%s costs EUR %s now, not EUR %s.", c.SKU, now, c.Old))
		}
		_, err = tx.Exec(ctx, sqlSetPrice, c.SKU, from, c.New)
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.ConstraintName == "price_not_below_minimum" {
			return tools.Fail(tools.ExecutionError, fmt.Sprintf("EUR %s is below EUR %s, the lowest price agreed with the supplier for %s.", c.New, minimum, c.SKU)).Because(err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"old": c.Old, "new": c.New})
}

// undoPrices is the call that takes back what was done.
func undoPrices(args json.RawMessage, result tools.Result) (tool string, undo json.RawMessage, ok bool) {
	var a updatePricesArgs
	if json.Unmarshal(args, &a) != nil {
		return "", nil, false
	}
	back := updatePricesArgs{Reason: "taken back"}
	for _, done := range result.Completed() {
		for _, item := range a.Items {
			if item.SKU == done.Item {
				back.Items = append(back.Items, priceChange{SKU: item.SKU, Old: item.New, New: item.Old})
			}
		}
	}
	b, err := json.Marshal(back)
	return "update_prices", b, err == nil && len(back.Items) > 0
}

// OpenPrices makes the pool for UpdatePrices. Nothing is connected until the
// first call.
func OpenPrices(ctx context.Context, url string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("open the price list: %w", err)
	}
	c.MaxConns, c.MinConns = 2, 0
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open the price list: %w", err)
	}
	return pool, nil
}
