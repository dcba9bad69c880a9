package provider

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"baton/internal/llm"
	"baton/internal/tools"
)

// Turn is what one side says before the other does. Turns alternate, beginning
// and ending with ours.
type Turn struct {
	// Of the model, if it is its turn: at least one of both.
	Text  string
	Calls []Call
	// Of ours: the results of all calls of the model's turn before, in their
	// order, and then what the server says, each one record.
	Results []Result
	Records []string

	Ours bool
}

// Call is a call as it may stand on the wire.
type Call struct {
	ID   string // unique in the conversation
	Tool string
	Args json.RawMessage // a JSON object
}

// Result is the one result of the call with its id.
type Result struct {
	ID     string
	Text   string
	Failed bool
}

// Turns puts a conversation into turns. The agent loop sends each call with its
// result; should one be missing or be there twice, what is sent is still whole.
func Turns(messages []llm.Message) []Turn {
	t := turning{taken: map[string]bool{}}
	for _, m := range messages {
		switch {
		case m.Role == llm.RoleAssistant:
			t.reply(m)
		case m.Role == llm.RoleResult && m.Result != nil:
			t.result(m.Result)
		case m.Role == llm.RoleDecision && m.Decision == nil:
		default:
			t.say(recordOf(m))
		}
	}
	t.settle()
	if n := len(t.turns); n == 0 || !t.turns[n-1].Ours {
		t.say(recordOf(llm.Message{Role: llm.RoleNotice, Text: "Go on."}))
	}
	return t.turns
}

// turning makes turns.
type turning struct {
	turns []Turn
	taken map[string]bool // ids
	due   []due           // calls of the latest reply
}

// due is a call until it has its result.
type due struct {
	call   tools.Call
	id     string
	result *llm.Result
}

// ours is our turn, begun if it is the model's.
func (t *turning) ours() *Turn {
	if n := len(t.turns); n == 0 || !t.turns[n-1].Ours {
		t.turns = append(t.turns, Turn{Ours: true})
	}
	return &t.turns[len(t.turns)-1]
}

func (t *turning) say(record string) {
	t.settle()
	turn := t.ours()
	turn.Records = append(turn.Records, record)
}

// reply takes a reply of the model. One that held nothing is left out: no
// provider takes it back.
func (t *turning) reply(m llm.Message) {
	t.settle()
	if strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 {
		return
	}
	if len(t.turns) == 0 || !t.turns[len(t.turns)-1].Ours {
		t.say(recordOf(llm.Message{Role: llm.RoleNotice, Text: "Go on."}))
	}
	turn := Turn{Text: strings.TrimSpace(m.Text)}
	for _, c := range m.Calls {
		id := t.id(c)
		turn.Calls = append(turn.Calls, Call{ID: id, Tool: toolName(c.Tool), Args: object(c.Args)})
		t.due = append(t.due, due{call: c, id: id})
	}
	t.turns = append(t.turns, turn)
}

// id is a name for a call on the wire: its own, as the model cites it, unless
// that is taken.
func (t *turning) id(c tools.Call) string {
	id := fmt.Sprintf("call_%d", c.N)
	for n := 1; t.taken[id] || c.N <= 0 && n == 1; n++ {
		id = fmt.Sprintf("call_%d_%d", c.N, n)
	}
	t.taken[id] = true
	return id
}

// result pairs a result with its call: by its name, else the first that lacks
// one.
func (t *turning) result(r *llm.Result) {
	for i := range t.due {
		if d := &t.due[i]; d.result == nil && r.ProviderID == fmt.Sprintf("call_%d", d.call.N) {
			d.result = r
			return
		}
	}
	for i := range t.due {
		if d := &t.due[i]; d.result == nil && r.ProviderID == "" {
			d.result = r
			return
		}
	}
}

// settle says the results of the latest reply's calls, one for each.
func (t *turning) settle() {
	if len(t.due) == 0 {
		return
	}
	turn := t.ours()
	for _, d := range t.due {
		result := Result{ID: d.id, Failed: true, Text: `{"status":"error","error_type":"internal","message":"There is no result on record for this call."}`}
		if d.result != nil {
			result.Text, result.Failed = resultOf(d.result), !d.result.Result.OK()
		}
		turn.Results = append(turn.Results, result)
	}
	t.due = nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// toolName is a name that every provider takes, also where a model made up one
// that none does.
func toolName(name string) string {
	if nameForm.MatchString(name) {
		return name
	}
	kept := strings.Map(func(r rune) rune {
		if nameForm.MatchString(string(r)) {
			return r
		}
		return '_'
	}, clip(name, 60))
	if kept == "" {
		return "unknown"
	}
	return strings.ReplaceAll(clip(kept, 60), "…", "_")
}

// object is a call's arguments where an object is due. What was none is not sent
// again: the result says what was wrong with it.
func object(args json.RawMessage) json.RawMessage {
	var any map[string]json.RawMessage
	if json.Unmarshal(args, &any) != nil || any == nil {
		return json.RawMessage(`{}`)
	}
	return args
}
