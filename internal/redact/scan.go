package redact

// Most text holds no secret, and each text is searched before it is stored,
// shown or fed to a model. So it is read once for signs: what a text must hold
// for a rule to match in it, such as "ghp_" where a word begins, a field whose
// name says secret, or digits that pass the check of a card. A rule searches
// only a text with its sign. A sign may be there without a match, never a match
// without its sign; tests hold the two together.
type sign uint64

const (
	signSK sign = 1 << iota // sk-...
	signAWSKeyID
	signAWSSecret
	signGitHub
	signGitLab
	signSlack
	signSlackHook
	signStripe
	signGoogle
	signJWT
	signSendGrid
	signTwilio
	signNPM
	signHuggingFace
	signTelegram
	signAzure
	signBaton
	signPrivateKey
	signAuthorization
	signBearer
	signBasic
	signUserFlag // curl -u
	signURLPassword
	signCookie
	signCurl
	signQuery
	signFlag // --password
	signField
	signCard
	signIBAN
	signSSN
	signPhone
	signNationalID
	signEmail

	// What makes more than the text itself worth a search.
	signPercent // an escape: the text without escapes is searched too
	signEscape
	signBackslash // any, also one that is no escape
	signEncoded   // base64 that may hold a token
	signKey       // a key that says of its JSON value that it is secret, or what it is
)

// Kinds of bytes.
const (
	inWord  = 1 << iota // of [0-9A-Za-z_]
	isDigit             // these are inWord, too
	isMark              // signs stand around it
	inToken             // of tokens and what is inside them
)

var kinds = func() (k [256]uint8) {
	for c := range k {
		if wordByte(byte(c)) {
			k[c] = inWord | inToken
		}
		if c >= '0' && c <= '9' {
			k[c] |= isDigit
		}
	}
	for _, c := range "-+/:=%\\@" {
		k[c] |= isMark
	}
	for _, c := range "-+/=." {
		k[c] |= inToken
	}
	return k
}()

// scan is one reading of a text.
type scan struct {
	s     string
	found sign
	run   int // where the run of base64 began that goes on, or -1
	// digitsTo is up to where runs of digits were looked at.
	digitsTo int
	// What is a sign only together.
	fetches, userFlag bool // curl, wget or http; -u
	awsKey, longRun   bool // the name of a key; 40 bytes of base64
}

// signs reads s once. It allocates nothing, and takes a time that is linear in
// the length of s, whatever s is.
func signs(s string) sign {
	c := scan{s: s, run: -1}
	for i := 0; i < len(s); {
		kind := kinds[s[i]]
		switch {
		case kind&inWord != 0:
			if c.run < 0 {
				c.run = i
			}
			j, all := i+1, kind
			for j < len(s) && kinds[s[j]]&inWord != 0 {
				all |= kinds[s[j]]
				j++
			}
			if all&isDigit != 0 {
				c.digits(i, j)
			}
			c.word(i, j)
			i = j
			continue
		case kind&isMark != 0:
			c.mark(i)
			if base64Byte(s[i]) {
				if c.run < 0 {
					c.run = i
				}
				i++
				continue
			}
		}
		if c.run >= 0 {
			c.endRun(i)
		}
		i++
	}
	if c.run >= 0 {
		c.endRun(len(s))
	}
	if c.fetches && c.userFlag {
		c.found |= signUserFlag
	}
	if c.awsKey && c.longRun {
		c.found |= signAWSSecret
	}
	return c.found
}

func (c *scan) endRun(end int) {
	if n := end - c.run; n >= base64Least {
		c.longRun = c.longRun || n >= 40
		if c.found&signEncoded == 0 && mayHoldToken(c.s[c.run:end]) {
			c.found |= signEncoded
		}
	}
	c.run = -1
}
