package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
	"baton/web/browsertest"
)

// R: K3
// case: abuse A02, A03
func TestMarkdownOfAModelLoadsAndSendsNothing(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(elsewhere.Close)
	evil := fmt.Sprintf("![sum](%[1]s/a?d=4711) [pay](%[1]s/b?d=4711) [run](javascript:alert(1)) [data](data:text/html,x) <img src=%[1]s/c> "+
		"<svg onload=alert(1)> <details open ontoggle=alert(1)> <link rel=prefetch href=%[1]s/d> <meta http-equiv=refresh content=\"0;url=%[1]s/e\"> %[1]s/f", elsewhere.URL)

	w := newWorld(t)
	worker := w.work(w.start("desk"))
	args, err := json.Marshal(map[string]string{"sql": evil})
	if err != nil {
		t.Fatal(err)
	}
	worker.ask("query_db", string(args), tools.Ready)
	worker.end("query_db", succeeded(t, fmt.Sprintf(`{"columns": [], "rows": [[%q]]}`, evil)), nil, "")
	worker.write(sessions.Step{Events: []sessions.NewEvent{{Type: sessions.ModelReplied, Turn: 1, Step: 2, Data: map[string]any{"text": evil}}}})
	worker.ask("ask_human", `{}`, tools.Ready)
	source, err := json.Marshal(map[string]any{
		"title": cut(evil, 150), "question": evil, "problem": evil, "reason": evil, "reason_code": "x", "recommended": "A",
		"options": []map[string]string{{"label": cut(evil, 70), "id": "a", "consequence": evil}, {"label": "No", "id": "b"}},
		"facts":   []map[string]string{{"label": "x", "value": cut(evil, 100)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ask, faults := escalation.ParseAsk(source, nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	draft, faults := escalation.Compose(ask, escalation.Known{Task: "Settle it"})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	e := worker.raise(draft)
	at := templates.SessionURL(worker.session.String())

	tab := w.tabOf(browsertest.Desk, "supervisor")
	for _, path := range []string{"/inbox", questionPath(e), at, at + "?view=technical", at + "/calls/1", at + "/calls/1/output", "/sessions", searchFor("sum")} {
		tab.Go(w.server.URL + path)
		browsertest.Eval[bool](tab, `document.querySelectorAll("details").forEach((d) => (d.open = true)), true`)
		made := browsertest.Eval[[]string](tab, `[...document.querySelectorAll("img, iframe, object, embed, video, audio, link[rel=prefetch], meta[http-equiv], [onload], [ontoggle]")].map((e) => e.outerHTML)
			.concat([...document.querySelectorAll("a[href], form[action]")].map((e) => e.href ?? e.action).filter((url) => new URL(url).origin !== location.origin))`)
		if browsertest.Eval[bool](tab, `!document.body.textContent.includes("![sum](")`) {
			t.Errorf("%s doesn't show the text", path)
		}
		if len(made) > 0 {
			t.Errorf("%s makes of a model's text: %q", path, made)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("looking at pages made %d requests to a host that a model named", n)
	}
}
