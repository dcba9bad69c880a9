package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"baton/internal/i18n"
	"baton/templates"
)

// A long list costs the page a line, and can be opened; what a form can't hold
// is not taken from the call.
// R: Q3
// case: abuse A29
func TestLongArgumentsAreShownShortAndKeptWhole(t *testing.T) {
	t.Parallel()
	to := make([]string, 1840)
	for i := range to {
		to[i] = fmt.Sprintf("customer-%d@example.org", i)
	}
	args, err := json.Marshal(map[string]any{"to": to, "subject": "Spring prices", "items": []any{map[string]any{"sku": "K-1", "price": "12.50"}}})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]templates.Argument{}
	for _, a := range arguments(args) {
		by[a.Name] = a
	}
	if a := by["to"]; a.Count != 1840 || a.More != 1837 || a.Value != "customer-0@example.org; customer-1@example.org; customer-2@example.org" || strings.Count(a.Whole, "\n") != 1839 {
		t.Errorf("the list is %d items, %d more, %q", a.Count, a.More, a.Value)
	}
	if a := by["items"]; a.Value != "price 12.50, sku K-1" || a.Whole != "" {
		t.Errorf("an item is %+v", a)
	}
	if a := argument("text", json.RawMessage(`"`+strings.Repeat("x", 700)+`"`)); len(a.Value) > 610 || len(a.Whole) != 700 {
		t.Errorf("a long text is %d of %d letters", len(a.Value), len(a.Whole))
	}
	r := reader{ctx: i18n.With(context.Background(), i18n.English)}
	form := url.Values{}
	for _, f := range r.fields(nil, args, argumentPrefix) {
		if f.Kind != templates.FieldFixed {
			form.Set(f.Name, f.Value)
		} else if f.Name != argumentPrefix+"to" {
			t.Errorf("%s can't be changed", f.Name)
		}
	}
	form.Set(argumentPrefix+"subject", "Summer prices")
	var was, is map[string]json.RawMessage
	if json.Unmarshal(args, &was) != nil || json.Unmarshal(filled(nil, args, argumentPrefix, form), &is) != nil {
		t.Fatal("no object")
	}
	if string(is["to"]) != string(was["to"]) || string(is["subject"]) != `"Summer prices"` || string(is["items"]) != string(was["items"]) {
		t.Errorf("the changed call has other values than those that were changed")
	}
}
