package agent_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/llm/provider"
	"baton/internal/llm/wiretest"
	"baton/internal/sessions"
)

// aimockFixtures are what the mock says: it is overloaded once, has a tool called,
// and finishes on what that returned.
const aimockFixtures = `{"fixtures": [
  {"match": {"turnIndex": 0, "sequenceIndex": 0}, "response": {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529}},
  {"match": {"turnIndex": 0}, "response": {"content": "I look it up.", "usage": {"input_tokens": 120, "output_tokens": 30, "prompt_tokens": 120, "completion_tokens": 30}, "toolCalls": [{"name": "echo", "arguments": "{\"n\":48,\"note\":\"漢字\"}"}]}},
  {"match": {"turnIndex": 1, "toolResultContains": "\"n\":48"}, "response": {"toolCalls": [{"name": "finish",
    "arguments": "{\"summary\":\"There are 48.\",\"status\":\"done\",\"evidence\":[{\"claim\":\"48\",\"call\":\"call_1\",\"quote\":\"48\"}]}"}]}}
]}`

// serveAimock starts the mock that stands beside wiretest: what its authors
// read in the providers' documentation, not what we did.
func serveAimock(t *testing.T) (url string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("BATON_REQUIRE_NPM") == "1" {
			t.Fatal("no npm found on PATH, and BATON_REQUIRE_NPM=1 asks for it: install npm")
		}
		t.Skip("no npm found on PATH: the independent mock of providers can't be installed")
	}
	install := exec.CommandContext(t.Context(), "../llm/wiretest/aimock/install")
	install.Stderr = os.Stderr
	out, err := install.Output()
	if err != nil {
		t.Fatalf("install the mock: %v", err)
	}
	lines := strings.Fields(string(out))
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(fixtures, []byte(aimockFixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server := exec.CommandContext(ctx, lines[0], lines[1], "-p", "0", "-f", fixtures)
	said, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = server.Wait() // it was killed
	})
	for text := bufio.NewScanner(said); text.Scan(); {
		if _, url, ok := strings.Cut(text.Text(), "listening on "); ok {
			go func() {
				for text.Scan() { // so that it never waits for a reader
				}
			}()
			return url
		}
	}
	t.Fatal("the mock ended before it listened")
	return ""
}

// R: M1, M3, A4
// case: fault F26
func TestASessionRunsOnAnIndependentMockOfBothProviders(t *testing.T) {
	t.Parallel()
	for _, dialect := range wiretest.Dialects {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			o := provider.Options{BaseURL: serveAimock(t)}
			if dialect == wiretest.OpenAI {
				o.BaseURL += "/v1"
			}
			h := build(t, echo)
			deps := h.deps()
			deps.Model = func(definition.Version, string) (llm.Model, error) { return openWire(t, dialect, o), nil }
			h.use(deps)
			s := h.run("def reply(s):\n    return empty()")
			if s.Status != sessions.Completed || s.Outcome != sessions.Done || s.Summary != "There are 48." || s.Tokens == 0 {
				t.Fatalf("it is %s %s with %d tokens:\n%s", s.Status, s.Outcome, s.Tokens, strings.Join(h.told(s.ID), "\n"))
			}
			if got := string(h.results(s.ID)[1].Data()); got != `{"n":48,"note":"漢字"}` {
				t.Errorf("the call returned %s", got)
			}
			ledger := strings.Join(h.told(s.ID), "\n")
			if !strings.Contains(ledger, `"kind":"overloaded","status":529`) || !strings.Contains(ledger, "I look it up.") {
				t.Errorf("the ledger is\n%s", ledger)
			}
		})
	}
}
