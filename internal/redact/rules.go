package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// rule is one shape of secrets.
type rule struct {
	name string
	// sign is what a text must have so that it is searched; 0: always searched.
	sign  sign
	re    *regexp.Regexp
	group int // of re: what is masked
	// check refuses matches that only look like it; m are the submatches.
	check func(m []string) bool
	// scan replaces re for shapes that no expression describes.
	scan func(s string) []span
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

func shape(name string, sign sign, expr string) rule {
	return rule{name: name, sign: sign, re: regexp.MustCompile(expr)}
}

func valueOf(name string, sign sign, expr string) rule {
	r := shape(name, sign, expr)
	r.group = 1
	return r
}

// tokens are the shapes that identify themselves wherever they stand, so that
// they are also looked for inside base64.
var tokens = []rule{
	shape("anthropic-key", signSK, `\bsk-ant-[A-Za-z0-9_-]{16,}`),
	shape("openai-key", signSK, `\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}`),
	shape("openai-key", signSK, `\bsk-[A-Za-z0-9]{32,}`),
	shape("aws-key-id", signAWSKeyID, `\b(?:AKIA|ASIA|AGPA|AROA|AIDA|ANPA)[A-Z0-9]{16}\b`),
	valueOf("aws-secret", signAWSSecret, `(?i)(?:aws_?(?:secret)?_?(?:access)?_?key|secret_?access_?key)\b\W{0,12}([A-Za-z0-9/+]{40})`),
	shape("github-token", signGitHub, `\b(?:gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})`),
	shape("gitlab-token", signGitLab, `\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}`),
	shape("slack-token", signSlack, `\b(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}`),
	shape("slack-hook", signSlackHook, `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{16,}`),
	shape("stripe-key", signStripe, `\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,})`),
	shape("google-key", signGoogle, `\bAIza[A-Za-z0-9_-]{35}`),
	shape("jwt", signJWT, `\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}`),
	shape("sendgrid-key", signSendGrid, `\bSG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}`),
	shape("twilio-key", signTwilio, `\bSK[0-9a-f]{32}\b`),
	shape("npm-token", signNPM, `\bnpm_[A-Za-z0-9]{36,}`),
	shape("huggingface-token", signHuggingFace, `\bhf_[A-Za-z0-9]{30,}`),
	shape("telegram-token", signTelegram, `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,35}`),
	valueOf("azure-key", signAzure, `(?i)(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})`),
	shape("baton-token", signBaton, `\bbaton_[A-Za-z0-9_]{20,}`),
}

// context are the shapes that show by what stands around them.
var context = []rule{
	{name: "private-key", sign: signPrivateKey, scan: privateKeys},
	valueOf("authorization", signAuthorization, `(?i)\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest|negotiate|apikey|api-key)\s+)?([^\s"',;]{3,})`),
	{name: "bearer", sign: signBearer, re: regexp.MustCompile(`(?i)\bbearer[ \t]+([A-Za-z0-9._~+/=-]{6,})`), group: 1, check: func(m []string) bool { return opaque(m[1]) }},
	{name: "basic-auth", sign: signBasic, re: regexp.MustCompile(`(?i)\bbasic[ \t]+([A-Za-z0-9+/]{6,}={0,2})`), group: 1, check: func(m []string) bool { return userAndPassword(m[1]) }},
	valueOf("password", signUserFlag, `(?i)\b(?:curl|wget|https?)\b[^\n|;]*?[ \t](?:-u|--user|--proxy-user)(?:[ =]*|\s+)["']?[^\s:"']+:([^\s"']+)`),
	valueOf("password", signURLPassword, `\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>]*:([^\s/"'<>]+)@`),
	valueOf("cookie", signCookie, `(?i)\b(?:set-)?cookie2?["']?[ \t]*:[ \t]*["']?([^\r\n"']{3,})`),
	valueOf("cookie", signCurl, `(?i)\bcurl\b[^\n]*?[ \t](?:-b|--cookie)[ =]*["']?([^\s"']+)`),
	valueOf("query-secret", signQuery, `(?i)[?&;](?:access_token|id_token|refresh_token|token|sig|signature|x-amz-signature|x-amz-security-token|x-amz-credential|x-goog-signature|api_?key|client_secret|secret|auth)=([^&\s"'<>#]{3,})`),
	valueOf("password", signFlag, `(?i)(?:^|\s)--?(?:[a-z]+-)*(?:password|passwd|pass|passphrase|secret|token|api-?key|access-key|secret-key)(?:=|[ \t]+)("[^"\n]*"|'[^'\n]*'|[^\s-][^\s]*)`),
	{name: "password", sign: signField, scan: fields},
}

// numbers are shapes with check digits or a fixed form.
var numbers = []rule{
	{name: "card", sign: signCard, scan: cards},
	{name: "iban", sign: signIBAN, scan: ibans},
	{name: "ssn", sign: signSSN, scan: ssns},
	{name: "phone", sign: signPhone, scan: phones},
	{name: "national-id", sign: signNationalID, re: nationalID, group: 1, check: func(m []string) bool { return validChineseID(m[1]) }},
	{name: "email", sign: signEmail, re: regexp.MustCompile(`\b[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+`)},
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
