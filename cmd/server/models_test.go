package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/llm/wiretest"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// An agent can be given a model of each provider that definitions may name, and
// of no other.
// R: D (appendix)
func TestEachProviderThatADefinitionMayNameIsThere(t *testing.T) {
	t.Parallel()
	version := definition.Version{Slug: "desk", Number: 1, Playbook: "def reply(s):\n    return [finish(\"Done.\")]\n"}
	for _, provider := range append(definition.Providers(), "nobody") {
		_, err := new(models).model(version, provider+"/x")
		there := err == nil || !strings.Contains(err.Error(), "there is no model provider")
		if there != definition.ValidModel(provider+"/x") {
			t.Errorf("%s: definitions say %v, the models say %v", provider, definition.ValidModel(provider+"/x"), err)
		}
	}
}

// What keeps a real model from being asked is put before people while the
// session waits, and nothing is lost.
// R: M1, A4, P7
func TestAModelThatIsNotSetUpIsAskedAbout(t *testing.T) {
	t.Parallel()
	p := working(t)
	p.models.services[definition.OpenAI] = nil // set up, and never asked
	for model, yaml := range map[string]string{"anthropic/x": "", "openai/x": "budgets: {cost_usd: 1}\n"} {
		slug := "asks-" + strings.TrimSuffix(model, "/x")
		store := definition.NewStore(p.pool, definition.Known{}, nil)
		source := []byte("slug: " + slug + "\nteam: support\nmodel: " + model + "\n" + yaml)
		if _, err := store.Apply(t.Context(), auth.CLI("t"), definition.File{Name: "a.yaml", Source: source}); err != nil {
			t.Fatal(err)
		}
		version, err := store.Get(t.Context(), auth.CLI("t"), slug, 0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.sessions.Start(t.Context(), p.people["supervisor"], p.inserter, sessions.New{Agent: version, Task: "Do it"})
		if err != nil {
			t.Fatal(err)
		}
		q := p.questions(s.ID, 1)[0]
		if text, err := json.Marshal(q); err != nil || !strings.Contains(string(text), "isn’t set up here") || !strings.Contains(string(text), "try-again") {
			t.Errorf("%s: asked %s, %v", model, text, err)
		}
	}
}

// R: M1, G4, O3
func TestTheDoctorAsksTheProvidersAndNoKeyIsShown(t *testing.T) {
	t.Parallel()
	anthropic := wiretest.Serve(t, wiretest.Anthropic, func(wiretest.Request) wiretest.Answer { return wiretest.Answer{} })
	env := []string{"BATON_DATA_DIR=" + dataDir(t), "ANTHROPIC_BASE_URL=" + anthropic.URL, "ANTHROPIC_API_KEY=" + wiretest.Key,
		configFile(t, "openai_base_url: http://127.0.0.1:1/v1\nopenai_api_key: sk-in-the-file-0123456789\n")}
	code, out, said := try(t, env, "doctor")
	if code != 1 || !strings.Contains(out, "ok    models of anthropic: "+anthropic.URL) || !strings.Contains(out, "MEND  models of openai: http://127.0.0.1:1/v1\nThe models of openai can't be reached.") {
		t.Errorf("exit %d:\n%s%s", code, out, said)
	}
	_, wrong, _ := try(t, append(env, "ANTHROPIC_API_KEY=sk-wrong-0123456789"), "doctor")
	if !strings.Contains(wrong, "doesn't accept the key") || !strings.Contains(wrong, "ANTHROPIC_API_KEY") {
		t.Errorf("a wrong key:\n%s", wrong)
	}
	if _, quiet, _ := try(t, env, "doctor", "--no-models"); strings.Contains(quiet, "models of") {
		t.Errorf("it asks all the same:\n%s", quiet)
	}
	_, config, _ := try(t, env, "config")
	if !strings.Contains(config, "anthropic_api_key:  "+masked) || !strings.Contains(config, "openai_base_url:    http://127.0.0.1:1/v1") {
		t.Errorf("config:\n%s", config)
	}
	if all := out + said + wrong + config; strings.Contains(all, "sk-") {
		t.Errorf("a key is shown:\n%s", all)
	}
	if code, _, said := try(t, append(env, "OPENAI_BASE_URL=https://key@llm.example.org/v1"), "config"); code == 0 || !strings.Contains(said, "a key has its own setting") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// returnsPolicy answers what docs/models.md asks for: it reads a file, and then finishes.
func returnsPolicy(r wiretest.Request) wiretest.Answer {
	reply := llm.Reply{Stop: llm.StopToolUse, Usage: llm.Usage{InputTokens: 1200, OutputTokens: 34}}
	call := tools.Call{ProviderID: "toolu_1", Tool: "read_file", Args: json.RawMessage(`{"path":"returns.txt"}`)}
	if r.Replies > 0 {
		call = tools.Call{ProviderID: "toolu_2", Tool: "finish",
			Args: json.RawMessage(`{"summary":"Within 30 days.","status":"done","evidence":[{"claim":"30 days","call":"call_1","quote":"within 30 days"}]}`)}
	}
	reply.Calls = []tools.Call{call}
	return wiretest.Answer{Reply: reply}
}

// guide is what a page of docs has the reader do: its commands up to a heading,
// and its files.
func guide(t *testing.T, page, until string) (commands, files []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	part, _, found := strings.Cut(string(text), "\n## "+until)
	if !found {
		t.Fatalf("docs/%s has no heading %s", page, until)
	}
	for i, block := range strings.Split(part, "```") {
		kind, body, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 0:
		case kind == "sh":
			for line := range strings.Lines(body) {
				commands = append(commands, strings.TrimSpace(line))
			}
		default:
			files = append(files, body)
		}
	}
	return commands, files
}

// docs/models.md, to the letter, against providers that speak both wires.
// R: M1, M3, G4
func TestThePageAboutModelsCanBeFollowed(t *testing.T) {
	t.Parallel()
	commands, files := guide(t, "models.md", "What it costs")
	if len(commands) != 6 || len(files) != 2 {
		t.Fatalf("found %q and %d files: the scan is broken", commands, len(files))
	}
	dir, data := t.TempDir(), dataDir(t)
	write(t, filepath.Join(dir, "baton.yaml"), files[0])
	write(t, filepath.Join(dir, "helper.yaml"), files[1])
	write(t, filepath.Join(data, "workspaces", "helper", "returns.txt"), "Goods can be sent back within 30 days.\n")
	env := []string{"DATABASE_URL=" + pgtest.Empty(t), "BATON_DATA_DIR=" + data, testKey, "BATON_CONFIG=" + filepath.Join(dir, "baton.yaml"),
		"ANTHROPIC_BASE_URL=" + wiretest.Serve(t, wiretest.Anthropic, returnsPolicy).URL, "OPENAI_BASE_URL=" + wiretest.Serve(t, wiretest.OpenAI, returnsPolicy).URL}
	started := false
	for _, line := range commands {
		if variable, ok := strings.CutPrefix(line, "export "); ok {
			env = append(env, strings.Replace(variable, "...", wiretest.Key, 1))
			continue
		}
		if !started { // with the keys that are set by now
			launch(t, env...)
			if code, _, said := try(t, env, "user", "add", "admin", "--role", "admin", "--team", "support"); code != 0 {
				t.Fatal(said)
			}
			started = true
		}
		sh := exec.CommandContext(t.Context(), "sh", "-c", `server() { "$PROGRAM" "$@"; }; `+line)
		sh.Dir = dir
		sh.Env = command(t.Context(), append(env, "PROGRAM="+os.Args[0])).Env
		out, err := sh.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		for command, said := range map[string]string{"doctor": "ok    models of openai: ", "agent apply": "helper", "session start": "Within 30 days."} {
			if strings.HasPrefix(line, "server "+command) && !strings.Contains(string(out), said) {
				t.Errorf("%s:\n%s", line, out)
			}
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// R: M1, P7
func TestWhatASessionCostsIsCountedByThePrices(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + pgtest.Empty(t), "BATON_DATA_DIR=" + dataDir(t), testKey, "OPENAI_API_KEY=" + wiretest.Key,
		"OPENAI_BASE_URL=" + wiretest.Serve(t, wiretest.OpenAI, func(r wiretest.Request) wiretest.Answer {
			return wiretest.Answer{Reply: llm.Reply{Stop: llm.StopToolUse, Usage: llm.Usage{InputTokens: 1200, OutputTokens: 34},
				Calls: []tools.Call{{ProviderID: "a", Tool: "finish", Args: json.RawMessage(`{"summary":"No.","status":"unable","unresolved":["Nothing was asked."]}`)}}}}
		}).URL,
		configFile(t, "prices: {openai/dear: {input: 3, output: 15}}\n")}
	launch(t, env...)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "dear.yaml"), "slug: dear\nmodel: openai/dear\nbudgets: {cost_usd: 0.05}\n")
	write(t, filepath.Join(dir, "free.yaml"), "slug: free\nmodel: openai/free\n")
	write(t, filepath.Join(dir, "blind.yaml"), "slug: blind\nmodel: openai/free\nbudgets: {cost_usd: 0.05}\n")
	if code, _, said := try(t, env, "user", "add", "admin", "--role", "admin"); code != 0 {
		t.Fatal(said)
	}
	if code, _, said := try(t, env, "agent", "apply", "-f", filepath.Join(dir, "blind.yaml")); code != 1 || !strings.Contains(said, "the price of openai/free is not known") {
		t.Errorf("exit %d: %s", code, said)
	}
	for agent, cost := range map[string]string{"dear": `"cost_usd":0.004110`, "free": `"cost_usd":0.000000`} {
		if code, _, said := try(t, env, "agent", "apply", "-f", filepath.Join(dir, agent+".yaml")); code != 0 {
			t.Fatal(said)
		}
		_, out, said := try(t, env, "session", "start", "--agent", agent, "--task", "Do it", "--watch")
		_, shown, _ := try(t, env, "session", "show", regexp.MustCompile("ses_[0-9a-f]{32}").FindString(out), "--json")
		if !strings.Contains(shown, cost) {
			t.Errorf("%s: %s\n%s\n%s", agent, out, said, shown)
		}
	}
	if code, out, _ := try(t, env, "doctor"); code != 0 || !strings.Contains(out, "ok    price of openai/free: not in baton.yaml, so what it costs is counted as 0") || strings.Contains(out, "price of openai/dear") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}
