package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// rule is one shape of secrets.
type rule struct {
	name string
	// hints are lower-case pieces one of which every match holds; a text without
	// any is not searched. None: always searched.
	hints []string
	least int // bytes of the shortest match, if there are no hints
	// digits is the least number of ASCII digits of every match. Counting them is
	// much cheaper than the search that most texts then don't need.
	digits int
	re     *regexp.Regexp
	group  int // of re: what is masked
	// check refuses matches that only look like it; m are the submatches.
	check func(m []string) bool
	// scan replaces re for shapes that no expression describes.
	scan func(s string) []span
}

// hinted says whether a text, in lower case and with so many digits, can hold a
// match.
func (r rule) hinted(lower string, digits int) bool {
	if len(lower) < r.least || digits < r.digits {
		return false
	}
	for _, h := range r.hints {
		if strings.Contains(lower, h) {
			return true
		}
	}
	return len(r.hints) == 0
}

func (r rule) find(s string) []span {
	if r.scan != nil {
		return r.scan(s)
	}
	var spans []span
	for _, at := range r.re.FindAllStringSubmatchIndex(s, -1) {
		start, end := at[2*r.group], at[2*r.group+1]
		if start < 0 || start == end {
			continue
		}
		if r.check != nil {
			m := make([]string, len(at)/2)
			for i := range m {
				if at[2*i] >= 0 {
					m[i] = s[at[2*i]:at[2*i+1]]
				}
			}
			if !r.check(m) {
				continue
			}
		}
		spans = append(spans, span{start, end, r.name})
	}
	return spans
}

func shape(name, hint, expr string) rule {
	return rule{name: name, hints: strings.Fields(hint), re: regexp.MustCompile(expr), group: 0}
}

func valueOf(name, hint, expr string) rule {
	r := shape(name, hint, expr)
	r.group = 1
	return r
}

// tokens are the shapes that identify themselves wherever they stand, so that
// they are also looked for inside base64.
var tokens = []rule{
	shape("anthropic-key", "sk-ant-", `\bsk-ant-[A-Za-z0-9_-]{16,}`),
	shape("openai-key", "sk-", `\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}`),
	shape("openai-key", "sk-", `\bsk-[A-Za-z0-9]{32,}`),
	shape("aws-key-id", "akia asia agpa aroa aida anpa", `\b(?:AKIA|ASIA|AGPA|AROA|AIDA|ANPA)[A-Z0-9]{16}\b`),
	valueOf("aws-secret", "aws secret", `(?i)(?:aws_?(?:secret)?_?(?:access)?_?key|secret_?access_?key)\b\W{0,12}([A-Za-z0-9/+]{40})`),
	shape("github-token", "ghp_ gho_ ghs_ ghr_ ghu_ github_pat_", `\b(?:gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})`),
	shape("gitlab-token", "glpat- gldt- glrt-", `\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}`),
	shape("slack-token", "xox xapp-", `\b(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}`),
	shape("slack-hook", "hooks.slack.com", `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{16,}`),
	shape("stripe-key", "sk_ rk_ whsec_", `\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,})`),
	shape("google-key", "aiza", `\bAIza[A-Za-z0-9_-]{35}`),
	shape("jwt", "eyj", `\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}`),
	shape("sendgrid-key", "sg.", `\bSG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}`),
	shape("twilio-key", "sk", `\bSK[0-9a-f]{32}\b`),
	shape("npm-token", "npm_", `\bnpm_[A-Za-z0-9]{36,}`),
	shape("huggingface-token", "hf_", `\bhf_[A-Za-z0-9]{30,}`),
	shape("telegram-token", ":aa", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,35}`),
	valueOf("azure-key", "accountkey sharedaccesskey", `(?i)(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})`),
	shape("baton-token", "baton_", `\bbaton_[A-Za-z0-9_]{20,}`),
}

// context are the shapes that show by what stands around them.
var context = []rule{
	{name: "private-key", hints: []string{"private key"}, scan: privateKeys},
	valueOf("authorization", "authorization", `(?i)\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest|negotiate|apikey|api-key)\s+)?([^\s"',;]{3,})`),
	{name: "bearer", hints: []string{"bearer"}, re: regexp.MustCompile(`(?i)\bbearer[ \t]+([A-Za-z0-9._~+/=-]{6,})`), group: 1, check: func(m []string) bool { return opaque(m[1]) }},
	{name: "basic-auth", hints: []string{"basic"}, re: regexp.MustCompile(`(?i)\bbasic[ \t]+([A-Za-z0-9+/]{6,}={0,2})`), group: 1, check: func(m []string) bool { return userAndPassword(m[1]) }},
	valueOf("password", "curl wget http", `(?i)\b(?:curl|wget|https?)\b[^\n|;]*?[ \t](?:-u|--user|--proxy-user)(?:[ =]*|\s+)["']?[^\s:"']+:([^\s"']+)`),
	valueOf("password", "://", `\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>]*:([^\s/"'<>]+)@`),
	valueOf("cookie", "cookie", `(?i)\b(?:set-)?cookie2?["']?[ \t]*:[ \t]*["']?([^\r\n"']{3,})`),
	valueOf("cookie", "cookie", `(?i)\bcurl\b[^\n]*?[ \t](?:-b|--cookie)[ =]*["']?([^\s"']+)`),
	valueOf("query-secret", "access_token sig signature token api_key apikey secret credential", `(?i)[?&;](?:access_token|id_token|refresh_token|token|sig|signature|x-amz-signature|x-amz-security-token|x-amz-credential|x-goog-signature|api_?key|client_secret|secret|auth)=([^&\s"'<>#]{3,})`),
	valueOf("password", "--", `(?i)(?:^|\s)--?(?:[a-z]+-)*(?:password|passwd|pass|passphrase|secret|token|api-?key|access-key|secret-key)(?:=|[ \t]+)("[^"\n]*"|'[^'\n]*'|[^\s-][^\s]*)`),
	{name: "password", hints: fieldHints, scan: fields},
}

var fieldHints = []string{"pass", "pwd", "secret", "token", "key", "credential", "bearer", "cvv", "cvc", "pin"}

// numbers are shapes with check digits or a fixed form.
var numbers = []rule{
	{name: "card", least: 13, digits: 13, scan: cards},
	{name: "iban", least: 15, digits: 2, scan: ibans},
	{name: "ssn", digits: 9, hints: []string{"-"}, re: regexp.MustCompile(`(?:^|[^\w.-])([0-9]{3}-[0-9]{2}-[0-9]{4})(?:$|[^\w-])`), group: 1, check: func(m []string) bool { return validSSN(m[1]) }},
	{name: "phone", digits: 10, hints: []string{"+"}, re: regexp.MustCompile(`(?:^|[^\w+./-])(\+[1-9](?:[ .()-]{0,2}[0-9]){9,14})(?:$|[^\w])`), group: 1},
	{name: "national-id", least: 18, digits: 17, re: regexp.MustCompile(`\b([1-9][0-9]{5}(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx])\b`), group: 1, check: func(m []string) bool { return validChineseID(m[1]) }},
	{name: "email", hints: []string{"@"}, re: regexp.MustCompile(`\b[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+`)},
}

var builtin = append(append(append([]rule{}, tokens...), context...), numbers...)

// opaque says whether a word after "bearer" is a token rather than prose.
func opaque(s string) bool {
	return strings.ContainsAny(s, "0123456789") || len(s) >= 20 || len(s) >= 8 && s != strings.ToLower(s) && s[1:] != strings.ToLower(s[1:])
}

func userAndPassword(s string) bool {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return err == nil && strings.Contains(string(b), ":")
}
