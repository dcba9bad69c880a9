package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"baton/internal/postgres/pgtest"
)

// asksBack is an agent of the name that README.md uses: it asks a person.
const asksBack = `
def reply(s):
    if s.decision:
        return [finish("Order %s: %s." % (s.inputs.order, s.decision.label), status = "unable", unresolved = ["Nothing was looked up."])]
    return [ask("Is order %s to be looked up?" % s.inputs.order, title = "Order %s" % s.inputs.order, problem = "A customer asks.",
        options = [option("Look it up", "The customer hears of it."), option("Leave it", "Nothing is done.")],
        recommended = "A", reason = "It was asked for.")]
`

// curl is a command of README.md as its reader sends it.
type curl struct {
	method, address, body string
	bearer                bool
}

var curlLine = regexp.MustCompile(`^curl (?:(-H "Authorization: Bearer \$KEY") )?(?:--json '([^']*)' )?"?(\$API[^\s"]*)"?$`)

func readmeCurls(t *testing.T) (curls []curl) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## With curl\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		m := curlLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("README.md: %q can't be followed", line)
		}
		c := curl{method: http.MethodGet, address: m[3], body: m[2], bearer: m[1] != ""}
		if c.body != "" {
			c.method = http.MethodPost
		}
		curls = append(curls, c)
	}
	return curls
}

// send does what curl would, with the reader's words put in.
func (c curl) send(t *testing.T, words *strings.Replacer, key string) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, words.Replace(c.address), strings.NewReader(words.Replace(c.body)))
	if err != nil {
		t.Fatal(err)
	}
	if c.bearer {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if c.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var said map[string]any
	if err := json.Unmarshal(text, &said); err != nil || res.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", c.method, c.address, res.StatusCode, text)
	}
	return said
}

// The section of README.md about curl, to the letter, against a server.
// R: I1, G1
func TestTheReadmesCurlLinesStartASessionAndAnswerItsQuestion(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + pgtest.Empty(t), "BATON_DATA_DIR=" + dataDir(t), testKey}
	server := launch(t, env...)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "slug: order-questions\nteam: main\nmodel: scripted/a\nplaybook: a.star\n", "a.star": asksBack,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := ""
	for _, args := range [][]string{
		{"user", "add", "admin", "--role", "admin"}, {"agent", "apply", "-f", filepath.Join(dir, "a.yaml")},
		{"key", "create", "--user", "admin", "--scope", "all"},
	} {
		code, out, said := try(t, env, args...)
		if code != 0 {
			t.Fatalf("server %s: exit %d, %s", strings.Join(args, " "), code, said)
		}
		key = strings.TrimSpace(out)
	}

	session, question := "", ""
	deadline := time.Now().Add(60 * time.Second)
	curls := readmeCurls(t)
	if len(curls) < 8 {
		t.Fatalf("found %d lines: the scan is broken", len(curls))
	}
	for _, c := range curls {
		words := strings.NewReplacer("$API", server.url+"/api/v1", "SESSION", session, "QUESTION", question, "ORDER", "4711")
		said := c.send(t, words, key)
		id, _ := said["id"].(string)
		items, _ := said["items"].([]any)
		switch {
		case c.method == http.MethodPost && strings.HasSuffix(c.address, "/sessions"):
			session = id
		case strings.Contains(c.address, "status=pending"):
			for ; len(items) == 0 && time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
				items, _ = c.send(t, words, key)["items"].([]any)
			}
			if len(items) != 1 {
				t.Fatalf("%d questions wait", len(items))
			}
			question, _ = items[0].(map[string]any)["id"].(string)
		case strings.HasSuffix(c.address, "QUESTION"):
			if decision, _ := said["decision"].(map[string]any); decision["label"] != "Look it up" {
				t.Errorf("it was decided: %v", said["decision"])
			}
		}
	}
	if s := (api{t, server.url, key}).ended(session); s.Status != "completed" {
		t.Errorf("the session is %s", s.Status)
	}
}
