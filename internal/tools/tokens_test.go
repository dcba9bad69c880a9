package tools

import (
	"encoding/json"
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
		written, _, wrong := decode(call("ask_human", args), f.Tools.tools["ask_human"], f.Tokens)
		if p := Prepare(call("ask_human", args), f); p.Verdict != Ready || wrong != nil || !strings.Contains(string(written), mark) {
			t.Errorf("%s: the plan is %s, the arguments %s", mark, p.Verdict, written)
		}
	}
}
