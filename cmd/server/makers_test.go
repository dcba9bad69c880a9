package main

import (
	"slices"
	"strings"
	"testing"

	"baton/internal/definition"
)

// An agent that sends mail where there is no mail server is told what lacks.
// R: T7, G4
func TestMailNeedsAMailServer(t *testing.T) {
	t.Parallel()
	b := newToolbox(definition.Installation{}, t.TempDir(), nil, nil)
	if _, err := b.sendEmail(t.Context(), definition.Version{}); err == nil || !strings.Contains(err.Error(), "smtp") {
		t.Errorf("without a mail server: %v", err)
	}
	b = newToolbox(definition.Installation{SMTP: definition.SMTP{Address: "127.0.0.1:25", From: "Shop <shop@shop.example>"}}, t.TempDir(), nil, nil)
	tool, err := b.sendEmail(t.Context(), definition.Version{})
	if err != nil || tool.Spec().Name != "send_email" || !strings.Contains(tool.Spec().Description, "shop@shop.example") {
		t.Errorf("with one: %v", err)
	}
}

// An agent has all statements of its data source, or those that it names.
// R: T2, S3
func TestStatementsAreToolsOfTheirDataSource(t *testing.T) {
	t.Parallel()
	const config = `
data_sources:
  shop:
    url: postgres://reader@127.0.0.1:1/shop
    write_url: postgres://writer@127.0.0.1:1/shop
    statements:
      close_order:
        words: {en: {title: Close an order, sentence: "Close order {order} with {amount.value} {amount.currency}"}}
        description: Closes an order.
        params: {order: {type: integer}, amount: {type: money, currencies: [EUR]}, note: {type: text, optional: true}}
        sql: update orders set closed = @amount_value, currency = @amount_currency, note = @note where id = @order
      reopen_order:
        words: {en: {title: Open an order again, sentence: "Open order {order} again"}}
        description: Opens it again.
        params: {order: {type: integer}}
        sql: update orders set closed = null where id = @order
  other:
    url: postgres://reader@127.0.0.1:1/other
`
	installation, faults := definition.ParseInstallation("baton.yaml", []byte(config), func(string) (string, bool) { return "", false })
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	b := newToolbox(installation, t.TempDir(), nil, nil)
	t.Cleanup(b.close)
	for list, want := range map[string]string{
		"change_db":               "ask_human change_db__close_order change_db__reopen_order finish read_output",
		"change_db__reopen_order": "ask_human change_db__reopen_order finish read_output",
	} {
		v := definition.Version{Agent: definition.Agent{Tools: []string{list}, DataSource: "shop"}, Number: len(list)}
		r, err := b.registry(v)
		if err != nil || strings.Join(r.Names(), " ") != want {
			t.Errorf("%s: %v, %v", list, r, err)
		}
	}
	if !slices.Contains(b.names(), "change_db") || !slices.Contains(b.names(), "change_db__close_order") {
		t.Error(b.names())
	}
	_, err := b.registry(definition.Version{Agent: definition.Agent{Tools: []string{"change_db__close_order"}, DataSource: "other"}, Number: 90})
	if err == nil || !strings.Contains(err.Error(), `"other" has no statement "close_order"`) {
		t.Error(err)
	}
	r, err := b.registry(definition.Version{Agent: definition.Agent{Tools: []string{"change_db"}, DataSource: "shop"}, Number: 100})
	if err != nil {
		t.Fatal(err)
	}
	_, spec, _ := r.Lookup("change_db__close_order")
	for _, part := range []string{`"required":["amount","order"]`, `"enum":["EUR"]`} {
		if !strings.Contains(string(spec.Schema), part) {
			t.Errorf("want %s in %s", part, spec.Schema)
		}
	}
}
