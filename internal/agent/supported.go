package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"baton/internal/grounding"
	"baton/internal/llm"
	"baton/internal/tools"
)

// checkFinish says what of a finish does not stand in the ledger. The texts are
// for the model.
func (s *state) checkFinish(args finishArgs, registry *tools.Registry) []tools.FieldError {
	faults := s.checkEvidence(args)
	faults = append(faults, s.checkFigures(args)...)
	faults = append(faults, s.checkClaims(args, registry)...)
	return append(faults, s.checkStatus(args)...)
}

// checkEvidence looks at each cited call and what is quoted of it.
func (s *state) checkEvidence(args finishArgs) (faults []tools.FieldError) {
	for i, e := range args.Evidence {
		path := fmt.Sprintf("/evidence/%d", i)
		c := s.cited(e.Call)
		switch {
		case c == nil:
			faults = append(faults, tools.FieldError{Path: path, Expected: "the id of a call of this session", Got: e.Call})
		case !c.result.OK():
			faults = append(faults, tools.FieldError{Path: path, Expected: "a call that succeeded",
				Got: fmt.Sprintf("%s, which ended as %s", e.Call, c.result.CallStatus())})
		case e.Quote != "" && !shows(c, e.Quote):
			faults = append(faults, tools.FieldError{Path: path + "/quote", Expected: "words that stand in what " + e.Call + " returned", Got: clip(e.Quote, 80)})
		}
	}
	if args.Status != "unable" && len(args.Evidence) == 0 && s.usedTools() {
		faults = append(faults, tools.FieldError{Path: "/evidence", Expected: "at least one call that the summary rests on", Got: "none"})
	}
	return faults
}

func (s *state) cited(name string) *call {
	n, ok := s.parseAlias(name)
	if !ok {
		return nil
	}
	return s.ended[n]
}

// usedTools says whether the session has called anything but finish.
func (s *state) usedTools() bool {
	for _, c := range s.ended {
		if c.plan.Call.Tool != finishTool {
			return true
		}
	}
	return false
}

// shows says whether a quote stands in what the model was shown of a call,
// spaces and compatible forms of letters folded.
func shows(c *call, quote string) bool {
	return strings.Contains(foldText(c.result.ForModel()), strings.Trim(foldText(string(encode(quote))), `"`)) ||
		strings.Contains(foldText(string(c.result.Data())), foldText(quote))
}

func foldText(s string) string { return strings.Join(strings.Fields(norm.NFKC.String(s)), " ") }

// checkFigures looks for figures, dates, ids and addresses that stand in
// nothing that the session has seen. Where a failure is told of, they may be the
// failure's.
func (s *state) checkFigures(args finishArgs) (faults []tools.FieldError) {
	known, failed := s.given(), s.given()
	for _, e := range args.Evidence {
		if c := s.cited(e.Call); c != nil && c.result.OK() {
			addCall(known, c)
			addCall(failed, c)
		}
	}
	for _, c := range s.ended {
		if c.plan.Call.Tool != finishTool && (!c.result.OK() || c.plan.Effect.Writes()) {
			addCall(failed, c)
		}
	}
	for i, d := range args.Derived {
		err := known.Derive(d)
		if alsoFailed := failed.Derive(d); err != nil && alsoFailed != nil {
			faults = append(faults, tools.FieldError{Path: fmt.Sprintf("/derived/%d", i), Expected: "figures that stand in cited calls, and what they come to", Got: err.Error()})
		}
	}
	missing := func(path, text string) {
		for _, sentence := range grounding.Sentences(text) {
			ground := known
			if path != "/summary" || args.Status == "unable" || negative.MatchString(sentence) {
				ground = failed
			}
			for _, f := range grounding.Find(sentence) {
				if !ground.Holds(f) && !s.names(f.Text) && !s.counted(f, sentence, text) {
					faults = append(faults, s.unsupported(path, f, args))
				}
			}
		}
	}
	missing("/summary", args.Summary)
	for i, e := range args.Evidence {
		missing(fmt.Sprintf("/evidence/%d/claim", i), e.Claim)
	}
	for i, u := range args.Unresolved {
		missing(fmt.Sprintf("/unresolved/%d", i), u.Reason)
	}
	return faults
}

// given is what stands fast before any call: the task, what people said and
// decided, what the harness said, and what can be counted of the session.
func (s *state) given() *grounding.Ground {
	g := &grounding.Ground{}
	for _, m := range s.messages {
		switch m.Role {
		case llm.RoleTask:
			g.Add(m.Text)
			g.AddJSON(m.Inputs)
		case llm.RolePerson, llm.RoleNotice:
			g.Add(m.Text)
		case llm.RoleDecision:
			g.Add(m.Decision.Label)
			g.Add(m.Decision.Message)
			g.AddJSON(m.Decision.Values)
		}
	}
	for _, t := range s.tallies() {
		g.AddTries(t.all)
	}
	for _, c := range s.ended {
		g.AddTries(c.result.Meta().Attempts)
	}
	return g
}

// tally counts the calls of one tool.
type tally struct{ all, failed int }

func (s *state) tallies() map[string]tally {
	byTool := map[string]tally{}
	for _, c := range s.ended {
		if name := c.plan.Call.Tool; !own(name) {
			t := byTool[name]
			if t.all++; !c.result.OK() {
				t.failed++
			}
			byTool[name] = t
		}
	}
	return byTool
}

// tellsOfTool says whether a sentence speaks of a tool's calls.
func tellsOfTool(sentence *grounding.Ground, tool string) bool {
	word := strings.ReplaceAll(tool, "_", " ")
	return sentence.Says(word) || sentence.Says(word+"s") || sentence.Says(word+"ed")
}

var (
	point = regexp.MustCompile(`(?m)^[ \t]*(?:[-*•]|\d{1,2}[.)、]) +\S`)
	share = regexp.MustCompile(`(?i)\b(\w+) (?:out )?of (?:the |all |my |these |those )?(\w+)\b`)
)

// counted says whether a number of a sentence can be counted: the things that
// the sentence lists, the points of the summary, the calls of a tool that the
// sentence speaks of, or "two of four" if that is how the calls of one came out.
func (s *state) counted(f grounding.Fact, sentence, summary string) bool {
	var here, said grounding.Ground
	said.Add(sentence)
	for _, n := range grounding.Lists(sentence) {
		here.AddCount(n)
	}
	if n := len(point.FindAllString(summary, -1)); n > 1 {
		here.AddCount(n)
	}
	shares := share.FindAllStringSubmatch(sentence, -1)
	for tool, t := range s.tallies() {
		ok := t.all - t.failed
		if tellsOfTool(&said, tool) {
			here.AddCount(t.all)
			here.AddCount(t.failed)
			here.AddCount(ok)
		}
		for _, m := range shares {
			if some, all := grounding.Whole(m[1]), grounding.Whole(m[2]); all == t.all && (some == ok || some == t.failed) {
				here.AddCount(some)
				here.AddCount(all)
			}
		}
	}
	return here.Holds(f)
}

// addCall adds what a call was asked and what it brought. What a model asks
// people or says at the end is its own word.
func addCall(g *grounding.Ground, c *call) {
	if !own(c.plan.Call.Tool) {
		g.AddJSON(c.written)
	}
	g.AddJSON([]byte(c.result.ForModel()))
}

// names says whether a text is the name of a call of this session.
func (s *state) names(text string) bool { return s.cited(text) != nil }

// unsupported says of a fact that it isn't shown, and where it stands if it
// stands in a call that isn't cited.
func (s *state) unsupported(path string, f grounding.Fact, args finishArgs) tools.FieldError {
	fault := tools.FieldError{Path: path, Got: f.Text,
		Expected: fmt.Sprintf("a %s that stands in the result of a cited call, in the task or in people's words; or under derived how it was worked out", f.Kind)}
	for n := 1; n <= s.calls; n++ {
		c := s.ended[n]
		if c == nil || !c.result.OK() || own(c.plan.Call.Tool) || slices.ContainsFunc(args.Evidence, func(e evidence) bool { return s.cited(e.Call) == c }) {
			continue
		}
		var g grounding.Ground
		addCall(&g, c)
		if g.Holds(f) {
			fault.Expected = fmt.Sprintf("%s among the evidence, where this stands", c.alias())
			break
		}
	}
	return fault
}

// negative marks sentences that say what is not, what failed or what is to
// come: they claim no deed.
var negative = regexp.MustCompile(`(?i)\b(?:not|no|never|none|nothing|nobody|neither|without|unable|cannot|fail(?:s|ed|ure|ures|ing)?|refus(?:e|es|ed|al)|den(?:y|ied|ies)|reject(?:ed|s)?|errors?|unavailable|missing|timed? ?out|stopped|skipped|withheld|blocked|unknown|until|unless|would|could|should|may|might|will|if|to be|ask(?:ed)? to)\b|n['’]t\b|[未没无不尚待将]|失败|拒绝|错误|超时|跳过|如果`)

// checkClaims looks for deeds that nobody did: a sentence that says that
// something was sent needs a call that sent something, or words to that effect
// in what was shown.
func (s *state) checkClaims(args finishArgs, registry *tools.Registry) (faults []tools.FieldError) {
	given := s.given()
	done := map[string]bool{}
	var verbs []string
	for _, spec := range registry.Specs() {
		verbs = append(verbs, spec.Claims...)
	}
	for _, c := range s.ended {
		if !c.result.OK() {
			continue
		}
		if _, spec, ok := registry.Lookup(c.plan.Call.Tool); ok && c.plan.Effect.Writes() && (c.result.Status() == tools.Success || len(c.result.Completed()) > 0) {
			for _, v := range spec.Claims {
				done[v] = true
			}
		}
		given.AddJSON([]byte(c.result.ForModel()))
	}
	for _, sentence := range grounding.Sentences(args.Summary) {
		if negative.MatchString(sentence) {
			continue
		}
		var said grounding.Ground
		said.Add(sentence)
		for _, v := range verbs {
			if !done[v] && said.Says(v) && !given.Says(v) {
				faults = append(faults, tools.FieldError{Path: "/summary", Expected: fmt.Sprintf("a call of this session that succeeded and of which it can be said that something was %s", v), Got: clip(strings.TrimSpace(sentence), 120)})
				break
			}
		}
	}
	return faults
}

// checkStatus looks whether all that is called done is done: a call with an
// effect that failed, or items that were left, are resolved, listed, or people
// have spoken since.
func (s *state) checkStatus(args finishArgs) (faults []tools.FieldError) {
	if args.Status != "" && args.Status != "done" || len(args.Unresolved) > 0 {
		return nil
	}
	for n := 1; n <= s.calls; n++ {
		c := s.ended[n]
		if c == nil || !c.plan.Effect.Writes() || c.turn < s.turn || c.answer != nil {
			continue
		}
		switch got := fmt.Sprintf("done, though %s (%s) ", c.alias(), c.plan.Call.Tool); {
		case c.result.OK():
			if left := s.left(c); left > 0 {
				faults = append(faults, tools.FieldError{Path: "/status", Expected: "partly, or the rest under unresolved", Got: got + fmt.Sprintf("left %d of its items", left)})
			}
		case c.result.ErrorType() == tools.InvalidArguments || c.result.ErrorType() == tools.ToolNotFound || s.madeGood(c):
		case s.toldFailed(c, args.Summary):
		default:
			faults = append(faults, tools.FieldError{Path: "/status", Expected: "partly or unable, or the call under unresolved", Got: got + "ended as " + string(c.result.CallStatus())})
		}
	}
	return faults
}

// toldFailed says whether a summary tells that this call failed: to find that
// out may have been the task.
func (s *state) toldFailed(c *call, summary string) bool {
	for _, sentence := range grounding.Sentences(summary) {
		if !negative.MatchString(sentence) {
			continue
		}
		var said grounding.Ground
		said.Add(sentence)
		if said.Says(c.alias()) || tellsOfTool(&said, c.plan.Call.Tool) {
			return true
		}
	}
	return false
}

// left counts the items of a batch that neither it nor a later call has done.
func (s *state) left(batch *call) (n int) {
	done := map[string]bool{}
	for _, c := range s.ended {
		if c.plan.Call.Tool == batch.plan.Call.Tool {
			for _, it := range c.result.Completed() {
				done[it.Item] = true
			}
		}
	}
	for _, it := range slices.Concat(batch.result.Failed(), batch.result.Skipped()) {
		if !done[it.Item] {
			n++
		}
	}
	return n
}
