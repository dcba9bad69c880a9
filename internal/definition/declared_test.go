package definition

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"baton/internal/tools"
)

const wholeTool = `
name: refund_payment
words: {en: {title: Refund, sentence: "Refund {amount} of {payment}"}}
description: Refunds a payment.
params:
  payment: {type: text, pattern: "p_[0-9]+"}
  amount: {type: money}
  day: {type: date, optional: true}
example: {payment: p_1, amount: {value: "1.00", currency: EUR}}
effect: irreversible
request:
  method: POST
  url: https://pay.example:8443/payments/{payment}/refunds
  json: {amount: "{amount.value}", n: 9007199254740993, f: 1.50}
auth: {secret: psp, prefix: "Bearer "}
`

// R: T11
func TestADeclaredToolIsReadFromItsFile(t *testing.T) {
	t.Parallel()
	got, faults := ParseTool("refund.yaml", []byte(wholeTool))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	body, err := json.Marshal(got.Request.JSON)
	if err != nil || got.Name != "refund_payment" || got.Effect != tools.EffectIrreversible || got.Auth != (Auth{Header: "Authorization", Secret: "psp", Prefix: "Bearer "}) ||
		string(body) != `{"amount":"{amount.value}","f":1.50,"n":9007199254740993}` || string(got.Example) != `{"amount":{"currency":"EUR","value":"1.00"},"payment":"p_1"}` {
		t.Errorf("%+v %s %s %v", got, body, got.Example, err)
	}
	const schema = `{"additionalProperties":false,"properties":{"amount":{"additionalProperties":false,"properties":{"currency":{"description":"ISO 4217","pattern":"^[A-Z]{3}$","type":"string"},"value":{"description":"decimal, such as 12.50","pattern":"^-?(0|[1-9][0-9]{0,14})(\\.[0-9]{1,4})?$","type":"string"}},"required":["value","currency"],"type":"object"},"day":{"format":"date","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$","type":"string"},"payment":{"maxLength":10000,"minLength":1,"pattern":"^(?:p_[0-9]+)$","type":"string"}},"required":["amount","payment"],"type":"object"}`
	if s := string(Schema(got.Params)); s != schema {
		t.Error(s)
	}
}

// R: T11, S3
func TestAWrongToolIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	for change, want := range map[[2]string]string{
		{"name: refund_payment\n", ""}:                            "the key name is missing",
		{"name: refund_payment", "name: Refund"}:                  `t.yaml:2: name: want small letters, digits and underscores`,
		{"effect: irreversible", "effect: final"}:                 "t.yaml:10: effect: want one of read_only",
		{"effect: irreversible", "efect: irreversible"}:           "did you mean effect?",
		{"{amount.value}", "{amount.valeu}"}:                      `there is no parameter "amount.valeu"; did you mean amount?`,
		{"of {payment}", "of {paymnt}"}:                           `there is no parameter "paymnt"; did you mean payment?`,
		{"payments/{payment}", "payments/{day}"}:                  "the parameter day is optional, and an address can't do without it",
		{"https://pay.example:8443", "https://{payment}.example"}: "the host must be written out",
		{"https://pay.example:8443", "file://pay"}:                "want an address such as",
		{"https://pay.example:8443", "https://u:p@pay"}:           "want an address such as",
		{"/refunds\n", "/refunds?x=1\n"}:                          "what stands behind the ? goes under query",
		{"method: POST", "method: GET"}:                           "a GET has no body",
		{"method: POST", "method: SEND"}:                          "want one of GET",
		{"{secret: psp,", "{secret: psp, oauth: x,"}:              "one of the keys secret and oauth is due, not both",
		{"{type: money}", "{type: money, pattern: x}"}:            "only a parameter of type text has pattern",
		{"{en: {", "{de: {"}:                                      "the key en is missing",
		{"n: 9007199254740993", "n: .inf"}:                        "a number as JSON writes it",
		{"day: {type", "key: {type"}:                              "key is the name of the idempotency key",
		{"json: {", "form: {x: y}\n  json: {"}:                    "a request has one body",
	} {
		source := strings.Replace(wholeTool, change[0], change[1], 1)
		if source == wholeTool {
			t.Fatalf("%v changes nothing", change)
		}
		if _, faults := ParseTool("t.yaml", []byte(source)); !strings.Contains(faults.Error(), want) {
			t.Errorf("%v:\ngot  %v\nwant %s", change, faults, want)
		}
	}
	if _, faults := ParseTool("t.yaml", []byte("a: &a [*a]")); len(faults) == 0 {
		t.Error("a file that holds itself is taken")
	}
}

// R: T11
func TestAFolderOfToolsIsReadAsAWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": wholeTool, "b.yml": strings.Replace(wholeTool, "refund_payment", "other", 1), "c.yaml": wholeTool, "notes.txt": "x", "d.yaml": "name: x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, faults, err := ReadTools(dir)
	if err != nil || len(all) != 2 || !strings.Contains(faults.Error(), "c.yaml: name: "+filepath.Join(dir, "a.yaml")+" has a tool of this name already") || !strings.Contains(faults.Error(), "d.yaml") {
		t.Errorf("%d tools, %v, %v", len(all), faults, err)
	}
	if _, _, err := ReadTools(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that isn't there is read")
	}
}

// FuzzParseTool looks for files that break the reader, and for tools that it takes
// and that are none.
func FuzzParseTool(f *testing.F) {
	f.Add([]byte(wholeTool))
	f.Add([]byte("a: &a {b: *a}\nname: [*a, *a]"))
	f.Add([]byte("name: x\nrequest: {method: GET, url: \"https://a/{b\"}"))
	f.Fuzz(func(t *testing.T, source []byte) {
		got, faults := ParseTool("t.yaml", source)
		if len(faults) > 0 {
			return
		}
		if got.Name == "" || got.Request.URL == "" || !json.Valid(Schema(got.Params)) {
			t.Errorf("taken: %+v", got)
		}
		if e := Example(got.Params, got.Example); e != nil && !json.Valid(e) {
			t.Errorf("example %s", e)
		}
	})
}
