package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"baton/internal/permission"
	"baton/internal/redact"
)

// Prepare decides what a call may do. It is pure: it reads only the call and the
// facts, and runs nothing but the tool's own pure functions. The order matters:
// nobody is asked about a call that is wrong or that would be refused anyway.
//
//	look up -> decode and validate -> ceilings -> rest -> circuit -> breaker -> permission -> holds
//
// The same function is run again at dispatch, hours later maybe, when policy,
// tool and ceilings may be others.
func Prepare(call Call, f Facts) (plan Plan) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("prepare tool call: panic", "tool", call.Tool, "call", call.N, "panic", p, "stack", string(debug.Stack()))
			plan = refused(Plan{Call: call}, Fail(Internal, "The harness failed while it checked the call; the tool was not run.",
				"Do not repeat the call; use another way or report the failure."))
		}
	}()
	plan = Plan{Call: call, PolicyVersion: f.Policy.Version(), Mode: string(f.Policy.Mode)}
	written := formOf(call.text())
	same := []byte(written.doc)
	if written.err != nil {
		same = call.text()
	}
	plan.Exact = exactFingerprint(f.Keys, call.Tool, same)
	if call.Args == nil && call.Raw != "" {
		same = noJSON // such calls all look alike
	}
	plan.Loose = looseFingerprint(f.Keys, call.Tool, same)
	if f.Cancelled {
		return refused(plan, Fail(Cancelled, "The session is being cancelled; nothing new starts."))
	}

	e, ok := f.Tools.tools[call.Tool]
	if !ok {
		return refused(plan, notFound(call.Tool, f))
	}
	plan.ToolHash, plan.Polling = e.hash, e.spec.Polling
	args, wrong := decode(call, written, e, f.Tokens)
	if wrong != nil {
		return refused(plan, wrong)
	}
	plan.Effect = e.spec.EffectFor(args.clear)
	// These two are stored and shown.
	plan.Service = e.spec.ServiceFor(args.written)
	if e.spec.ConcurrencyKey != nil {
		plan.Lane = e.spec.ConcurrencyKey(args.written)
	}
	plan.Digest = approvalDigest(f.Keys, call.Tool, e.hash, plan.PolicyVersion, args.clear)

	if !e.spec.Always {
		plan.Degraded = plan.Effect == EffectRead && e.spec.Fallback != nil && f.breaker(plan.Service) != nil
		if no := stopped(plan, e.spec, f); no != nil {
			return refused(plan, no)
		}
	}
	return permit(plan, e.spec, args.clear, f)
}

// noJSON stands for all arguments that are not JSON.
var noJSON = []byte("\x00")

// refused ends a plan with a failure.
func refused(p Plan, f *Failure) Plan {
	r := Refuse(f, Meta{})
	p.Verdict, p.Result = Ended, &r
	return p
}

// notFound teaches which tools there are.
func notFound(name string, f Facts) *Failure {
	names := f.offered()
	fail := Fail(ToolNotFound, fmt.Sprintf("There is no tool %q.", clip(name, 64)), "Use one of the tools listed in context.tools.").
		With("tools", names[:min(len(names), maxNames)])
	if len(names) > maxNames {
		fail.With("more_tools", len(names)-maxNames)
	}
	if near := nearest(name, names); near != "" {
		fail.Message += fmt.Sprintf(" The nearest is %q.", near)
		fail.Hint = []string{fmt.Sprintf("If %s is what you meant, call it; the example shows its arguments.", near), "Else use one of the tools listed in context.tools."}
		fail.With("nearest", near)
		if ex := f.Tools.tools[near].spec.Example; ex != nil {
			fail.Example = map[string]any{"tool": near, "args": ex}
		}
	} else if len(names) > 0 {
		if ex := f.Tools.tools[names[0]].spec.Example; ex != nil {
			fail.Example = map[string]any{"tool": names[0], "args": ex}
		}
	}
	return fail
}

// offered are the tools that this session may use now.
func (f Facts) offered() []string {
	var names []string
	for _, n := range f.Tools.names {
		spec := f.Tools.tools[n].spec
		writes := spec.EffectOf == nil && spec.Effect.Writes()
		if !spec.Always && !f.Policy.Offers(n, writes) {
			continue
		}
		if f.restedTool(n, "") == nil {
			names = append(names, n)
		}
	}
	return names
}

// alternatives are those of a tool's that this session may use now.
func (f Facts) alternatives(spec Spec) []string {
	var out []string
	offered := f.offered()
	for _, alt := range spec.Alternatives {
		for _, n := range offered {
			if n == alt {
				out = append(out, alt)
			}
		}
	}
	return out
}

// arguments are those of a call, read. Placeholders of tokens give way to what
// they stand for in clear, which is run and judged, and stay in written, which
// may be told. The harness's own tools get them as they are.
type arguments struct {
	clear, written json.RawMessage
	putBack        []string // the paths at which they differ
}

// decode reads the arguments and holds them to the tool's schema.
func decode(call Call, written form, e entry, tokens *redact.Tokens) (arguments, *Failure) {
	args, wrong := read(call, written, e, tokens)
	if wrong == nil {
		wrong = args.misfit(e)
	}
	return args, wrong
}

// read reads the arguments strictly. They are never repaired: the closing
// bracket of a cut call may have been anything.
func read(call Call, written form, e entry, tokens *redact.Tokens) (args arguments, _ *Failure) {
	text := call.text()
	if call.Cut {
		n := utf8.RuneCount(text)
		return args, e.wrong(fmt.Sprintf("The call was cut off by the output limit after %d characters of arguments; it was not run.", n),
			"Split the work into smaller calls.", "Write less text before and in the call.").With("characters", n)
	}
	if len(text) > MaxArgs {
		return args, e.wrong(fmt.Sprintf("The arguments have %d bytes; the limit is %d.", len(text), MaxArgs), "Split the work into smaller calls.").
			With("bytes", len(text)).With("limit", MaxArgs)
	}
	doc, err := written.doc, written.err
	if len(bytes.TrimSpace(text)) == 0 {
		doc, err = json.RawMessage("{}"), nil // how providers write a call without arguments
	}
	if twice, ok := errors.AsType[*duplicateKey](err); ok {
		f := e.wrong("A field stands twice in the arguments.", "Write each field once.")
		f.Errors = []FieldError{{twice.path, "one value", "two values"}}
		return args, f
	}
	if err != nil {
		return args, notJSON(text, err, e.wrong)
	}
	if doc[0] != '{' {
		f := e.wrong("The arguments are not an object.", "Write the arguments as one JSON object.")
		f.Errors = []FieldError{{"", "an object", kindOf(doc)}}
		return args, f
	}
	args = arguments{clear: doc, written: doc}
	if tokens != nil && !e.spec.Always {
		var f *Failure
		if args.clear, args.putBack, f = putBack(doc, tokens, e.wrong); f != nil {
			return args, f
		}
	}
	return args, nil
}

// wrong begins a refusal of arguments.
func (e entry) wrong(message string, hint ...string) *Failure {
	f := Fail(InvalidArguments, message, hint...)
	if e.spec.Example != nil {
		f.Example = e.spec.Example
	}
	return f
}

// misfit says what of the arguments doesn't fit the tool's schema; nil is nothing.
func (a arguments) misfit(e entry) *Failure {
	errs := e.args.check(a.clear)
	if len(errs) == 0 {
		return nil
	}
	hideGot(errs, a.putBack)
	f := e.wrong(fmt.Sprintf("The arguments of %s have %s.", e.spec.Name, plural(len(errs), "fault", "faults")),
		"Correct every field listed in errors and call again.", "Use only fields of the schema; the example is right.")
	f.Errors = errs
	return f
}

// putBack puts the values of tokens into arguments, and says at which paths.
func putBack(args json.RawMessage, tokens *redact.Tokens, wrong func(string, ...string) *Failure) (clear json.RawMessage, at []string, _ *Failure) {
	clear, at, misplaced := tokens.PutBack(args)
	if len(misplaced) > 0 {
		f := wrong("The arguments hold "+plural(len(misplaced), "placeholder that stands", "placeholders that stand")+" for nothing that could be put back; the tool was not run.",
			"Copy a placeholder exactly as a result of this session shows it; it is put back when the tool is called.",
			"What was withheld can't be passed on: do without it, or ask a person.")
		for _, m := range misplaced {
			f.Errors = append(f.Errors, FieldError{m.Path, "a value, or a placeholder that this session has given out", m.Mark})
		}
		return nil, nil, f
	}
	if len(at) == 0 {
		return args, nil, nil
	}
	if len(clear) > MaxArgs {
		return nil, nil, wrong(fmt.Sprintf("With what their placeholders stand for, the arguments have %d bytes; the limit is %d.", len(clear), MaxArgs), "Split the work into smaller calls.")
	}
	return canonicalOr(clear), at, nil
}

// hideGot keeps what was put back out of what is said of it.
func hideGot(errs []FieldError, masked []string) {
	for i, e := range errs {
		if slices.ContainsFunc(masked, func(path string) bool { return strings.HasPrefix(path, e.Path) }) {
			errs[i].Got = "a masked value that doesn't fit"
		}
	}
}

// notJSON says where the text stops being JSON.
func notJSON(text []byte, err error, wrong func(string, ...string) *Failure) *Failure {
	var v any
	position := int64(len(text))
	if se, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &v)); ok {
		position, err = se.Offset, se
	}
	from := max(0, int(position)-20)
	near := strings.ToValidUTF8(string(text[from:min(len(text), int(position)+20)]), "")
	f := wrong(fmt.Sprintf("The arguments are not JSON: %v, at byte %d; the tool was not run.", err, position),
		"Write the arguments as one JSON object, with quotes and line breaks in texts escaped.")
	f.Errors = []FieldError{{"", "a JSON object", fmt.Sprintf("text of %d bytes that is not JSON", len(text))}}
	return f.With("byte", position).With("near", near)
}

func kindOf(args json.RawMessage) string {
	switch args[0] {
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// stopped checks what keeps a right call from running: limits, its own history,
// an outage.
func stopped(p Plan, spec Spec, f Facts) *Failure {
	for _, c := range f.Ceilings {
		if c.Max > 0 && c.Used >= c.Max {
			return Fail(BudgetExceeded, fmt.Sprintf("The limit %s is used up: %d of %d%s.", c.Name, c.Used, c.Max, strings.TrimRight(" "+c.Unit, " ")),
				"Finish with what you have and say what is missing.", "Or ask a person to raise the limit.").
				With("limit", c.Name).With("used", c.Used).With("max", c.Max)
		}
	}
	if r := f.restedTool(spec.Name, p.Loose); r != nil {
		return f.rested(spec, *r)
	}
	if calls, open := f.Circuit.open(p.Exact, f.Step); open {
		fail := Fail(CircuitOpen, fmt.Sprintf("This very call failed the same way %s; it was not run again.", times(len(calls))),
			"Change the arguments, or first change what makes it fail.", "Take another way, or ask a person.", "Or leave it and report what could not be done.").
			With("earlier_calls", calls)
		fail.Alternatives = f.alternatives(spec)
		return fail
	}
	if b := f.breaker(p.Service); b != nil && !p.Degraded {
		fail := Fail(Unavailable, fmt.Sprintf("%s keeps failing, so calls to it are paused; this one was not run.", p.Service),
			"Do something else first; try again some steps later.", "If nothing else can be done without it, report that it is down.").
			With("service", p.Service).With("paused_for_seconds", int64(b.Until.Sub(f.Now).Seconds())+1)
		if b.Reason != "" {
			fail.Causes = []string{b.Reason}
		}
		fail.Retryable = RetryMaybe
		fail.NotSent = true
		fail.Alternatives = f.alternatives(spec)
		return fail
	}
	return nil
}

// breaker is the open one of a service, nil if calls may go there.
func (f Facts) breaker(service string) *Breaker {
	for i, b := range f.Breakers {
		if b.Service == service && f.Now.Before(b.Until) {
			return &f.Breakers[i]
		}
	}
	return nil
}

// rested says that a tool has a pause, and what can be done meanwhile.
func (f Facts) rested(spec Spec, r Rested) *Failure {
	which := "Calls of " + spec.Name + " like this one are"
	if r.Loose == "" {
		which = spec.Name + " is"
	}
	fail := Fail(ToolRested, fmt.Sprintf("%s rested until step %d; this is step %d, and it was not run.", which, r.UntilStep, f.Step),
		"Take another way, with other tools or other arguments.").With("until_step", r.UntilStep).With("step", f.Step)
	fail.Causes = []string{"It was repeated without getting anywhere."}
	if r.UntilStep == 0 {
		fail = Fail(ToolRested, which+" left out from here on; it was not run.", "Do what can be done without it.")
		fail.Causes = []string{"It was repeated without getting anywhere, and people want the work done without it."}
	}
	if r.Reason != "" {
		fail.Causes = []string{r.Reason}
	}
	if _, ok := f.Tools.tools["ask_human"]; ok && r.UntilStep > 0 {
		fail.Hint = append(fail.Hint, "Or ask a person with ask_human.")
	}
	fail.Hint = append(fail.Hint, "Or finish, and say what could not be done.")
	fail.Alternatives = f.alternatives(spec)
	return fail
}

func (f Facts) restedTool(name, loose string) *Rested {
	for i := range f.Rested {
		r := &f.Rested[i]
		if r.Tool == name && (r.UntilStep == 0 || f.Step < r.UntilStep) && (r.Loose == "" || r.Loose == loose) {
			return r
		}
	}
	return nil
}

// permit asks the policy, and then the holds.
func permit(p Plan, spec Spec, args json.RawMessage, f Facts) Plan {
	d := permission.Decision{Do: permission.Allow, Reason: "a tool of the harness itself"}
	if !spec.Always {
		d = f.Policy.Decide(permission.Call{Tool: spec.Name, Args: args, Writes: p.Effect.Writes(), Irreversible: p.Effect == EffectIrreversible})
	}
	p.Policy = d.Reason
	p.Verdict = Ready
	switch d.Do {
	case permission.Deny:
		return refused(p, f.denied(spec, d))
	case permission.Ask:
		if decision, no := f.Rejected[p.Digest]; no {
			fail := Fail(PermissionDenied, "A person has said no to exactly this call; it was not run, and they are not asked again.",
				"Do it another way, or finish and say that it was not allowed.").With("decision", decision)
			fail.Causes = []string{"A person rejected it."}
			return refused(p, fail)
		}
		p.Approval = f.approval(p.Digest)
		if p.Approval == "" {
			p.Verdict = Awaiting
			return p
		}
	}
	if !spec.Always {
		for _, h := range f.Holds {
			if (h.Tool == "" || h.Tool == spec.Name) && (!h.EffectsOnly || p.Effect.Writes()) {
				p.Verdict = Held
			}
		}
	}
	return p
}

// approval is the unused approval of exactly this call, if there is one.
func (f Facts) approval(digest string) string {
	for _, a := range f.Approvals {
		if a.Digest == digest && (a.ExpiresAt.IsZero() || f.Now.Before(a.ExpiresAt)) {
			return a.ID
		}
	}
	return ""
}

func (f Facts) denied(spec Spec, d permission.Decision) *Failure {
	fail := Fail(PermissionDenied, fmt.Sprintf("The policy does not allow this call of %s (%s).", spec.Name, d.Reason), "Do it another way that is allowed.").
		With("policy", d.Reason).With("mode", string(f.Policy.Mode))
	fail.Causes = []string{"The policy of this agent: " + d.Reason + "."}
	if _, ok := f.Tools.tools["ask_human"]; ok {
		fail.Hint = append(fail.Hint, "If the task can't be done without it, tell a person with ask_human; only who runs this agent can change its policy.")
	}
	fail.Alternatives = f.alternatives(spec)
	return fail
}

func times(n int) string {
	if n == 2 {
		return "twice"
	}
	return plural(n, "time", "times")
}

// clip shortens a text for a message, on a character's border.
func clip(s string, n int) string {
	r := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n]) + "..."
}
