package redact

import "strings"

// word looks at the word from i to j: a whole one, with a \b at both its ends.
func (c *scan) word(i, j int) {
	w, next := c.s[i:j], c.next(j)
	switch w[0] {
	case 'A':
		if len(w) == 20 && awsKeyID(w[:4]) {
			c.found |= signAWSKeyID
		} else if strings.HasPrefix(w, "AIza") && c.keyed(i+4, 35) {
			c.found |= signGoogle
		}
	case 'b':
		if len(w) >= 26 && w[:6] == "baton_" {
			c.found |= signBaton
		}
	case 'e':
		if strings.HasPrefix(w, "eyJ") && c.keyed(i+3, 4) {
			c.found |= signJWT
		}
	case 'g':
		if len(w) >= 34 && w[1] == 'h' && w[3] == '_' || strings.HasPrefix(w, "github_pat_") {
			c.found |= signGitHub
		} else if next == '-' && (w == "glpat" || w == "gldt" || w == "glrt") {
			c.found |= signGitLab
		}
	case 'h':
		if len(w) >= 33 && w[:3] == "hf_" {
			c.found |= signHuggingFace
		}
	case 'n':
		if len(w) >= 40 && w[:4] == "npm_" {
			c.found |= signNPM
		}
	case 'r', 's':
		if len(w) >= 24 && w[1] == 'k' && w[2] == '_' {
			c.found |= signStripe
		} else if w == "sk" && next == '-' && c.keyed(j+1, 16) {
			c.found |= signSK
		}
	case 'S':
		if w == "SG" && next == '.' && c.keyed(j+1, 20) {
			c.found |= signSendGrid
		} else if len(w) == 34 && w[1] == 'K' {
			c.found |= signTwilio
		}
	case 'w':
		if strings.HasPrefix(w, "whsec_") {
			c.found |= signStripe
		}
	case 'x':
		if next == '-' && len(w) == 4 && (w[:3] == "xox" || w == "xapp") && c.keyed(j+1, 10) {
			c.found |= signSlack
		}
	}
	c.anyCase(w, i, j, next)
}

// anyCase looks for words in whatever case.
func (c *scan) anyCase(w string, i, j int, next byte) {
	switch w[0] | 0x20 {
	case 'a':
		if len(w) == 13 && sameFold(w, "authorization") && c.separated(j) {
			c.found |= signAuthorization
		}
	case 'b':
		switch {
		case next != ' ' && next != '\t':
		case len(w) == 6 && sameFold(w, "bearer"):
			if v := c.after(j, "._~+/=-"); len(v) >= 6 && opaque(v) {
				c.found |= signBearer
			}
		case len(w) == 5 && sameFold(w, "basic"):
			if v := c.after(j, "+/"); len(v) >= 6 && userAndPassword(v) {
				c.found |= signBasic
			}
		}
	case 'c':
		switch len(w) {
		case 4:
			if sameFold(w, "curl") {
				c.fetches = true
				c.found |= signCurl
			}
		case 6, 7:
			if sameFold(w[:6], "cookie") && c.separated(j) {
				c.found |= signCookie
			}
		}
	case 'h':
		c.fetches = c.fetches || len(w) == 4 && sameFold(w, "http") || len(w) == 5 && sameFold(w, "https")
	case 'w':
		c.fetches = c.fetches || len(w) == 4 && sameFold(w, "wget")
	}
	switch w[len(w)-1] | 0x20 {
	case 'n', 'd':
		if next == ' ' && (w == "BEGIN" || w == "END") && strings.HasSuffix(c.s[:i], "-----") {
			c.found |= signPrivateKey
		}
	case 'y':
		if endsFold(w, "key") {
			if next == '=' && (endsFold(w, "accountkey") || endsFold(w, "sharedaccesskey")) {
				c.found |= signAzure
			}
			c.awsKey = c.awsKey || holdsFold(w, "aws") || holdsFold(w, "access")
		}
	case 's':
		if next == '.' && endsFold(w, "hooks") && strings.HasPrefix(c.s[j:], ".slack.com/") {
			c.found |= signSlackHook
		}
	}
	if i > 0 && c.s[i-1] == '-' {
		c.option(w, i, next)
	}
}

// option looks at a word after a dash.
func (c *scan) option(w string, i int, next byte) {
	if w[0]|0x20 == 'u' && (i < 2 || !wordByte(c.s[i-2])) || endsFold(c.s[:i], "--proxy-") && w[0]|0x20 == 'u' {
		c.userFlag = true
	}
	if next != '=' && next != ' ' && next != '\t' {
		return
	}
	for _, name := range optionNames {
		if len(w) != len(name) || !sameFold(w, name) {
			continue
		}
		for i > 0 && (asciiLetter(c.s[i-1]) || c.s[i-1] == '-') {
			i--
		}
		if c.s[i] == '-' {
			c.found |= signFlag
		}
		return
	}
}

// optionNames are the last words of options that are secret.
var optionNames = []string{"password", "passwd", "pass", "passphrase", "secret", "token", "apikey", "key"}

// digits looks at a word from i to j that has digits.
func (c *scan) digits(i, j int) {
	s := c.s
	for k := max(i, c.digitsTo); k < j; k++ {
		if kinds[s[k]]&isDigit == 0 {
			continue
		}
		end, n := digitRun(s, k)
		if n >= 13 && c.found&signCard == 0 {
			if _, _, ok := nextCard(s, k, end, k); ok {
				c.found |= signCard
			}
		}
		k, c.digitsTo = end-1, end
	}
	switch n := j - i; {
	case n >= 8 && n <= 10 && strings.HasPrefix(s[j:], ":AA"):
		c.found |= signTelegram
	case n == 18 && s[i] >= '1' && s[i] <= '9' && nationalID.MatchString(s[i:j]) && validChineseID(s[i:j]):
		c.found |= signNationalID
	}
	for ; ibanBegins(s, i); i += 4 { // see ibans for the steps
		if _, ok := ibanAt(s, i); ok {
			c.found |= signIBAN
			return
		}
	}
}

// mark looks at what stands around the mark at i.
func (c *scan) mark(i int) {
	s := c.s
	switch s[i] {
	case '-':
		if i >= 3 && i+8 <= len(s) && s[i+3] == '-' && ssnAt(s, i-3) {
			c.found |= signSSN
		}
	case '+':
		if _, ok := phoneAt(s, i); ok {
			c.found |= signPhone
		}
	case '%':
		if i+3 <= len(s) && hexByte(s[i+1]) && hexByte(s[i+2]) {
			c.found |= signPercent
		}
	case '\\':
		c.found |= signBackslash
		if n := c.next(i + 1); n != 0 && strings.IndexByte(`"\/'nrtu`, n) >= 0 {
			c.found |= signEscape
		}
	case '@':
		c.found |= signEmail
	case '=':
		c.query(i)
		c.named(i)
	case ':':
		if strings.HasPrefix(s[i:], "://") && hasURLPassword(s[i+3:]) {
			c.found |= signURLPassword
		}
		c.named(i)
	}
}

// named looks at the name before the separator at i, and at the JSON key that it
// may be.
func (c *scan) named(i int) {
	s, end := c.s, i
	for end > 0 && (s[end-1] == ' ' || s[end-1] == '\t') {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		end--
	}
	if endsSecret(s[:end]) {
		if start, end := nameBefore(s, i); start < end && secretField(s[start:end]) {
			c.found |= signField | signKey
		}
	}
	if s[i] != ':' {
		return
	}
	for end = i; end > 0 && strings.IndexByte(" \t\r\n", s[end-1]) >= 0; {
		end--
	}
	if end < 2 || s[end-1] != '"' {
		return
	}
	end--
	if key := s[strings.LastIndexByte(s[:end], '"')+1 : end]; endsSecret(key) && secretField(key) || telling(key) {
		c.found |= signKey
	}
}

// query looks at the parameter of a URL before the = at i.
func (c *scan) query(i int) {
	s, from := c.s, i
	for from > 0 && i-from < 24 && (wordByte(s[from-1]) || s[from-1] == '-') {
		from--
	}
	if from == i || from == 0 || s[from-1] != '?' && s[from-1] != '&' && s[from-1] != ';' {
		return
	}
	for _, name := range queryNames {
		if len(name) == i-from && sameFold(s[from:i], name) {
			c.found |= signQuery
			return
		}
	}
}

var queryNames = []string{"access_token", "id_token", "refresh_token", "token", "sig", "signature", "x-amz-signature", "x-amz-security-token",
	"x-amz-credential", "x-goog-signature", "api_key", "apikey", "client_secret", "secret", "auth"}

// hasURLPassword says whether what stands after :// begins as user:password@.
func hasURLPassword(s string) bool {
	i := strings.IndexAny(s, " \t\r\n\f/:@\"'<>")
	if i < 0 || s[i] != ':' {
		return false
	}
	rest := s[i+1:]
	end := strings.IndexAny(rest, " \t\r\n\f/\"'<>")
	if end < 0 {
		end = len(rest)
	}
	return strings.LastIndexByte(rest[:end], '@') > 0
}

// next is the byte at i, 0 after the end.
func (c *scan) next(i int) byte {
	if i < len(c.s) {
		return c.s[i]
	}
	return 0
}

// keyed says whether n bytes that the bodies of keys are made of follow from i.
func (c *scan) keyed(i, n int) bool {
	if i+n > len(c.s) {
		return false
	}
	for k := i; k < i+n; k++ {
		if !wordByte(c.s[k]) && c.s[k] != '-' {
			return false
		}
	}
	return true
}

// separated says whether a quote, blanks and a separator follow from i, of which
// only the separator must be there.
func (c *scan) separated(i int) bool {
	if q := c.next(i); q == '"' || q == '\'' {
		i++
	}
	for i < len(c.s) && strings.IndexByte(" \t\r\n\f", c.s[i]) >= 0 {
		i++
	}
	return c.next(i) == ':' || c.next(i) == '='
}

// after is the run of letters, digits and the further bytes that comes after the
// blanks at i.
func (c *scan) after(i int, further string) string {
	for i < len(c.s) && (c.s[i] == ' ' || c.s[i] == '\t') {
		i++
	}
	from := i
	for i < len(c.s) && (wordByte(c.s[i]) && c.s[i] != '_' || strings.IndexByte(further, c.s[i]) >= 0) {
		i++
	}
	return c.s[from:i]
}

func awsKeyID(w string) bool {
	switch w {
	case "AKIA", "ASIA", "AGPA", "AROA", "AIDA", "ANPA":
		return true
	}
	return false
}

func asciiLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func hexByte(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f' }
