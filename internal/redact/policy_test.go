package redact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"baton/internal/redact"
)

func following(t testing.TB, p redact.Policy) (*redact.Redactor, *redact.Tokens) {
	t.Helper()
	r, err := redact.New(redact.Options{Key: []byte("k")})
	if err != nil {
		t.Fatal(err)
	}
	tokens := redact.NewTokens([]byte("session"))
	return r.Following(p, tokens), tokens
}

// mark is the placeholder that a session with the key of following gives a value
// which it meets in a field of this name.
func mark(t testing.TB, field, value string) string {
	t.Helper()
	doc := redact.NewTokens([]byte("session")).Mask(redact.Policy{Fields: map[string]redact.Rule{"/" + field: redact.Token}},
		json.RawMessage(fmt.Sprintf(`{%q:%s}`, field, value)))
	var got map[string]string
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return got[field]
}

// R: O3
func TestAPolicyNamesFieldsAtAnyDepthAndInRows(t *testing.T) {
	t.Parallel()
	email := mark(t, "email", `"ana@x.example"`)
	for name, c := range map[string]struct{ fields, in, want string }{
		"dropped":              {`{"/card":"d"}`, `{"card":"12 34","n":1}`, `{"card":"[withheld]","n":1}`},
		"at depth":             {`{"/customer/email":"t"}`, `{"orders":[{"customer":{"email":"ana@x.example","tier":"gold"}}]}`, `{"orders":[{"customer":{"email":"` + email + `","tier":"gold"}}]}`},
		"of another parent":    {`{"/customer/email":"t"}`, `{"shop":{"email":"ana@x.example"}}`, `{"shop":{"email":"ana@x.example"}}`},
		"all below":            {`{"/card":"d"}`, `{"card":{"number":4,"ok":true,"none":null,"empty":"","list":[1,"a"]}}`, `{"card":{"number":"[withheld]","ok":"[withheld]","none":null,"empty":"","list":["[withheld]","[withheld]"]}}`},
		"but what is named":    {`{"/card":"d","/card/brand":"p"}`, `{"card":{"number":4,"brand":"Visa"}}`, `{"card":{"number":"[withheld]","brand":"Visa"}}`},
		"the longer of two":    {`{"/email":"d","/customer/email":"t"}`, `{"customer":{"email":"ana@x.example"},"email":"b"}`, `{"customer":{"email":"` + email + `"},"email":"[withheld]"}`},
		"column of a table":    {`{"/email":"t"}`, `{"columns":[{"name":"id"},{"name":"email"}],"rows":[[1,"ana@x.example"],[2,null]]}`, `{"columns":[{"name":"id"},{"name":"email"}],"rows":[[1,"` + email + `"],[2,null]]}`},
		"column by name alone": {`{"/email":"d"}`, `{"columns":["email","id"],"rows":[["ana@x.example",1]]}`, `{"columns":["email","id"],"rows":[["[withheld]",1]]}`},
		"elsewhere, before":    {`{"/email":"t"}`, `{"a note":"write to ana@x.example!","email":"ana@x.example"}`, `{"a note":"write to ` + email + `!","email":"` + email + `"}`},
		"dropped elsewhere":    {`{"/email":"d"}`, `{"a note":"write to ana@x.example!","email":"ana@x.example"}`, `{"a note":"write to [withheld]!","email":"[withheld]"}`},
		"in a text of JSON":    {`{"/email":"d"}`, `{"body":"{\"email\":\"ana@x.example\"}"}`, `{"body":"{\"email\":\"[withheld]\"}"}`},
		"any one step":         {`{"/people/*/email":"d"}`, `{"people":{"ana":{"email":"x"}}}`, `{"people":{"ana":{"email":"[withheld]"}}}`},
		"what passes":          {`{"/email":"p"}`, `{"email":"ana@x.example"}`, `{"email":"ana@x.example"}`},
	} {
		var rules map[string]string
		if err := json.Unmarshal([]byte(c.fields), &rules); err != nil {
			t.Fatal(err)
		}
		p := redact.Policy{Fields: map[string]redact.Rule{}}
		for pointer, rule := range rules {
			p.Fields[pointer] = map[string]redact.Rule{"p": redact.Pass, "t": redact.Token, "d": redact.Drop}[rule]
		}
		r, _ := following(t, p)
		got := r.JSON(json.RawMessage(c.in))
		if string(got) != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
		if again := r.JSON(got); string(again) != string(got) {
			t.Errorf("%s: a second time it is %s", name, again)
		}
	}
}

// R: O3
func TestASecretIsNoData(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	r, tokens := following(t, redact.Policy{Default: redact.Token, Fields: map[string]redact.Rule{"/p": redact.Token, "/password": redact.Token, "/pin": redact.Token}})
	r = r.With([]redact.Known{{Name: "shop", Value: "known-to-us"}}, []string{"/pin"})
	for _, doc := range []string{
		`{"p":"` + secret + `"}`, `{"p":"use ` + secret + ` for it"}`, `{"p":"known-to-us"}`, `{"pin":12345678}`, `{"password":"` + secret + `"}`, `{"other":"` + secret + `"}`,
	} {
		masked := r.Output(false).JSON(json.RawMessage(doc))
		if clear, _, _ := tokens.PutBack(masked); strings.Contains(string(masked)+string(clear), secret) || strings.Contains(string(clear), "known-to-us") || strings.Contains(string(clear), "12345678") {
			t.Errorf("%s became %s and then %s", doc, masked, clear)
		}
	}
	if clear, _, _ := tokens.PutBack(json.RawMessage(quoted(r.Output(false).Text("use " + secret)))); strings.Contains(string(clear), secret) {
		t.Errorf("a text became %s", clear)
	}
	// What looks like a card or a phone is data where the policy says so.
	doc := json.RawMessage(`{"p":["4111 1111 1111 1111","+1 415 555 0132",4111111111111111]}`)
	if clear, _, _ := tokens.PutBack(r.JSON(doc)); string(clear) != string(doc) {
		t.Errorf("numbers of people became %s", clear)
	}
	if got := r.String("call +1 415 555 0132"); !strings.HasPrefix(got, "call [masked:p:") {
		t.Errorf("in a text it is %s", got)
	}
	if got := r.String("call +1 415 555 0199"); !strings.HasPrefix(got, "call [redacted:phone:") {
		t.Errorf("another one is %s", got)
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// R: O3
func TestOnlyWhatAnActionHoldsIsRevealed(t *testing.T) {
	t.Parallel()
	tokens := redact.NewTokens([]byte("session"))
	doc := tokens.Mask(redact.Policy{Fields: map[string]redact.Rule{"/p": redact.Token}}, json.RawMessage(`{"p":["a\"b <i>","other people"]}`))
	var marks struct{ P []string }
	if err := json.Unmarshal(doc, &marks); err != nil {
		t.Fatal(err)
	}
	shown := tokens.Reveal(json.RawMessage(`{"title":"To `+marks.P[0]+`, not `+marks.P[1]+`"}`), json.RawMessage(`{"to":"`+marks.P[0]+`"}`))
	if string(shown) != `{"title":"To a\"b <i>, not `+marks.P[1]+`"}` {
		t.Errorf("shown: %s", shown)
	}
}

// R: O3
func TestTheDefaultIsForWhatToolsBringBackAlone(t *testing.T) {
	t.Parallel()
	r, tokens := following(t, redact.Policy{Default: redact.Drop, Fields: map[string]redact.Rule{"/status": redact.Pass, "/id": redact.Token}})
	doc := json.RawMessage(`{"status":"open","id":"ORD-77120","name":"Ana","n":[1,{"x":2.5}],"none":null}`)
	want := `{"status":"open","id":"` + mark(t, "id", `"ORD-77120"`) + `","name":"[withheld]","n":["[withheld]",{"x":"[withheld]"}],"none":null}`
	if got := r.Output(false).JSON(doc); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := r.JSON(doc); !strings.Contains(string(got), `"name":"Ana"`) || strings.Contains(string(got), "77120") {
		t.Errorf("elsewhere it is %s", got)
	}
	table := json.RawMessage(`{"columns":[{"name":"status","type":"text"},{"name":"name"}],"rows":[["open","Ana"]],"row_count":1,"complete":true}`)
	if got := r.Output(true).JSON(table); string(got) != `{"columns":[{"name":"status","type":"text"},{"name":"name"}],"rows":[["open","[withheld]"]],"row_count":1,"complete":true}` {
		t.Errorf("a table: %s", got)
	}
	if got := r.Output(false).Text("Ana owes 5"); got != redact.Withheld {
		t.Errorf("a text: %s", got)
	}
	if got := r.Output(false).Text(`{"status":"open","name":"Ana"}`); got != `{"status":"open","name":"[withheld]"}` {
		t.Errorf("a text of JSON: %s", got)
	}
	if tokens.Len() != 1 {
		t.Errorf("%d values are kept", tokens.Len())
	}
}

// R: O3
func TestValuesAreKnownWhereverTheyTurnUp(t *testing.T) {
	t.Parallel()
	r, _ := following(t, redact.Policy{Fields: map[string]redact.Rule{"/p": redact.Token}})
	r.JSON(json.RawMessage(`[{"p":"ana@x.example"},{"p":"Ana"},{"p":"王小明"},{"p":12},{"p":1234567},{"p":"a\"b\\c <d>"},{"p":"true"},{"p":true}]`))
	email, ana, long, odd, chinese := mark(t, "p", `"ana@x.example"`), mark(t, "p", `"Ana"`), mark(t, "p", `1234567`), mark(t, "p", `"a\"b\\c <d>"`), mark(t, "p", `"王小明"`)
	for in, want := range map[string]string{
		"to ana@x.example, now":      "to " + email + ", now",
		"?to=ana%40x.example&n=1":    "?to=" + email + "&n=1",
		"Ana, Anabel and Banana Ana": ana + ", Anabel and Banana " + ana,
		"用户王小明已退款":                   "用户" + chinese + "已退款",
		"12 of 1234567, true":        "12 of " + long + ", true", // too short to be told from any other
		`say a"b\c <d> twice`:        `say ` + odd + ` twice`,
		`{"x":"a\"b\\c <d>","n":12}`: `{"x":"` + odd + `","n":12}`,
		`{"n":1234567}`:              `{"n":"` + long + `"}`,
	} {
		if got := r.String(in); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", in, got, want)
		}
	}
	fresh, _ := following(t, redact.Policy{Fields: map[string]redact.Rule{"/p": redact.Token}})
	before := `{"note":"write to ana@x.example","p":"ana@x.example"}`
	if got := string(fresh.JSON(json.RawMessage(before))); strings.Contains(got, "ana@") {
		t.Errorf("what stands before its field stays: %s", got)
	}
	s := r.Stream()
	out := ""
	for _, piece := range strings.SplitAfter("I write to ana@x.example and then to nobody else at all, since there is nobody else", "") {
		out += s.Write(piece)
	}
	if out += s.Close(); strings.Contains(out, "ana@") || !strings.Contains(out, email) {
		t.Errorf("a stream gave %s", out)
	}
}

// R: O3
func TestWhatIsPutBackIsWhatWasTaken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(
			rapid.Custom(func(rt *rapid.T) any { return rapid.String().Draw(rt, "text") }),
			rapid.Custom(func(rt *rapid.T) any { return json.Number(fmt.Sprint(rapid.Int64().Draw(rt, "number"))) }),
			rapid.SampledFrom([]any{"ana@x.example", `q"uo\te`, "</script>\u2028", "[masked:email:000000000000]x", true})), 1, 8).Draw(rt, "values")
		doc, err := json.Marshal(map[string]any{"p": values})
		if err != nil {
			rt.Fatal(err)
		}
		r, tokens := following(t, redact.Policy{Fields: map[string]redact.Rule{"/p": redact.Token}})
		masked := r.JSON(doc)
		if !json.Valid(masked) {
			rt.Fatalf("%s is no JSON", masked)
		}
		clear, _, misplaced := tokens.PutBack(masked)
		var got, want any
		if json.Unmarshal(clear, &got) != nil || json.Unmarshal(doc, &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) || len(misplaced) > 0 {
			rt.Fatalf("%s\nbecame %s\nand then %s, %v", doc, masked, clear, misplaced)
		}
		// Another session's key opens none of it.
		if _, _, wrong := redact.NewTokens([]byte("another")).PutBack(masked); tokens.Len() > 0 && len(wrong) == 0 {
			rt.Fatalf("another session takes %s", masked)
		}
	})
}

// R: O3
func TestPlaceholdersArePutBackInsideTextsAndInventedOnesAreTold(t *testing.T) {
	t.Parallel()
	tokens := redact.NewTokens([]byte("session"))
	masked := tokens.Mask(redact.Policy{Fields: map[string]redact.Rule{"/name": redact.Token, "/n": redact.Token}}, json.RawMessage(`{"name":"Ana \"A\"","n":42}`))
	name, n := mark(t, "name", `"Ana \"A\""`), mark(t, "n", `42`)
	if string(masked) != `{"name":"`+name+`","n":"`+n+`"}` {
		t.Fatalf("masked: %s", masked)
	}
	clear, at, misplaced := tokens.PutBack(json.RawMessage(`{"to":["` + name + `"],"n":"` + n + `","text":"Dear ` + name + `, ` + n + ` left","other":1.0}`))
	if string(clear) != `{"to":["Ana \"A\""],"n":42,"text":"Dear Ana \"A\", 42 left","other":1.0}` || fmt.Sprint(at) != "[/to/0 /n /text]" || misplaced != nil {
		t.Errorf("%s at %v, %v", clear, at, misplaced)
	}
	invented := "[masked:name:0123456789ab]"
	_, _, misplaced = tokens.PutBack(json.RawMessage(`{"a":{"b":"x ` + invented + `"},"c":"[withheld]","d":"it was [withheld]"}`))
	if fmt.Sprint(misplaced) != "[{/a/b "+invented+"} {/c [withheld]}]" {
		t.Errorf("misplaced: %v", misplaced)
	}
	if got := tokens.Conceal(json.RawMessage(`{"n":42,"to":"Ana \"A\"","m":43}`)); string(got) != `{"n":"`+n+`","to":"`+name+`","m":43}` {
		t.Errorf("concealed: %s", got)
	}
}

// R: O3
func TestTheValuesOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	r, tokens := following(t, redact.Policy{Fields: map[string]redact.Rule{"/p": redact.Token}})
	if got := r.JSON(json.RawMessage(`{"p":"` + strings.Repeat("x", redact.MaxTokenValue) + `"}`)); string(got) != `{"p":"[withheld:too-long]"}` {
		t.Errorf("a long value: %.100s", got)
	}
	var several sync.WaitGroup
	for part := range 4 {
		several.Go(func() {
			for i := range redact.MaxTokens/4 + 10 {
				r.JSON(fmt.Appendf(nil, `{"p":"person-%d-%d"}`, part, i))
			}
		})
	}
	several.Wait()
	if tokens.Len() != redact.MaxTokens || len(tokens.Fresh()) != redact.MaxTokens {
		t.Errorf("%d values, %d of them fresh", tokens.Len(), len(tokens.Fresh()))
	}
	if got := r.JSON(json.RawMessage(`{"p":"one more"}`)); string(got) != `{"p":"[withheld:too-many]"}` {
		t.Errorf("beyond the bound: %s", got)
	}
	if got := r.JSON(json.RawMessage(`{"p":"person-0-1"}`)); string(got) != `{"p":"`+mark(t, "p", `"person-0-1"`)+`"}` {
		t.Errorf("a known one: %s", got)
	}
	big, _ := following(t, redact.Policy{Fields: map[string]redact.Rule{"/p": redact.Token}})
	for i := range redact.MaxTokenBytes / 4000 {
		if got := big.JSON(fmt.Appendf(nil, `{"p":"%03d%s"}`, i, strings.Repeat("x", 3995))); !strings.HasPrefix(string(got), `{"p":"[masked:`) {
			t.Fatalf("value %d: %s", i, got)
		}
	}
	if got := big.JSON(json.RawMessage(`{"p":"` + strings.Repeat("y", 3995) + `"}`)); string(got) != `{"p":"[withheld:too-many]"}` {
		t.Errorf("beyond the bytes of all: %.100s", got)
	}
	tokens.Saved(redact.MaxTokens - 1)
	if len(tokens.Fresh()) != 1 {
		t.Errorf("%d are left to be saved", len(tokens.Fresh()))
	}
}

// R: O3, UI
func TestABriefTextNamesWhatIsHidden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Refund to [masked:email:3f9a1c20b7d4] by [redacted:api-key:3f9a1c]": "Refund to [email] by [api-key]",
		"[withheld] and [withheld:too-long] stay, as does [1]":               "[withheld] and [withheld:too-long] stay, as does [1]",
		"no [masked:email:nothex] of ours":                                   "no [masked:email:nothex] of ours",
	} {
		if got := redact.Brief(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
