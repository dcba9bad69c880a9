package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// Defaults and bounds of time limits.
const (
	DefaultTimeout  = 30 * time.Second  // of one attempt
	DefaultDeadline = 120 * time.Second // of one call over all attempts
	MaxTimeout      = time.Hour
	DefaultGrace    = 2 * time.Second // between telling a tool to stop and leaving it behind
)

// Spec is everything the harness, the model and people know about a tool
// before it runs.
type Spec struct {
	Name string // what the model calls: 1 to 64 letters, digits, _ and -
	// Version changes when what the tool does changes though its schema does
	// not; approvals of an earlier version are void.
	Version string
	// Words are what people read, by language ("en", "zh-Hans").
	Words       map[string]Words
	Description string          // what the model reads
	Schema      json.RawMessage // JSON Schema 2020-12 of the arguments; its root is an object
	Example     json.RawMessage // arguments that are right
	Sensitive   []string        // JSON pointers into arguments and output; "*" matches one step

	Effect Effect
	// EffectOf says the effect of one call when it depends on its arguments. It
	// must be pure. It may be stricter or milder than Effect.
	EffectOf func(args json.RawMessage) Effect

	Timeout  time.Duration // of one attempt; 0 in a spec is the default
	Deadline time.Duration // over all attempts; 0 is the default
	Grace    time.Duration // 0 is the default
	Retry    RetryPolicy
	Format   Format

	Alternatives []string // tools to name when this one fails
	// Claims are the words by which a text says that this tool did its work:
	// "sent", "refunded". A report that uses one needs such a call.
	Claims      []string
	ReasonCodes []string // what its approvals may be filed under

	// ConcurrencyKey names the thing that a call works on: calls with one key
	// never run at once. Service names what is behind the tool: its breaker and
	// retry budget. Both are pure, and get the arguments as the model wrote them,
	// with placeholders of data; nil or "" means the tool's name for Service,
	// and no restriction for ConcurrencyKey.
	ConcurrencyKey func(args json.RawMessage) string
	Service        func(args json.RawMessage) string

	// Failures is the declared list of the ways in which it fails.
	Failures []DeclaredFailure

	// FailedIf finds an error that is dressed as success (status 200 with an
	// error in the body). What a tool wrote to its Writer is the output's text there,
	// as far as it was kept. Nil, or a nil failure, means that all is well.
	FailedIf func(Output) *Failure

	// Fallback answers in place of a read-only tool whose service is down: from a
	// copy, by a simpler search. What it returns says where it is from, how old it
	// is or what it lacks (Output.Degraded). It shares the call's deadline.
	Fallback func(ctx context.Context, args json.RawMessage) (Output, error)

	// Verify finds out whether an effect happened, by its idempotency key.
	Verify func(ctx context.Context, args json.RawMessage, key string) (Landed, error)
	// Undo names the call that takes an effect back, if one does.
	Undo func(args json.RawMessage, result Result) (tool string, undo json.RawMessage, ok bool)

	// Always marks the tools that the harness itself lives by (ask_human,
	// finish, read_output): never rested, never broken, never over budget.
	Always bool
	// Polling marks a tool whose equal calls are no sign of a loop.
	Polling bool
}

// Words are what people read about a tool in one language.
type Words struct {
	Title string `json:"title"` // "Refund"
	// Sentence says what a call does, with fields of its arguments in braces:
	// "Refund {amount} {currency} to {customer}". A field is a name, or a path
	// with dots. A list is best counted, {to:people}: "1,840 people", or its
	// only element; {items:article|articles} has a word for one that is no text.
	// The server fills it; no model writes it.
	Sentence string `json:"sentence"`
	// Reversal says whether and how a person can take it back: "Can be undone
	// for 30 days in the payment desk." Empty: nothing is promised.
	Reversal string `json:"reversal,omitempty"`
}

// RetryPolicy bounds the harness's own repeats. Zero values are the defaults.
type RetryPolicy struct {
	Attempts int           // first try included; 0 is 4, 1 turns retries off
	Base     time.Duration // 0 is 1 s
	Cap      time.Duration // 0 is 30 s
}

// Format bounds what the model is shown. Zero values are the defaults.
type Format struct {
	Strategy Strategy
	MaxLines int // 0 is 200
	MaxLine  int // characters of one line; 0 is 2,000
	MaxChars int // 0 is 30,000
	MaxRows  int // rows of a table shown in full; 0 is 200
}

// Strategy is how output over the limits is shortened.
type Strategy string

// The strategies.
const (
	HeadTail  Strategy = ""      // 70 % head, 30 % tail, and the lines between that tell of errors
	Head      Strategy = "head"  // the beginning; the rest by offset
	TableRows Strategy = "table" // data is {columns, rows}; summarised over 1,000 rows
)

// DeclaredFailure is one way in which a tool fails.
type DeclaredFailure struct {
	Name string    `json:"name"` // snake_case, unique in the tool; a drill injects it by this name
	Type ErrorType `json:"error_type"`
	When string    `json:"when"` // what brings it about
}

// Landed is what a Verify found.
type Landed string

// Answers of a Verify.
const (
	DidLand     Landed = "landed"
	DidNotLand  Landed = "not_landed"
	LandUnknown Landed = "unknown"
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// withDefaults fills what a spec left open and refuses what can't be.
func (s Spec) withDefaults() (Spec, error) {
	if !toolName.MatchString(s.Name) {
		return s, fmt.Errorf("tool name %q is not 1 to 64 letters, digits, _ and -", s.Name)
	}
	bad := func(field string, v any, want string) (Spec, error) {
		return s, fmt.Errorf("tool %s: %s is %v, want %s", s.Name, field, v, want)
	}
	for _, d := range []struct {
		field string
		v     *time.Duration
		def   time.Duration
	}{{"timeout", &s.Timeout, DefaultTimeout}, {"deadline", &s.Deadline, max(DefaultDeadline, s.Timeout)}, {"grace", &s.Grace, DefaultGrace}} {
		if *d.v < 0 {
			return bad(d.field, *d.v, "more than 0")
		}
		if *d.v == 0 {
			*d.v = d.def
		}
		if *d.v > MaxTimeout {
			return bad(d.field, *d.v, "at most 1h")
		}
	}
	if s.Deadline < s.Timeout {
		return bad("deadline", s.Deadline, "at least the timeout")
	}
	if s.Retry.Attempts < 0 || s.Retry.Base < 0 || s.Retry.Cap < 0 {
		return bad("retry", s.Retry, "no negative value")
	}
	if s.Retry.Attempts == 0 {
		s.Retry.Attempts = 4
	}
	if s.Retry.Base == 0 {
		s.Retry.Base = time.Second
	}
	if s.Retry.Cap == 0 {
		s.Retry.Cap = 30 * time.Second
	}
	s.Format = s.Format.withDefaults()
	s.Effect = s.Effect.Or()
	if len(s.Schema) == 0 || !json.Valid(s.Schema) {
		return bad("schema", string(s.Schema), "a JSON Schema")
	}
	return s, nil
}

func (f Format) withDefaults() Format {
	for _, d := range []struct {
		v   *int
		def int
	}{{&f.MaxLines, 200}, {&f.MaxLine, 2000}, {&f.MaxChars, 30000}, {&f.MaxRows, 200}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	return f
}

// EffectFor is the effect of a call with these arguments.
func (s Spec) EffectFor(args json.RawMessage) Effect {
	if s.EffectOf == nil {
		return s.Effect.Or()
	}
	return s.EffectOf(args).Or()
}

// ServiceFor is the service that a call depends on, the tool's name by default.
func (s Spec) ServiceFor(args json.RawMessage) string {
	if s.Service != nil {
		if name := s.Service(args); name != "" {
			return name
		}
	}
	return s.Name
}

// Hash names what the model and people see of the tool, so that an approval of
// one tool is void for a changed one. It is stable over restarts and releases.
func (s Spec) Hash() string {
	b, err := marshal(struct {
		Name, Version, Description string
		Words                      map[string]Words
		Schema, Example            json.RawMessage
		Sensitive, Reasons         []string
		Effect                     Effect
		EffectOf                   bool
	}{s.Name, s.Version, s.Description, s.Words, canonicalOr(s.Schema), canonicalOr(s.Example), s.Sensitive, s.ReasonCodes, s.Effect.Or(), s.EffectOf != nil})
	if err != nil {
		b = []byte(s.Name + s.Version)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
