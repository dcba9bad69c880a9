package agent

import (
	"encoding/json"
	"fmt"

	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// A conversation that comes near to what its model can read at once is made
// shorter, from its beginning: a result becomes a stub that says how to read it
// again, a failure one line. The task, people's words and decisions, notices and
// questions stay as they are, and each call keeps its result. How much is left
// out follows from the messages and the size of the window alone, so every
// worker sends the same, and what was left out stays so.

const codeLeftOut = "left_out"

const (
	// Percent of the window: above the first the conversation is made shorter,
	// to the second, so that this is rare; a provider keeps what it has read of a
	// beginning that stays the same.
	compactAbove = 75
	compactTo    = 50

	// Bytes of one token, times ten.
	jsonBytes10 = 25
	textBytes10 = 30

	// What may be left of a step that is made shorter.
	oldText = 600 // characters of what the model said
	oldArgs = 600 // bytes of a call's arguments
)

// tokens is about how many tokens a text has, rather too many than too few.
func tokens(bytes, bytes10 int) int64 { return int64(bytes)*10/int64(bytes10) + 1 }

// mark is what a provider let us know of its model's reading, where the
// conversation had so many messages.
type mark struct {
	at      int
	tokens  int64 // that it read for this reply
	tooLong bool  // it could not read so much
}

// tooLong says whether the model could not read the conversation as it stands.
func (s *state) tooLong() bool {
	last := len(s.marks) - 1
	return last >= 0 && s.marks[last].tooLong && s.marks[last].at == len(s.messages)
}

// view is the conversation as the model is sent it. It is folded from a state's
// messages and marks, as far as they have come.
type view struct {
	window int64
	fixed  int64 // tokens of the system prompt and the tools

	sent   []llm.Message
	marks  int     // taken
	costs  []int64 // of each message, as sent
	cost   int64   // of all
	from   int     // what stands before is made shorter
	latest int     // where the latest reply stands
	scale  int64   // percent: what a token by our count is by the provider's
}

func newView(window, fixed int64) *view { return &view{window: window, fixed: fixed, scale: 100} }

// take goes on with what has come, and returns all messages to be sent.
func (v *view) take(messages []llm.Message, marks []mark) []llm.Message {
	for i := len(v.sent); i < len(messages); i++ {
		m := messages[i]
		v.learn(marks, i, true)
		if m.Role == llm.RoleAssistant {
			v.squeeze(i) // as the reply was asked for
			v.latest = i
		}
		v.learn(marks, i, false)
		v.sent, v.costs = append(v.sent, m), append(v.costs, costOf(m))
		v.cost += v.costs[i]
		v.fit()
	}
	v.learn(marks, len(messages), true)
	v.squeeze(len(messages))
	return v.sent
}

// learn takes the marks up to a message; before it, only those of requests that
// led to no reply.
func (v *view) learn(marks []mark, upTo int, before bool) {
	for ; v.marks < len(marks) && marks[v.marks].at <= upTo; v.marks++ {
		m := marks[v.marks]
		if before && m.at == upTo && !m.tooLong {
			return
		}
		switch {
		case m.tooLong:
			v.window /= 2
			v.fit()
		case m.tokens > 0:
			// Not below half: what a provider has kept of its reading may be missing
			// from its figure.
			v.scale = min(max(m.tokens*100/(v.cost+v.fixed), 50), 300)
		}
	}
}

func (v *view) size() int64 { return (v.cost + v.fixed) * v.scale / 100 }

// fit makes older steps shorter, up to the latest.
func (v *view) fit() {
	if v.size()*100 <= v.window*compactAbove {
		return
	}
	for v.from < v.latest && v.size()*100 > v.window*compactTo {
		v.shorten()
	}
}

// squeeze makes the latest step shorter, too, where all is still more than the
// model can read.
func (v *view) squeeze(end int) {
	for v.from < end && v.size() > v.window {
		v.shorten()
	}
}

func (v *view) shorten() {
	i := v.from
	v.sent[i] = shortened(v.sent[i])
	v.cost -= v.costs[i]
	v.costs[i] = costOf(v.sent[i])
	v.cost += v.costs[i]
	v.from++
}

// left are how many results are no longer whole.
func (v *view) left() (n int) {
	for _, m := range v.sent[:v.from] {
		if m.Role == llm.RoleResult && m.Result.Tool != askTool {
			n++
		}
	}
	return n
}

// leftOut is the write that tells people, once in a while, that results are left
// out; the model sees it where they stood.
func (s *sitting) leftOut(n int) sessions.Step {
	step := sessions.Step{}
	s.add(&step, notice{Code: codeLeftOut, Left: n})
	return step
}

// shortened is a message as it is sent once it is old.
func shortened(m llm.Message) llm.Message {
	switch m.Role {
	case llm.RoleAssistant:
		m.Text = clip(m.Text, oldText)
		calls := make([]tools.Call, len(m.Calls))
		for i, c := range m.Calls {
			calls[i] = c
			if c.Tool != askTool {
				calls[i].Args = oldArguments(c.Args)
			}
		}
		m.Calls = calls
	case llm.RoleResult:
		if m.Result.Tool == askTool {
			return m // what people said
		}
		r := *m.Result
		r.Args, r.Result = oldArguments(r.Args), r.Result.Stub(r.CallID)
		if r.Result.Weight() < m.Result.Result.Weight() {
			m.Result = &r
		}
	}
	return m
}

func oldArguments(args json.RawMessage) json.RawMessage {
	if len(args) <= oldArgs {
		return args
	}
	return encode(map[string]string{"left_out": fmt.Sprintf("%d bytes of arguments", len(args))})
}

// costOf is about how many tokens a message has.
func costOf(m llm.Message) int64 {
	n := tokens(len(m.Text)+len(m.From), textBytes10) + tokens(len(m.Inputs), jsonBytes10) + 4
	for _, c := range m.Calls {
		n += tokens(len(c.Args)+len(c.Tool)+30, jsonBytes10)
	}
	if m.Result != nil {
		n += tokens(m.Result.Result.Weight(), jsonBytes10)
	}
	if d := m.Decision; d != nil {
		n += tokens(len(d.Question)+len(d.Label)+len(d.Message)+len(d.Values)+100, jsonBytes10)
	}
	return n
}
