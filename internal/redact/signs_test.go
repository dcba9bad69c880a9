package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces are what secrets, and what only looks like them, are made of. Put
// together at random they hold every rule's matches, near matches and borders.
var pieces = []string{
	"sk-", "sk-ant-", "sk-proj-", "AKIA", "ASIA", "ghp_", "gho_", "github_pat_", "glpat-", "gldt-", "xoxb-", "xapp-", "hooks.slack.com/services/", "hooks",
	"sk_live_", "rk_test_", "whsec_", "AIza", "eyJ", "SG.", "SK", "npm_", "hf_", ":AA", "AccountKey=", "SharedAccessKey=", "baton_",
	"abcdefghijklmnop", "ABCDEFGHIJKLMNOP", "0123456789abcdef", "QRSTUVWXYZ012345", "a1b2c3d4e5f6a7b8", "aB3dE6gH9jK2mN5p", "ffffffffffffffff",
	"aws_secret_access_key", "secret_access_key", "awskey", "AWS", "laws", "sort_key", "api_key", "Api Key", "apikeyid", "access-key_id", "client secret", "my password",
	"authorization", "Proxy-Authorization", "Bearer ", "bearer\t", "Basic ", "basic understanding", "Ym9iOmh1bnRlcjI=", "digest ", "curl ", "https", "wget ", "http://", "://",
	" -u ", " --user=", "--proxy-user ", " -b ", "--cookie ", "bob:", "bob:pw@", "@", "cookie", "Set-Cookie", "cookie2", "sid=",
	"?access_token=", "&sig=", ";auth=", "?x-amz-signature=", "&x=", " --password ", "-token=", "--db-api-key ", "x-token ", "--secret-key=", "pass", "passwd", "pwd", "pin", "spin",
	"cvv", "token", "tokens", "max_tokens", "next_page_token", "secret", "credentials", "key", "_id", "s", "export ", "${X}", "null", "true", "yes",
	"4111 1111 1111 1111", "4111111111111111", "3782-822463-10005", "1718000000123", "2026-01-02", "12", "3456", "7", "DE89", "DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "AB12",
	"078-05-1120", "+1 415 555 0132", "+49 (30) 1234-5678", "+02:00", "+5", "11010519491231002X", "555-0132", "12.50", "jane.doe@example.org", "mailto:",
	"-----BEGIN RSA PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----", "-----", "PRIVATE KEY", "BEGIN ", "known value", "known", "[redacted:jwt:3f9a1c]", "[redacted:",
	":", "=", ": ", " = ", ":=", "=>", `": "`, `"`, "'", ",", ", ", ";", "&", "?", "-", "--", "_", ".", "/", "+", " ", "  ", "\t", "\n", "\r\n", "(", ")", "{", "}", "[", "]", "|", "<", ">", "#",
	"%", "%20", "%3D", "%22", "%2", "%41", "\\", `\"`, `\n`, `\u0041`, `\\`, "ä", "日本", "“", "\xff", "x", "A", "0", "9",
}

// writings write a text as it is, or in another way.
var writings = []func(string) string{
	func(s string) string { return s },
	func(s string) string { return s },
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	url.QueryEscape,
	func(s string) string { return strings.Trim(quote(s), `"`) },
}

func text(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		var part strings.Builder
		for range rapid.IntRange(1, 7).Draw(t, "pieces") {
			part.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
		}
		b.WriteString(rapid.SampledFrom(writings).Draw(t, "writing")(part.String()))
	}
	return b.String()
}

func document(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case n < 2 && depth < 3:
		m := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			m[rapid.OneOf(rapid.Custom(text), rapid.SampledFrom(pieces)).Draw(t, "key")] = document(t, depth+1)
		}
		return m
	case n < 4 && depth < 3:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			list = append(list, document(t, depth+1))
		}
		return list
	case n == 4:
		return json.RawMessage(rapid.SampledFrom([]string{"4111111111111111", "-4111111111111111", "0.5", "12345678", "null", "true", "1718000000123", "512", "-1e5"}).Draw(t, "bare"))
	default:
		return text(t)
	}
}

func sameAsSlow(t interface{ Fatalf(string, ...any) }, r *Redactor, s string) {
	if got, want := r.String(s), (slow{r}).String(s); got != want {
		t.Fatalf("%q\nbecame %q\nwant   %q", s, got, want)
	}
	if got, want := string(r.JSON(json.RawMessage(s))), string(slow{r}.JSON(json.RawMessage(s))); got != want {
		t.Fatalf("as JSON: %q\nbecame %q\nwant   %q", s, got, want)
	}
}

func redactors(t testing.TB) []*Redactor {
	t.Helper()
	var all []*Redactor
	for _, o := range []Options{
		{},
		{MaskEmail: true, Pass: []string{"card", "jwt", "cookie"}, Known: []Known{{Name: "k", Value: "known value"}, {Name: "short", Value: "0123456789"}}},
		{Pointers: []string{"/key", "/a/*"}, Patterns: []Pattern{{Name: "p", Expr: `^12|x(A)`}}},
	} {
		o.Key = []byte("k")
		r, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// R: O3, Y1
func TestSignsSpareOnlyWhatHoldsNoSecret(t *testing.T) {
	t.Parallel()
	all := redactors(t)
	rapid.Check(t, func(t *rapid.T) {
		s := text(t)
		for _, r := range all {
			sameAsSlow(t, r, s)
		}
	})
}

// R: O3, Y1
func TestSignsSpareNoSecretOfADocument(t *testing.T) {
	t.Parallel()
	all := redactors(t)
	rapid.Check(t, func(t *rapid.T) {
		doc := quoteless(document(t, 0))
		for _, r := range all {
			sameAsSlow(t, r, doc)
		}
	})
}

// quoteless is JSON as other programs write it, with no escape that isn't needed.
func quoteless(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return b.String()
}

// R: O3
func TestNamesOfSecretsAreThoseOfTheirExpression(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 5).Draw(t, "pieces") {
			b.WriteString(rapid.SampledFrom([]string{"pass", "word", "wd", "phrase", "code", "pwd", "secret", "token", "api", "access", "account", "signing", "service", "key", "id", "_", "-", " ", ".", "s", "S",
				"credential", "bearer", "cvv", "cvc", "pin", "KEY", "Token", "x", "1", "ä"}).Draw(t, "piece"))
		}
		if name := b.String(); onlySecret.MatchString(name) && !endsSecret(name) {
			t.Fatalf("%q is the name of a secret", name)
		}
	})
}

// R: O3, Y1
func FuzzSigns(f *testing.F) {
	for _, s := range []string{"", "AB12DE89 3704 0044 0532 0130 00", "078-05-1120 078-05-1120", "+1 415 555 0132\n+1 415 555 0133", `{"api keyid":"x"}`, `{"laws":"a"}`, `["4111 1111 1111 1111"]`,
		`{"aws curl":"-u bob:pw"}`, "curl x --proxy-user bob:pw", "a1 4111 1111 1111 1111", "eyJhbGciOi.eyJzdWIi.x", "ZXlKaGJHY2lPaS5leUp6ZFdJaS54"} {
		f.Add(s)
	}
	all := redactors(f)
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "ſK") {
			t.Skip() // expressions take them for s and k, and no service does
		}
		for _, r := range all {
			sameAsSlow(t, r, s)
		}
	})
}
