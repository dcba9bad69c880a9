package agent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"baton/internal/llm"
	"baton/internal/tools"
)

// talk makes up a conversation, message by message, as a state has it.
type talk struct {
	r        *rand.Rand
	messages []llm.Message
	marks    []mark
	calls    int
}

func (h *talk) text(most int) string { return strings.Repeat("word ", h.r.IntN(most/5+1)) }

func (h *talk) result(c tools.Call) tools.Result {
	switch h.r.IntN(5) {
	case 0:
		return tools.Refuse(tools.Fail(tools.NotFound, "There is no "+h.text(400), "Look elsewhere."), tools.Meta{})
	case 1:
		r, _ := tools.Succeed(tools.Output{Data: encode(h.text(2000)), Completed: []tools.Item{{Item: "a", Data: encode(h.text(500))}},
			Failed: []tools.Item{{Item: "b", Type: tools.Conflict, Reason: h.text(300)}}}, tools.Meta{})
		return r
	}
	r, _ := tools.Succeed(tools.Output{Data: encode(map[string]string{"n": fmt.Sprint(c.N), "text": h.text(12_000)})}, tools.Meta{})
	return r
}

// next adds what happens next: a whole step, or something said in between.
func (h *talk) next() {
	switch h.r.IntN(8) {
	case 0:
		h.messages = append(h.messages, llm.Message{Role: llm.RolePerson, Text: h.text(800), From: "Mara"})
	case 1:
		h.messages = append(h.messages, llm.Message{Role: llm.RoleDecision, Decision: &llm.Decision{Type: "choose", Label: h.text(100)}})
	case 2:
		h.messages = append(h.messages, llm.Message{Role: llm.RoleNotice, Text: h.text(200)})
	case 3:
		if h.r.IntN(4) == 0 {
			h.marks = append(h.marks, mark{at: len(h.messages), tooLong: true})
		}
	default:
		h.step()
	}
}

func (h *talk) step() {
	m := llm.Message{Role: llm.RoleAssistant, Text: h.text(3000)}
	for range h.r.IntN(4) {
		h.calls++
		c := tools.Call{N: h.calls, Tool: "find", Args: encode(map[string]string{"q": h.text(2000)})}
		if h.r.IntN(6) == 0 {
			c.Tool = askTool
		}
		m.Calls = append(m.Calls, c)
	}
	h.marks = append(h.marks, mark{at: len(h.messages), tokens: int64(h.r.IntN(3)) * int64(len(h.messages)) * 600})
	h.messages = append(h.messages, m)
	for _, c := range m.Calls {
		h.messages = append(h.messages, llm.Message{Role: llm.RoleResult, Result: &llm.Result{CallID: alias(c.N), ProviderID: alias(c.N), Tool: c.Tool, Args: c.Args, Result: h.result(c)}})
	}
}

// R: F11
func TestALongConversationIsMadeShorterTheSameEverywhere(t *testing.T) {
	t.Parallel()
	shortened := 0
	for seed := range uint64(150) {
		h := &talk{r: rand.New(rand.NewPCG(seed, 11))}
		h.messages = []llm.Message{{Role: llm.RoleTask, Text: h.text(500), Inputs: json.RawMessage(`{"order":"48"}`)}}
		window := 2000 + h.r.Int64N(40_000)
		live := newView(window, 500)
		was := map[int]llm.Message{} // as it was sent before, made shorter
		for range 40 {
			h.next()
			if h.r.IntN(3) == 0 {
				continue // no request is made here
			}
			sent := live.take(h.messages, h.marks)
			check(t, seed, h.messages, sent, live)
			for i, m := range was {
				if !reflect.DeepEqual(sent[i], m) {
					t.Fatalf("seed %d: message %d was made shorter, and is another now", seed, i)
				}
			}
			for i := range live.from {
				was[i] = sent[i]
			}
			// Another worker, who folds all of it at once, sends the same.
			if again := newView(window, 500).take(h.messages, h.marks); !reflect.DeepEqual(again, sent) {
				t.Fatalf("seed %d: after %d messages two workers don't send the same", seed, len(h.messages))
			}
		}
		shortened += live.from
	}
	if shortened < 1000 {
		t.Errorf("only %d messages were made shorter: it shows nothing", shortened)
	}
}

func check(t *testing.T, seed uint64, whole, sent []llm.Message, v *view) {
	t.Helper()
	if len(sent) != len(whole) {
		t.Fatalf("seed %d: %d of %d messages are sent", seed, len(sent), len(whole))
	}
	if v.size() > v.window && v.from < len(sent) {
		t.Fatalf("seed %d: %d tokens are sent of %d, with %d messages whole", seed, v.size(), v.window, len(sent)-v.from)
	}
	var cost int64
	var due []tools.Call
	for i, m := range sent {
		cost += costOf(m)
		switch {
		case m.Role == llm.RoleResult:
			if len(due) == 0 || alias(due[0].N) != m.Result.ProviderID {
				t.Fatalf("seed %d: message %d is a result of no call that waits for one", seed, i)
			}
			due = due[1:]
			if m.Result.Result.Status() != whole[i].Result.Result.Status() {
				t.Fatalf("seed %d: a result became %s", seed, m.Result.Result.Status())
			}
			if _, err := json.Marshal(m.Result.Result); err != nil {
				t.Fatalf("seed %d: what stands for a result is none: %v", seed, err)
			}
			if m.Result.Tool == askTool && !reflect.DeepEqual(m, whole[i]) {
				t.Fatalf("seed %d: what people said is no longer whole", seed)
			}
		case len(due) > 0:
			t.Fatalf("seed %d: message %d comes between a call and its result", seed, i)
		case m.Role == llm.RoleAssistant:
			due = m.Calls
			for _, c := range m.Calls {
				if !json.Valid(c.Args) {
					t.Fatalf("seed %d: arguments are no JSON: %s", seed, c.Args)
				}
			}
		case !reflect.DeepEqual(m, whole[i]):
			t.Fatalf("seed %d: a message of %s is no longer whole", seed, m.Role)
		}
	}
	if cost != v.cost || len(due) > 0 {
		t.Fatalf("seed %d: %d tokens counted, %d are there; %d calls without a result", seed, v.cost, cost, len(due))
	}
}

// R: F11
func TestAnOldResultSaysHowToReadItAgainAndAnOldFailureIsOneLine(t *testing.T) {
	t.Parallel()
	good, _ := tools.Succeed(tools.Output{Data: encode(strings.Repeat("x", 9000))}, tools.Meta{})
	if text := good.Stub("call_3").ForModel(); !strings.Contains(text, "read_output") || !strings.Contains(text, "call_3") || !strings.Contains(text, "9002 bytes") || len(text) > 300 {
		t.Errorf("a result: %s", text)
	}
	items := make([]tools.Item, 40)
	for i := range items {
		items[i] = tools.Item{Item: fmt.Sprint("order ", i), Reason: strings.Repeat("y", 500), Type: tools.Conflict}
	}
	part, _ := tools.Succeed(tools.Output{Completed: items[:10], Failed: items[10:]}, tools.Meta{})
	if text := part.Stub("call_4").ForModel(); !strings.Contains(text, `"status":"partial"`) || !strings.Contains(text, "10 items were done") || !strings.Contains(text, "25 more items failed") || len(text) > 900 {
		t.Errorf("a batch: %s", text)
	}
	bad := tools.Refuse(tools.Fail(tools.Conflict, "The order\nis "+strings.Repeat("very ", 100)+"closed.", "Open it."), tools.Meta{})
	if text := bad.Stub("call_5").ForModel(); strings.Contains(text, `\n`) || strings.Contains(text, "Open it") || !strings.Contains(text, `"status":"error"`) || len(text) > 400 {
		t.Errorf("a failure: %s", text)
	}
}
