package redact

import (
	"regexp"
	"strings"
)

// A field is a name, a separator and a value, as JSON, YAML, forms, headers,
// shells and logs write it: "password": "x", password: x y, password=x&,
// PASSWORD='x y', --password=x, password => "x". The scan goes from separator to
// separator and looks at the name before each, which is far faster than an
// expression that tries every word.

// secretName is a field's name that says that its value is secret.
const secretName = `(?:pass(?:word|wd|phrase|code)s?|pwd|secrets?|tokens?|(?:api|access|auth|account|encryption|signing|master|shared|private|client|service)[_ -]?(?:key|secret|token)s?(?:_?id)?|credentials?|bearer|cvv|cvc|pin)`

var (
	onlySecret = regexp.MustCompile(`(?i)^[\w. -]*` + secretName + `$`)
	pageToken  = regexp.MustCompile(`(?i)(?:page|next|prev|previous|continuation|sync|cursor|count|max|min|total|num|stop|eos|pad)_?-?tokens?$`)
	// Short names are secret only as whole words: pin, but not spin.
	shortName  = regexp.MustCompile(`(?i)(?:pin|cvv|cvc|bearer)$`)
	shortWhole = regexp.MustCompile(`(?i)(?:^|[_.-])(?:pin|cvv|cvc|bearer)$`)
)

var plainValues = map[string]bool{
	"true": true, "false": true, "null": true, "none": true, "nil": true, "undefined": true, "string": true, "yes": true,
	"no": true, "required": true, "optional": true, "*": true, "bearer": true, "basic": true, "***": true, "invalid": true,
	"missing": true, "expired": true, "$": true,
}

// secretField says whether a field of this name holds a secret.
func secretField(name string) bool {
	if !endsSecret(name) || !onlySecret.MatchString(name) || pageToken.MatchString(name) {
		return false
	}
	return !shortName.MatchString(name) || shortWhole.MatchString(name)
}

// endsSecret is a quick way to say no: whether the name ends as onlySecret wants
// it to. Every field of a document is asked.
func endsSecret(name string) bool {
	one := trimFold(name, "s")
	if one == "" {
		return false
	}
	switch one[len(one)-1] | 0x20 {
	case 'c':
		return endsFold(one, "cvc")
	case 'd':
		return endsFold(one, "password") || endsFold(one, "passwd") || endsFold(one, "pwd") || endsFold(one, "id") && endsKey(trimFold(trimFold(one[:len(one)-2], "_"), "s"))
	case 'e':
		return endsFold(one, "passphrase") || endsFold(one, "passcode")
	case 'l':
		return endsFold(one, "credential")
	case 'n':
		return endsFold(one, "token") || endsFold(one, "pin")
	case 'r':
		return endsFold(one, "bearer")
	case 't':
		return endsFold(one, "secret")
	case 'v':
		return endsFold(one, "cvv")
	case 'y':
		return endsKey(one)
	}
	return false
}

// endsKey says whether the name ends as that of a key of the kind that is kept
// secret; a token or a secret may have an id, too.
func endsKey(name string) bool {
	if !endsFold(name, "key") {
		return endsFold(name, "token") || endsFold(name, "secret")
	}
	whose := name[:len(name)-3]
	if n := len(whose); n > 0 && (whose[n-1] == '_' || whose[n-1] == ' ' || whose[n-1] == '-') {
		whose = whose[:n-1]
	}
	for _, w := range [...]string{"api", "access", "auth", "account", "encryption", "signing", "master", "shared", "private", "client", "service"} {
		if endsFold(whose, w) {
			return true
		}
	}
	return false
}

// namedSecret checks a field and its value.
func namedSecret(name, value string) bool {
	value = strings.TrimSpace(value)
	lower := strings.ToLower(name)
	switch {
	case value == "" || plainValues[strings.ToLower(value)] || !secretField(name):
		return false
	case strings.HasPrefix(value, "${"), strings.HasPrefix(value, "$("):
		return false // a reference
	case strings.HasSuffix(lower, "pwd") && strings.HasPrefix(value, "/"):
		return false // a working directory
	case strings.Trim(value, "0123456789") != "":
		return true
	}
	// Digits: a count of tokens is no token.
	return !strings.HasSuffix(lower, "tokens") && !(strings.HasSuffix(lower, "token") && len(value) <= 7)
}

// fields finds the values of fields whose names say that they are secret.
func fields(s string) []span {
	var spans []span
	for i := 0; i < len(s); i++ {
		if s[i] != ':' && s[i] != '=' || i > 0 && s[i] == '=' && s[i-1] == ':' {
			continue
		}
		start, end := nameBefore(s, i)
		if start == end || !secretField(s[start:end]) {
			continue
		}
		sep := i + 1
		if sep < len(s) && (s[i] == ':' && s[sep] == '=' || s[i] == '=' && s[sep] == '>') {
			sep++
		}
		from, to := valueAfter(s, start, i, sep)
		if from < to && namedSecret(s[start:end], s[from:to]) {
			spans = append(spans, span{from, to, "password"})
			i = to - 1
		}
	}
	return spans
}

// nameBefore is the name that ends before the separator at i.
func nameBefore(s string, i int) (start, end int) {
	end = i
	for n := 0; n < 4 && end > 0 && (s[end-1] == ' ' || s[end-1] == '\t'); n++ {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		end--
	}
	start = end
	for start > 0 && end-start < 80 && (wordByte(s[start-1]) || s[start-1] == '-' || s[start-1] == '.') {
		start--
	}
	// "API key: x" is one name of two words.
	if two := start - 1; two > 0 && s[two] == ' ' && wordByte(s[two-1]) {
		switch strings.ToLower(strings.TrimRight(s[start:end], "sS")) {
		case "key", "token", "ecret", "secret":
			for two > 0 && wordByte(s[two-1]) {
				two--
			}
			start = two
		}
	}
	return start, end
}

// valueAfter is the value of the field whose name begins at name, whose
// separator stands at mark and ends before sep.
func valueAfter(s string, name, mark, sep int) (from, to int) {
	from = sep
	for from < len(s) && strings.IndexByte(" \t\r\n", s[from]) >= 0 {
		from++
	}
	if from == len(s) {
		return from, from
	}
	if q := s[from]; q == '"' || q == '\'' {
		for to = from + 1; to < len(s) && s[to] != q && s[to] != '\n'; to++ {
			if s[to] == '\\' {
				to++
			}
		}
		return from + 1, min(to, len(s))
	}
	if strings.ContainsAny(s[sep:from], "\r\n") {
		return from, from
	}
	if strings.IndexByte("{[|>&", s[from]) < 0 && startsLine(s, name) && (s[mark] == '=' || from > sep) {
		line := s[from:]
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		if s[mark] == ':' || !strings.ContainsAny(line, `"'&`) {
			return from, from + len(strings.TrimRight(line, " \t\r,"))
		}
	}
	to = from
	for to < len(s) && strings.IndexByte(" \t\r\n\"'&,;{}[]<>()", s[to]) < 0 {
		to++
	}
	return from, to
}

// startsLine says whether only what may come before a name on its line does.
func startsLine(s string, name int) bool {
	line := s[strings.LastIndexByte(s[:name], '\n')+1 : name]
	line = strings.TrimSpace(line)
	switch strings.Trim(line, `"'`) {
	case "", "-", "export", "set":
		return true
	}
	return false
}
