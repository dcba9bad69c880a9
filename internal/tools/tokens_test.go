package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"baton/internal/redact"
)

// tokensOf are tokens of values, and their placeholders in the same order.
func tokensOf(t *testing.T, values string) (*redact.Tokens, []string) {
	t.Helper()
	tokens := redact.NewTokens([]byte("session"))
	var marks struct{ P []string }
	masked := tokens.Mask(redact.Policy{Fields: map[string]redact.Rule{"/p": redact.Token}}, json.RawMessage(`{"p":`+values+`}`))
	if err := json.Unmarshal(masked, &marks); err != nil {
		t.Fatal(err)
	}
	return tokens, marks.P
}

// R: O3, E2
func TestAMaskedValueThatDoesntFitIsNotQuoted(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	var marks []string
	f.Tokens, marks = tokensOf(t, `["4242", 7, 1.5]`)
	r := wantRefused(t, Prepare(call("refund", `{"order":"`+marks[0]+`","amount":true}`), f), InvalidArguments)
	if text := r.ForModel(); strings.Contains(text, "4242") || !strings.Contains(text, "a masked value that doesn't fit") || len(r.Errors()) != 2 || r.Errors()[1].Got == r.Errors()[0].Got {
		t.Errorf("told: %s", text)
	}
	// Numbers are numbers again, and the plan has the placeholders alone.
	p := Prepare(call("refund", `{"order":"`+marks[1]+`","amount":"`+marks[2]+`"}`), f)
	clear := Prepare(call("refund", `{"order":7,"amount":1.5}`), f)
	if p.Verdict != Awaiting || p.Digest != clear.Digest || p.Exact == clear.Exact || !strings.Contains(string(p.Call.Args), marks[1]) {
		t.Errorf("the plan is %+v", p)
	}
}

// R: O3
func TestWhatAPlanIsStoredWithIsOfTheArgumentsAsWritten(t *testing.T) {
	t.Parallel()
	of := func(args json.RawMessage) string {
		var a struct {
			Lines []string `json:"lines"`
		}
		_ = json.Unmarshal(args, &a)
		return strings.Join(a.Lines, " ")
	}
	f := testFacts(t, testTool(t, "ship", EffectSide, func(s *Spec) { s.Service, s.ConcurrencyKey = of, of }))
	var marks []string
	f.Tokens, marks = tokensOf(t, `["Main Street 7"]`)
	p := Prepare(call("ship", `{"order":7,"amount":1,"lines":["`+marks[0]+`"]}`), f)
	if p.Verdict != Awaiting || p.Service != marks[0] || p.Lane != marks[0] {
		t.Errorf("the plan is %+v", p)
	}
	if b, err := json.Marshal(p); err != nil || strings.Contains(string(b), "Main Street") {
		t.Errorf("it is stored as %s, %v", b, err)
	}
}

// R: O3, E2
func TestArgumentsKeepTheirBoundWithWhatIsPutBack(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	var marks []string
	f.Tokens, marks = tokensOf(t, `["`+strings.Repeat("x", 4000)+`"]`)
	lines := strings.Repeat(`"`+marks[0]+`",`, MaxArgs/4000+1) + `"x"`
	r := wantRefused(t, Prepare(call("refund", `{"order":7,"amount":1,"lines":[`+lines+`]}`), f), InvalidArguments)
	if !strings.Contains(r.Message(), "With what their placeholders stand for") {
		t.Errorf("told: %s", r.Message())
	}
}

// R: O3
func TestToolsOfTheHarnessAreToldOfPlaceholdersAlone(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	var marks []string
	f.Tokens, marks = tokensOf(t, `["euro"]`)
	for _, mark := range []string{marks[0], "[masked:p:ffffffffffff]"} {
		args := `{"order":7,"amount":1,"currency":"` + mark + `"}`
		got, wrong := decoded(call("ask_human", args), f.Tools.tools["ask_human"], f.Tokens)
		if p := Prepare(call("ask_human", args), f); p.Verdict != Ready || wrong != nil || !strings.Contains(string(got.clear), mark) {
			t.Errorf("%s: the plan is %s, the arguments %s", mark, p.Verdict, got.clear)
		}
	}
}

// R: O3, L3
func TestTheDefaultHidesWhatAServiceSaidButNotWhatTheHarnessSays(t *testing.T) {
	t.Parallel()
	b := newBench(t, EffectRead, func(ctx context.Context, _ json.RawMessage) (Output, error) {
		fmt.Fprint(Writer(ctx), "Ana owes 5")
		return Output{}, Fail(NotFound, "There is no such order.", "Look at the list.").With("status", 404).
			With("body", json.RawMessage(`{"who":"Ana","code":"gone"}`))
	})
	b.runner.Redactor = b.runner.Redactor.Following(redact.Policy{Default: redact.Drop, Fields: map[string]redact.Rule{"/code": redact.Pass}}, redact.NewTokens(nil))
	text := b.do(t.Context()).Result.ForModel()
	if strings.Contains(text, "Ana") || !strings.Contains(text, `"code":"gone"`) || !strings.Contains(text, `"status":404`) || !strings.Contains(text, "no such order") {
		t.Errorf("told: %s", text)
	}
}

// R: O3, X6
func TestTheItemsOfABatchFollowThePolicyInWordsToo(t *testing.T) {
	t.Parallel()
	b := newBench(t, EffectRead, func(context.Context, json.RawMessage) (Output, error) {
		return Output{State: "One went to ana@x.example.", Completed: []Item{{Item: "ana@x.example", Data: json.RawMessage(`{"email":"ana@x.example"}`)}},
			Failed: []Item{{Item: "2", Type: NotFound, Reason: "ana@x.example has one only"}}}, nil
	})
	b.runner.Redactor = b.runner.Redactor.Following(redact.Policy{Fields: map[string]redact.Rule{"/email": redact.Token}}, redact.NewTokens(nil))
	if text := b.do(t.Context()).Result.ForModel(); strings.Contains(text, "ana@") || strings.Count(text, "[masked:email:") != 4 {
		t.Errorf("told: %s", text)
	}
}
