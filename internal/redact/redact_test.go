package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"baton/internal/redact"
)

const (
	alnum  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	word   = alnum + "_-"
	b64    = alnum + "+/"
	hexes  = "0123456789abcdef"
	base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	digits = "0123456789"
)

// body is n random characters; the last is no dash, where words end.
func body(rnd *rand.Rand, set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[rnd.IntN(len(set))]
	}
	if n > 0 && (b[n-1] == '-' || b[n-1] == '+') {
		b[n-1] = 'x'
	}
	return string(b)
}

// keys are the formats whose bodies identify themselves, 1 to 12, and more.
func keys(rnd *rand.Rand) map[string]string {
	return map[string]string{
		"01 openai project": "sk-proj-" + body(rnd, word, 37) + "T3BlbkFJ" + body(rnd, word, 37),
		"02 openai":         "sk-" + body(rnd, alnum, 20) + "T3BlbkFJ" + body(rnd, alnum, 20),
		"03 anthropic":      "sk-ant-api03-" + body(rnd, word, 93) + "AA",
		"04 aws id":         "AKIA" + body(rnd, base32, 16),
		"04 aws session id": "ASIA" + body(rnd, base32, 16),
		"06 github":         "ghp_" + body(rnd, alnum, 36),
		"06 github oauth":   "gho_" + body(rnd, alnum, 36),
		"07 github server":  "ghs_" + body(rnd, alnum, 36),
		"08 github fine":    "github_pat_" + body(rnd, alnum+"_", 82),
		"09 gitlab":         "glpat-" + body(rnd, word, 20),
		"10 slack bot":      "xoxb-" + body(rnd, digits, 12) + "-" + body(rnd, digits, 12) + "-" + body(rnd, alnum, 24),
		"10 slack app":      "xapp-1-" + body(rnd, alnum, 11) + "-" + body(rnd, digits, 13) + "-" + body(rnd, hexes, 64),
		"11 slack hook":     "hooks.slack.com/services/T" + body(rnd, base32, 8) + "/B" + body(rnd, base32, 8) + "/" + body(rnd, alnum, 24),
		"12 stripe":         "sk_live_" + body(rnd, alnum, 24),
		"12 stripe limited": "rk_live_" + body(rnd, alnum, 24),
		"12 stripe hook":    "whsec_" + body(rnd, alnum, 24),
		"13 google":         "AIza" + body(rnd, word, 35),
		"15 jwt":            "eyJ" + body(rnd, word, 30) + ".eyJ" + body(rnd, word, 40) + "." + body(rnd, word, 43),
		"25 sendgrid":       "SG." + body(rnd, word, 22) + "." + body(rnd, word, 43),
		"26 twilio":         "SK" + body(rnd, hexes, 32),
		"27 npm":            "npm_" + body(rnd, alnum, 36),
		"28 hugging face":   "hf_" + body(rnd, alnum, 34),
		"29 telegram":       body(rnd, "123456789", 10) + ":AA" + body(rnd, word, 33),
		"+ baton":           "baton_" + body(rnd, alnum, 40),
	}
}

// inContext are the formats that what stands around them gives away: text, and
// what of it must not be seen again.
func inContext(rnd *rand.Rand) map[string][2]string {
	pw := body(rnd, alnum, 6) + "-.!%" + body(rnd, alnum, 4)
	aws := body(rnd, b64, 40)
	pem := body(rnd, b64, 64)
	azure := body(rnd, b64, 86)
	basic := base64.StdEncoding.EncodeToString([]byte("bob:" + pw))
	opaque := body(rnd, alnum, 18) + "7"
	return map[string][2]string{
		"05 aws secret":        {"aws_secret_access_key = " + aws, aws},
		"05 aws secret json":   {`{"SecretAccessKey": "` + aws + `"}`, aws},
		"14 service account":   {`{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\n` + pem + `\n-----END PRIVATE KEY-----\n"}`, pem},
		"16 bearer":            {"Authorization: Bearer " + opaque, opaque},
		"16 bearer alone":      {"sent with bearer " + opaque + " today", opaque},
		"16 curl header":       {`curl -H "Authorization: Bearer ` + opaque + `" https://x.example`, opaque},
		"17 basic":             {"Authorization: Basic " + basic, basic},
		"17 curl user":         {"curl -s -u bob:" + pw + " https://x.example", pw},
		"18 pem rsa":           {"-----BEGIN RSA PRIVATE KEY-----\n" + pem + "\n-----END RSA PRIVATE KEY-----", pem},
		"18 pem ec":            {"-----BEGIN EC PRIVATE KEY-----\n" + pem + "\n-----END EC PRIVATE KEY-----", pem},
		"18 pem openssh":       {"-----BEGIN OPENSSH PRIVATE KEY-----\n" + pem + "\n-----END OPENSSH PRIVATE KEY-----", pem},
		"18 pem encrypted":     {"-----BEGIN ENCRYPTED PRIVATE KEY-----\n" + pem + "\n-----END ENCRYPTED PRIVATE KEY-----", pem},
		"18 pem escaped":       {`key: -----BEGIN PRIVATE KEY-----\n` + pem + `\n-----END PRIVATE KEY-----\n`, pem},
		"18 pem cut at end":    {"-----BEGIN RSA PRIVATE KEY-----\n" + pem, pem},
		"18 pem cut at start":  {pem + "\n-----END RSA PRIVATE KEY-----", pem},
		"19 postgres url":      {"postgres://shop:" + pw + "@db.internal:5432/shop", pw},
		"19 mysql url":         {"mysql://shop:" + pw + "@db/shop", pw},
		"19 redis url":         {"redis://:" + pw + "@cache:6379", pw},
		"19 amqp url":          {"amqp://guest:" + pw + "@mq", pw},
		"19 https url":         {"fetch https://bob:" + pw + "@files.example/a?b=c", pw},
		"20 password json":     {`{"user":"bob","password":"` + pw + ` and more"}`, pw + " and more"},
		"20 password fragment": {`... "dbPassword": "` + pw + `", ...`, pw},
		"21 password form":     {"user=bob&password=" + pw + "&x=1", pw},
		"21 password env":      {"export DB_PASSWORD=" + pw + "$;& x", pw},
		"21 password quoted":   {"PASSWORD='" + pw + " x'", pw + " x"},
		"22 password yaml":     {"db:\n  user: bob\n  password: " + pw + " with spaces\n", pw + " with spaces"},
		"22 password flag":     {"tool --password " + pw + " --verbose", pw},
		"22 password flag =":   {"tool --db-password='" + pw + " x' run", pw + " x"},
		"23 cookie":            {"Cookie: sid=" + opaque + "; theme=dark", opaque},
		"24 set-cookie":        {"Set-Cookie: sid=" + opaque + "; HttpOnly", opaque},
		"24 set-cookie json":   {`{"headers":{"Set-Cookie":["sid=` + opaque + `"]}}`, opaque},
		"30 azure":             {"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + azure + "==", azure},
		"38 access_token":      {"https://x.example/cb?access_token=" + opaque + "&state=1", opaque},
		"38 sig":               {"https://x.example/blob?se=1&sig=" + opaque, opaque},
		"38 amazon signature":  {"https://s3.example/k?X-Amz-Signature=" + body(rnd, hexes, 64), "Signature=" + hexes[:1]},
		"39 api key header":    {"X-Api-Key: " + opaque, opaque},
		"40 api key json":      {`{"apiKey":"` + opaque + `"}`, opaque},
		"40 client secret":     {`{"client_secret": "` + opaque + `"}`, opaque},
		"41 escaped json":      {`{"body":"{\"api_key\":\"` + opaque + `\"}"}`, opaque},
		"41 twice escaped":     {`log: {\\\"api_key\\\":\\\"` + opaque + `\\\"}`, opaque},
	}
}

func session(t testing.TB, o redact.Options) *redact.Redactor {
	t.Helper()
	o.Key = []byte("one session")
	r, err := redact.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rounds(t *testing.T, f func(rnd *rand.Rand)) {
	for seed := range uint64(12) {
		f(rand.New(rand.NewPCG(seed, 7)))
		if t.Failed() {
			t.Logf("seed %d", seed)
			return
		}
	}
}

// R: O3
// case: abuse A30
func TestEveryKeyFormatIsMasked(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{})
	rounds(t, func(rnd *rand.Rand) {
		for name, key := range keys(rnd) {
			core := key[4:]
			for _, text := range []string{
				key, "the key " + key + ", please", `{"x":"` + key + `"}`, "KEY=" + key + "\n", "(" + key + ")", `say \"` + key + `\" twice`,
				"https://x.example/?k=" + url.QueryEscape(key),
				"blob " + base64.StdEncoding.EncodeToString([]byte("value: "+key+"\n")),
				"blob " + base64.URLEncoding.EncodeToString([]byte(key)),
			} {
				got := r.String(text)
				if strings.Contains(got, core) || strings.Contains(got, url.QueryEscape(core)) || !strings.Contains(got, "[redacted:") {
					t.Errorf("%s: %s -> %s", name, text, got)
				}
				if again := r.String(got); again != got {
					t.Errorf("%s: redacted twice: %s -> %s", name, got, again)
				}
			}
		}
	})
}

// R: O3
// case: abuse A30
func TestSecretsAreKnownByWhatStandsAroundThem(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{})
	rounds(t, func(rnd *rand.Rand) {
		for name, c := range inContext(rnd) {
			got := r.String(c[0])
			if strings.Contains(got, c[1]) || !strings.Contains(got, "[redacted:") {
				t.Errorf("%s: %s -> %s", name, c[0], got)
			}
			if json.Valid([]byte(c[0])) && !json.Valid([]byte(got)) {
				t.Errorf("%s: broke JSON: %s", name, got)
			}
			if again := r.String(got); again != got {
				t.Errorf("%s: redacted twice: %s -> %s", name, got, again)
			}
		}
	})
}

// R: O3
// case: abuse A30
func TestNumbersWithCheckDigits(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{})
	for _, gone := range []string{
		"4111 1111 1111 1111", "4111-1111-1111-1111", "4111111111111111", "3782-822463-10005", "5555555555554444", "6011 1111 1111 1117",
		"DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "078-05-1120", "+1 415 555 0132", "+49 (30) 1234-5678", "11010519491231002X",
	} {
		for _, text := range []string{gone, "paid with " + gone + ".", "no " + gone + " 12/28", `{"v":"` + gone + `"}`, "a,b\n1," + gone + "\n"} {
			if got := r.String(text); strings.Contains(got, gone) {
				t.Errorf("%s stayed in %s", gone, got)
			}
		}
	}
	for _, stay := range []string{
		"4111 1111 1111 1112", "1718000000000", "1718000000123", "order 2024000000012345", "978-3-16-148410-0", "9783161484100",
		"0b9f1c2e-7d4a-4c1e-9a51-2f64d1b0a111", "41111111-1111-1111-1111-111111111111", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"token count: 512", "tokens: 15234567", "next_page_token: abc123def", `{"max_tokens":4096,"tokens":512}`, "DE89 3704 0044 0532 0130 01",
		"110105194912310021", "000-12-3456", "a basic understanding", "bearer of bad news", "ORD-5555-0001", "v1.2.3-rc.4", "2026-01-02T03:04:05+0200",
		"PWD=/home/work", "password: ${DB_PASSWORD}", "9007199254740993", "EUR 1,234.50", "the secret of success", "Key: value", "jane@example.org",
		"git show 4a1d5b6", "3.14159265358979", "192.168.100.200", "public_key: none",
	} {
		if got := r.String(stay); got != stay {
			t.Errorf("%q became %q", stay, got)
		}
	}
}

// Each of these only one rule knows.
// R: O3
func TestSecretsAreFoundByThemselves(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{})
	for text, gone := range map[string]string{
		"078-05-1120\n219-09-9999\n": "219-09-9999", "+1 415 555 0132,+1 415 555 0133": "0133", "https://x.example/?auth=hunter22": "hunter22",
		"curl -b sid=hunter22 https://x.example": "hunter22", "tool -password hunter22": "hunter22",
		"Authorization: hunter22": "hunter22", `{"said":"Authorization\f: hunter22"}`: "hunter22", "sent with basic Ym9iOmh1bnRlcjI= today": "Ym9iOmh1bnRlcjI",
		"the awskey " + strings.Repeat("aB3/", 10): "aB3/aB3/",
		"blob " + base64.StdEncoding.EncodeToString([]byte("AccountName=x;AccountKey="+strings.Repeat("aB3/", 20)+"==")): "YUIzL2FCMy9hQjMv",
	} {
		if got := r.String(text); strings.Contains(got, gone) {
			t.Errorf("%s stayed in %s", gone, got)
		}
	}
}

// R: O3
func TestEmailIsMaskedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{MaskEmail: true})
	got := r.String("write to jane.doe@example.org today")
	if got != "write to j***@example.org today" || r.String(got) != got {
		t.Errorf("got %q", got)
	}
}

// R: O3
func TestKnownValuesAreMaskedInEveryEncoding(t *testing.T) {
	t.Parallel()
	const secret = `p@ss "w/rd"+§&7`
	r := session(t, redact.Options{Known: []redact.Known{{Name: "psp", Value: secret}, {Name: "short", Value: "abc"}}})
	asJSON, _ := json.Marshal(secret)
	for name, form := range map[string]string{
		"plain": secret, "json": string(asJSON), "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"lower percent": strings.ToLower(url.QueryEscape("@")) + url.QueryEscape(secret),
		"base64":        base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		if got := r.String("value=" + form + ";"); strings.Contains(got, form) || strings.Contains(got, "w/rd") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for shift := range 4 {
		in := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", shift) + ":" + secret + "tail"))
		if got := r.String(in); !strings.Contains(got, "[redacted:psp:") {
			t.Errorf("inside base64 at %d: %s", shift, got)
		}
	}
	if got := r.String("abc"); got != "abc" {
		t.Errorf("a short value was masked: %s", got)
	}
}

// R: O3
func TestPlaceholdersAreStableWithinASession(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{})
	a, b := "ghp_"+strings.Repeat("a", 36), "ghp_"+strings.Repeat("b", 36)
	got := r.String(a + " " + b + " " + a)
	parts := strings.Fields(got)
	if parts[0] != parts[2] || parts[0] == parts[1] {
		t.Errorf("got %s", got)
	}
	other, _ := redact.New(redact.Options{Key: []byte("another session")})
	if other.String(a) == parts[0] {
		t.Error("two sessions share a placeholder")
	}
}

// R: O3
func TestSensitiveFieldsAreMaskedAtAnyDepth(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{Pointers: []string{"/customer/email", "/card", "/rows/*/iban"}})
	got := string(r.JSON(json.RawMessage(`{"a":[{"customer":{"email":"j@x.de","name":"Jo"}}], "card":{"number":"1","cvc":[1,2]},
 "rows":[{"iban":"x1","n":9007199254740993}], "email":"kept@x.de", "card2":null, "deep":{"card":7.50}, "t":true}`)))
	for _, gone := range []string{"j@x.de", `"number"`, "x1", "7.50"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s stayed: %s", gone, got)
		}
	}
	for _, stays := range []string{`"name":"Jo"`, "kept@x.de", "9007199254740993", `"card2":null`, `"t":true`, "\n "} {
		if !strings.Contains(got, stays) {
			t.Errorf("%s went: %s", stays, got)
		}
	}
	if !json.Valid([]byte(got)) || string(r.JSON(json.RawMessage(got))) != got {
		t.Errorf("not JSON, or not stable: %s", got)
	}
	known := redact.Sensitive(json.RawMessage(`{"card":{"number":"4000123","cvc":[12]},"x":"y"}`), []string{"/card"})
	if len(known) != 2 || known[0].Value != "4000123" || known[1].Value != "12" {
		t.Errorf("collected %v", known)
	}
}

// R: O3
func TestNumbersInJSONBecomeStrings(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{})
	for _, in := range []string{`{"card":4111111111111111,"n":1}`, `{"password":12345678}`, `[4111111111111111]`, `{"password":null,"secret":true}`} {
		got := r.String(in)
		if !json.Valid([]byte(got)) || strings.Contains(got, "4111") || strings.Contains(got, "12345678") {
			t.Errorf("%s -> %s", in, got)
		}
	}
	if got := string(r.JSON(json.RawMessage("4111111111111111"))); !strings.HasPrefix(got, `"[redacted:card:`) {
		t.Errorf("by itself: %s", got)
	}
	if got := r.String("4111111111111111"); !strings.HasPrefix(got, "[redacted:card:") {
		t.Errorf("as a text: %s", got)
	}
	if got := r.String(`part of a log {"card":4111111111111111,"n":1`); !strings.Contains(got, `"card":"[redacted:card:`) {
		t.Errorf("got %s", got)
	}
}

// R: O3
func TestEnvironmentGivesItsSecrets(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{Known: redact.FromEnviron([]string{"HOME=/root", "LANG=C.UTF-8", "OPENAI_API_KEY=abcdef-unlike-any-shape", "SHOP_DATABASE_URL=postgres://u:hunter2hunter2@h/db"})})
	if got := r.String("abcdef-unlike-any-shape hunter2hunter2 /root"); strings.Contains(got, "shape") || strings.Contains(got, "hunter2") || !strings.Contains(got, "/root") {
		t.Errorf("got %s", got)
	}
}

// R: O3
func TestOperatorsPatterns(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{Patterns: []redact.Pattern{{Name: "Staff No", Expr: `staff ([A-Z]{2}[0-9]{4})`}}, Pass: []string{"iban"}})
	if got := r.String("staff AB1234, DE89 3704 0044 0532 0130 00"); strings.Contains(got, "AB1234") || !strings.Contains(got, "staff [redacted:staff-no:") || !strings.Contains(got, "0532") {
		t.Errorf("got %s", got)
	}
	if _, err := redact.New(redact.Options{Patterns: []redact.Pattern{{Name: "bad", Expr: "("}}}); err == nil {
		t.Error("a pattern that does not compile was taken")
	}
}

// A key that is split over pieces is masked as if it had come at once.
// R: O3
// case: abuse A30
func TestStreamMasksOverBorders(t *testing.T) {
	t.Parallel()
	r := session(t, redact.Options{Known: []redact.Known{{Name: "known", Value: "two words\nand a line"}}})
	rounds(t, func(rnd *rand.Rand) {
		texts := []string{"Well, this is a longer paragraph of prose, as models write it, that goes on and on until nobody reads it any more, and then some. The end. two words\nand a line\nx 4111 1111 1111 1111 y"}
		for _, k := range keys(rnd) {
			texts = append(texts, "I found the key in the file that you named, it is "+k+" and it must be changed.\nNext line "+k)
		}
		for _, field := range []string{"passphrase: abc ", "password is one two ", "--secret-key ", "cookie: a; b="} {
			texts = append(texts, "I have found this.\n"+field+"-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n-----END RSA PRIVATE KEY-----\nThat is all there is to say about it, I think.")
		}
		for _, c := range inContext(rnd) {
			texts = append(texts, "A line before.\n"+c[0]+"\nA line after, with some more words in it so that it is long enough to be cut in two.")
		}
		for _, text := range texts {
			s := r.Stream()
			var got strings.Builder
			for rest := text; rest != ""; {
				n := 1 + rnd.IntN(min(len(rest), 30))
				got.WriteString(s.Write(rest[:n]))
				rest = rest[n:]
			}
			got.WriteString(s.Close())
			if want := r.String(text); got.String() != want {
				t.Errorf("in pieces %q\nat once   %q", got.String(), want)
			}
		}
	})
}

// Streamed prose does not wait for the end of its line.
// R: O3
func TestStreamLetsProseThrough(t *testing.T) {
	t.Parallel()
	s := session(t, redact.Options{}).Stream()
	if got := s.Write(strings.Repeat("plain words and more ", 20)); len(got) < 300 {
		t.Errorf("held back all but %d bytes", len(got))
	}
}

// R: O3
func FuzzRedact(f *testing.F) {
	for _, s := range []string{`{"password":"x y z"}`, `password=[redacted:password:3f9a1c]`, `"a":4111111111111111,`, "4111111111111111", "Bearer \\u0041", "%70assword%3Dhunter22", "-----BEGIN PRIVATE KEY-----", "DE89", "://a:b@", "\\\\\\\"token\\\":"} {
		f.Add(s)
	}
	r := session(f, redact.Options{MaskEmail: true, Pointers: []string{"/a/*"}, Known: []redact.Known{{Name: "k", Value: "known value"}}})
	f.Fuzz(func(t *testing.T, s string) {
		got := r.String(s)
		if strings.Contains(got, "known value") {
			t.Fatalf("%q -> %q", s, got)
		}
		if json.Valid([]byte(s)) && !loneNumber(s) && !json.Valid([]byte(got)) {
			t.Fatalf("broke JSON: %q -> %q", s, got)
		}
		if out := r.JSON(json.RawMessage(s)); !json.Valid(out) {
			t.Fatalf("JSON of %q is %q", s, out)
		}
		st := r.Stream()
		half := st.Write(s[:len(s)/2]) + st.Write(s[len(s)/2:]) + st.Close()
		if strings.Contains(half, "known value") {
			t.Fatalf("stream of %q leaks: %q", s, half)
		}
	})
}

// loneNumber says whether a JSON document is nothing but a number.
func loneNumber(doc string) bool {
	first := strings.TrimSpace(doc)[0]
	return first == '-' || first >= '0' && first <= '9'
}

// R: O3, K5
func TestMaskTakesKnownValuesAlone(t *testing.T) {
	t.Parallel()
	got := redact.Mask(`{"a":"top secret","password":"stays here","b":"top+secret"}`, []redact.Known{{Name: "credential", Value: "top secret"}})
	if got != `{"a":"[redacted:credential:000000]","password":"stays here","b":"[redacted:credential:000000]"}` {
		t.Errorf("got %s", got)
	}
}
