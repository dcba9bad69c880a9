package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"baton/internal/problem"
	"baton/internal/sessions"
)

// watched is what a terminal shows of a session until it ends or waits.
func (p *inProcess) watched(session sessionID) (string, error) {
	p.t.Helper()
	var out bytes.Buffer
	err := watchSession(p.t.Context(), &out, p.house, session, false)
	return out.String(), err
}

// R: I5, S3
func TestATerminalIsToldInSentencesHowASessionStands(t *testing.T) {
	t.Parallel()
	p := working(t)
	p.house.url = "http://127.0.0.1:8080"
	for name, c := range map[string]struct {
		playbook string
		says     []string
		fails    func(error) bool
	}{
		"a question": {
			playbook: "def reply(s):\n    return [ask(\"Shall order 48 be paid back?\", title = \"Order 48\", options = [option(\"Pay\", \"It goes back.\"), option(\"Wait\", \"Nothing is done.\")], recommended = \"A\", reason = \"It is late.\", problem = \"The order was paid twice.\")]\n",
			says:     []string{"Waiting for a person", "ESC-", "Order 48", "http://127.0.0.1:8080/inbox/esc_"},
			fails:    func(err error) bool { return errors.Is(err, errWaits) },
		},
		"a fault of the script": {
			playbook: "def reply(s):\n    return 1 // 0\n",
			says: []string{"model.failed  The agent's script broke off", "test.star:2", "session.ended  The session ended: Failed  The agent's script has a fault.",
				"Tell whoever looks after the agent."},
			fails: func(err error) bool { return problem.Is(err, "session_not_completed") },
		},
		"a model that doesn't answer": {
			playbook: "def reply(s):\n    return [provider_error(401)]\n",
			says:     []string{"model.failed  The model gave no usable reply (try 1)", "Waiting for a person", "The agent’s model doesn’t let us in"},
			fails:    func(err error) bool { return errors.Is(err, errWaits) },
		},
		"a vague question, and a report": {
			playbook: "def reply(s):\n    if s.step == 0:\n        return [ask(\"Go?\", options = [option(\"Yes\", \"x\")])]\n    return [finish(\"Nobody was asked.\", status = \"unable\", unresolved = [\"all\"])]\n",
			says:     []string{"The question was not asked. It has 2 faults:", "/question: want", "/options: want 2 to 6 options", "session.ended  The session ended: Completed, could not be done", "Nobody was asked."},
			fails:    func(err error) bool { return err == nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := *p
			q.t = t
			out, err := q.watched(q.start(c.playbook))
			if !c.fails(err) {
				t.Errorf("ends with %v", err)
			}
			for _, part := range c.says {
				if !strings.Contains(out, part) {
					t.Errorf("lacks %q:\n%s", part, out)
				}
			}
			for _, raw := range []string{`{"code"`, `"params"`, "fault(s)", "problem.", "failure."} {
				if strings.Contains(out, raw) {
					t.Errorf("shows %s raw:\n%s", raw, out)
				}
			}
		})
	}
}

// R: I5
func TestAWatchedSessionThatWaitsIsExitCodeThreeAndOneThatNothingRunsIsSaidSo(t *testing.T) {
	t.Parallel()
	for status, want := range map[sessions.Status]error{sessions.Completed: nil, sessions.Waiting: errWaits, sessions.Paused: errWaits} {
		if err := unlessCompleted(sessions.Session{Status: status}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", status, err, want)
		}
	}
	var out bytes.Buffer
	if err := nobodyWorks(&out, sessionID{}, true); !problem.Is(err, "server_not_running") || out.Len() > 0 {
		t.Errorf("watched in vain: %v, %q", err, &out)
	}
	if err := nobodyWorks(&out, sessionID{}, false); err != nil || !strings.Contains(out.String(), "No server runs here") {
		t.Errorf("started for later: %v, %q", err, &out)
	}
}
