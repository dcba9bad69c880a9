package web

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

// tell writes events as the agent's loop does, and what others write.
func (w *worker) tell(events ...sessions.NewEvent) {
	w.t.Helper()
	for i := range events {
		events[i].Turn, events[i].Step = 1, w.steps
	}
	w.write(sessions.Step{Events: events})
}

// eventful is a session in which everything happened that a timeline tells of.
func (w world) eventful() (*worker, string) {
	w.t.Helper()
	worker := w.work(w.start("desk"))
	by := map[string]any{"by": sessions.Author{Name: "Mara <b>O</b>"}, "text": "Hurry."}
	for _, kind := range []sessions.EventType{sessions.PauseRequested, sessions.SessionPaused, sessions.SessionResumed, sessions.MessageReceived, sessions.CancelRequested} {
		worker.tell(sessions.NewEvent{Type: kind, Data: by})
	}
	worker.tell(
		sessions.NewEvent{Type: sessions.ModelFailed, Data: map[string]any{"message": "503 <i>from</i> the provider", "attempt": 2, "wait_ms": 1500}},
		sessions.NewEvent{Type: sessions.NoticeGiven, Data: map[string]any{"code": "call_due", "text": "Go on with a call."}},
		sessions.NewEvent{Type: sessions.SessionRecovered, Data: struct{}{}},
		sessions.NewEvent{Type: sessions.LateResult, Data: struct{}{}},
		sessions.NewEvent{Type: "of.a_newer_release", Data: struct{}{}},
	)
	worker.ask("query_db", `{"sql": "select 1"}`, tools.Ready)
	worker.end("query_db", succeeded(w.t, `{"columns": ["n"], "rows": [["1"], ["2"]]}`), nil, "")
	worker.ask("http_request", `{"url": "http://x"}`, tools.Ready)
	worker.end("http_request", tools.Refuse(tools.Fail(tools.CircuitOpen, "It failed before."), tools.Meta{}), nil, "")
	worker.ask("ask_human", `{"question": "Refund it?"}`, tools.Ready)
	worker.raise(choice(w.t))
	return worker, templates.SessionURL(worker.session.String())
}

// R: V6, S3, UI — every kind of event, in both views and in both languages.
func TestEachKindOfEventHasItsRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, at := w.eventful()
	for name, view := range map[string]struct{ who, query, rowClass string }{
		"plain": {"viewer", "", "event"}, "chart": {"supervisor", "", "step"}, "a supervisor's plain": {"supervisor", "?view=plain", "event"},
	} {
		page := w.as(view.who).get(at + view.query).markup(t)
		list := page.one("ol#events")
		for _, c := range []struct{ row, says, zh string }{
			{"li#event-1[data-kind=\"person\"]", "gave the agent its task", "任务"},
			{"li#event-2[data-kind=\"person\"]", "Mara <b>O</b> asked for a pause", ""},
			{"li#event-3[data-kind=\"state\"]", "Paused", ""},
			{"li#event-4[data-kind=\"person\"]", "let the session go on", ""},
			{"li#event-5[data-kind=\"person\"]", "Hurry.", ""},
			{"li#event-6[data-kind=\"person\"]", "stopped the session", ""},
			{"li#event-7[data-kind=\"model\"][data-problem]", "The model gave no usable reply (try 2)", ""},
			{"li#event-8[data-kind=\"state\"]", "Go on with a call.", ""},
			{"li#event-9[data-kind=\"state\"]", "The server was restarted", ""},
			{"li#event-10[data-kind=\"state\"]", "came too late", ""},
			{"li#event-12[data-kind=\"model\"]", "I look.", ""},
			{"li#call-1[data-kind=\"tool\"]", "2 rows", ""},
			{"li#call-2[data-kind=\"tool\"][data-problem]", "Stopped by Baton", ""},
		} {
			row := list.one(c.row)
			row.says(c.says)
			if classes := row.classes(); len(classes) == 0 || classes[0] != view.rowClass {
				t.Errorf("%s: %s has the classes %v", name, c.row, classes)
			}
			if len(row.all("svg use")) == 0 {
				t.Errorf("%s: %s has no icon", name, c.row)
			}
		}
		if n := len(list.all("b")) + len(list.all("i")) - len(list.all("[dir=\"auto\"]")); view.rowClass == "event" && n > 0 {
			t.Errorf("%s: what a person wrote became markup", name)
		}
		if got := len(list.all("svg.bars")) > 0; got != (view.rowClass == "step") {
			t.Errorf("%s: bars: %v", name, got)
		}
		if view.rowClass == "step" {
			page.one("div#session-axis").says("0 s")
			if n := len(list.one("li#call-2").all("rect.bar-outline")); n != 1 {
				t.Errorf("what was refused is drawn with %d outlines", n)
			}
		}
		if live := list.all("ol[data-live]"); len(live) != 0 || len(page.all("ol#events[data-live]")) != 1 {
			t.Errorf("%s: the list doesn't say that more may come", name)
		}
	}
	zh := w.as("supervisor").get(at, "Accept-Language", "zh-CN").markup(t)
	zh.one("li#call-2").says("被 Baton 拦下")
	zh.one("li#event-12").says("思考")
	zh.one("nav.tabs").says("全部", "工具", "模型", "问题")
}

// R: UI — what of the page is drawn anew holds nothing that somebody may be using.
func TestPartsThatAreDrawnAnewHoldNoForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, at := w.eventful()
	page := w.as("supervisor").get(at).markup(t)
	for _, part := range []string{"div#session-head", "div#session-controls", "div#session-filters", "div#session-now", "div#session-axis", "ol#events"} {
		for _, banned := range []string{"form", "input", "textarea", "dialog", "[popover]"} {
			if n := len(page.one(part).all(banned)); n > 0 {
				t.Errorf("%s has %d of %s", part, n, banned)
			}
		}
	}
	for _, zoned := range page.one("ol#events").all("time") {
		if at, _ := zoned.attr("datetime"); !strings.HasSuffix(at, "Z") {
			t.Errorf("a time in a zone: %s", at)
		}
	}
	running := w.work(w.start("desk"))
	page = w.as("supervisor").get(templates.SessionURL(running.session.String())).markup(t)
	if form, _ := page.one("button[data-key=\"p\"]").attr("form"); form != "pause" || len(page.all("form#pause")) != 1 {
		t.Errorf("the button belongs to the form %q", form)
	}
}

// R: UI — who may choose a view keeps it.
func TestTheViewIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, at := w.eventful()
	chart := func(r reply) bool { t.Helper(); return len(r.markup(t).all("section.chart")) == 1 }
	supervisor := w.as("supervisor")
	for i, step := range []struct {
		query string
		chart bool
	}{{"", true}, {"?view=plain", false}, {"", false}, {"?view=nonsense", false}, {"?view=technical", true}, {"", true}} {
		if got := chart(supervisor.get(at + step.query)); got != step.chart {
			t.Errorf("step %d, %q: chart %v", i, step.query, got)
		}
	}
	for _, who := range []string{"viewer", "responder"} {
		got := w.as(who).get(at + "?view=technical")
		if chart(got) || len(got.markup(t).all("nav.segments")) != 0 {
			t.Errorf("%s sees the chart", who)
		}
	}
}

// R: UI — without scripts, too.
func TestRowsAreFiltered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, at := w.eventful()
	page := w.as("viewer").get(at).markup(t)
	for _, f := range []struct{ label, show string }{{"Tools 2", "tool"}, {"Model 4", "model"}, {"Problems 2", "problem"}} {
		found := false
		for _, link := range page.one("div#session-filters").all("a") {
			if href, _ := link.attr("href"); strings.HasSuffix(href, "?show="+f.show) {
				found = true
				link.says(f.label)
				shown := w.as("viewer").get(href).markup(t)
				if show, _ := shown.one("section.events").attr("data-show"); show != f.show {
					t.Errorf("%s shows %q", href, show)
				}
				shown.one("div#session-filters").one("a[aria-current]").says(f.label)
			}
		}
		if !found {
			t.Errorf("no filter %s", f.show)
		}
	}
}

// R: F9, E6, X6, L7 — all that can be opened of a call.
func TestACallIsOpenedOnAPageOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	at := templates.SessionURL(worker.session.String()) + "/calls/"
	worker.ask("query_db", `{"sql": "select 1", "n": 9007199254740993, "card": "[redacted:card:3f9a1c]"}`, tools.Ready)
	worker.end("query_db", succeeded(t, `{"columns": ["n", {"name": "key"}], "rows": [[9007199254740993, "[redacted:key:3f9a1c]"]]}`), nil, "")
	worker.ask("http_request", `{"url": "http://x"}`, tools.Ready)
	worker.end("http_request", tools.Refuse(tools.Fail(tools.Unavailable, "It answered 503.", "Ask a person."), tools.Meta{Attempts: 2}),
		[]tools.Attempt{{N: 1, DurationMS: 3000, ErrorType: tools.Timeout}, {N: 2, DurationMS: 900, WaitMS: 600, ErrorType: tools.Unavailable}}, "")
	worker.ask("mail", `{"to": ["a"]}`, tools.Ready)
	batch, err := tools.Succeed(tools.Output{Completed: []tools.Item{{Item: "a"}}, Failed: []tools.Item{{Item: "b", Reason: "full"}}, Skipped: []tools.Item{{Item: "c", Reason: "not tried"}},
		State: "One has it.", Notices: []string{"It was slow."}}, tools.Meta{Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	worker.end("mail", batch, nil, "")

	supervisor, viewer := w.as("supervisor"), w.as("viewer")
	got := supervisor.get(at + "1")
	page := got.markup(t)
	for _, shown := range []string{"dl.call", "table.output"} {
		if text := page.one(shown).text(); strings.Contains(text, "redacted:") {
			t.Errorf("%s shows a placeholder: %s", shown, text)
		}
	}
	part := page.one("div[data-part]")
	part.says("1 value hidden", "9007199254740993", "Formatted", "What the model saw", "Full, without secrets", "read_only",
		"Queued <0.1 s", "In the tool <0.1 s", "Between tries <0.1 s", "Forming the output <0.1 s", "In all <0.1 s")
	part.one("table.output").says("n", "key", "9007199254740993", "•••")
	if text, _ := part.one("button[data-copy]").attr("data-copy"); !strings.Contains(text, "9007199254740993") {
		t.Errorf("for the clipboard: %s", text)
	}
	part = supervisor.get(at + "2").markup(t).one("div[data-part]")
	part.one("ol.attempts").says("1 3 s timed out wait 0.6 s 2 0.9 s not available", "Worth repeating, but Baton gave up")
	part.says("What the agent was advised Ask a person.", "unavailable", "execution_error")
	part = supervisor.get(at + "3").markup(t).one("div[data-part]")
	part.one("div.items").says("1 done a", "1 failed b full", "1 skipped c not tried", "One has it.")
	part.says("It was slow.")

	got = viewer.get(at + "1")
	got.has(t, http.StatusOK, "Formatted", "What the model saw")
	got.lacks(t, "Full, without secrets", "/output", "read_only")
	for _, none := range []string{at + "4", at + "0", at + "x", at + "99999999999", templates.SessionURL(id.New[id.Session]().String()) + "/calls/1"} {
		supervisor.get(none).has(t, http.StatusNotFound, "There is no such tool call with a result.")
		supervisor.get(none+"/output").has(t, http.StatusNotFound, "There is no such tool call with a result.")
	}
	for _, theirs := range []string{at + "1", at + "1/output"} {
		w.as("Otto").get(theirs).has(t, http.StatusNotFound, "There is no such tool call with a result.")
	}
}

// R: F9, K2, UI — the whole of it, in parts, for those who may see it.
// case: abuse A13
func TestTheWholeOutputComesInParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	var kept strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&kept, "line %d of <b>many</b>, %s\n", i, strings.Repeat("x", 40))
	}
	call := worker.ask("read_file", `{"path": "a"}`, tools.Ready)
	worker.end("read_file", succeeded(t, `"line 0"`), nil, "x\n")
	if _, err := w.db.Exec(t.Context(), `delete from call_outputs`); err != nil {
		t.Fatal(err)
	}
	store(t, w, call, kept.String())
	at := templates.OutputURL(worker.session.String(), 1, 0)
	supervisor := w.as("supervisor")
	var whole strings.Builder
	parts := 0
	for next := at; next != ""; parts++ {
		got := supervisor.get(next)
		if len(got.body) > 2*outputMost {
			t.Fatalf("%d bytes at once", len(got.body))
		}
		page := got.markup(t)
		whole.WriteString(page.one("pre.saw").root.FirstChild.Data)
		next = ""
		for _, link := range page.all("a[data-more]") {
			next, _ = link.attr("href")
		}
	}
	if whole.String() != kept.String() || parts < 4 {
		t.Errorf("%d bytes in %d parts, want %d", whole.Len(), parts, kept.Len())
	}
	supervisor.get(templates.OutputURL(worker.session.String(), 1, 3999)).has(t, http.StatusOK, "Lines 4,000 to 4,000", "line 3999 of &lt;b&gt;many")
	supervisor.get(at+"?offset=-1").has(t, http.StatusNotFound)
	for _, who := range []string{"viewer", "responder"} {
		got := w.as(who).get(at)
		got.has(t, http.StatusForbidden, "you may not do that here")
		got.lacks(t, "line 0")
	}
	if got := w.as("responder").get(templates.CallURL(worker.session.String(), 1)); strings.Contains(got.body, "/output") {
		t.Error("who may not see it is led to it")
	}
}

// store keeps an output as the loop does, but for the transaction.
func store(t *testing.T, w world, call id.Call, output string) {
	t.Helper()
	tx, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := sessions.StoreOutputTx(t.Context(), tx, call, output); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// R: UI, Z5 — a long session opens at its end, and says what it leaves out.
func TestALongSessionOpensAtItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	worker.ask("query_db", `{}`, tools.Ready)
	worker.end("query_db", tools.Refuse(tools.Fail(tools.Timeout, "late"), tools.Meta{Attempts: 1}), nil, "")
	var events []sessions.NewEvent
	for range 1200 {
		events = append(events, sessions.NewEvent{Type: sessions.NoticeGiven, Turn: 1, Step: 1, Data: map[string]string{"code": "asked_again", "text": "x"}})
	}
	worker.write(sessions.Step{Events: events})
	at := templates.SessionURL(worker.session.String())
	b := w.as("viewer")
	seen := map[string]bool{}
	pages := 0
	for next := at; next != ""; pages++ {
		page := b.get(next).markup(t)
		for _, row := range page.one("ol#events").all("li") {
			name, _ := row.attr("id")
			if name == "" {
				continue
			}
			if seen[name] {
				t.Fatalf("%s is on two pages", name)
			}
			seen[name] = true
		}
		next = ""
		for _, earlier := range page.all("div.events-summary a") {
			next, _ = earlier.attr("href")
			page.one("div.events-summary").says("of 1,203", "1 calls, of which 1 failed")
		}
		if live := len(page.all("ol#events[data-live]")); (live == 1) != (pages == 0) {
			t.Errorf("page %d is live: %d", pages, live)
		}
	}
	if len(seen) != 1203 || pages != 2 { // of the first four events, two are of one row, and one makes two
		t.Errorf("%d rows on %d pages", len(seen), pages)
	}
}

// R: UI, K2 — the list says what goes on, what went wrong, and how many.
func TestTheListSaysWhatGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	worker.ask("query_db", `{}`, tools.Ready)
	worker.end("query_db", tools.Refuse(tools.Fail(tools.Timeout, "late"), tools.Meta{Attempts: 3}), nil, "")
	waiting := w.question("desk")
	page := w.as("viewer").get("/sessions").markup(t)
	row := page.one("tr#session-" + worker.session.String())
	row.says("Running", "Find order 4711", "DESK", "I look.", "1 failed", "2 repeats", "1 / 200")
	if n := len(row.all("time[data-show=\"since\"]")); n != 1 {
		t.Errorf("%d running clocks", n)
	}
	page.one("tr#session-"+waiting.Session.String()).says("Waiting for a person", "Charged twice")
	page.one("nav.tabs").says("Running 1", "Waiting for a person 1")
	w.as("Otto").get("/sessions").markup(t).one("nav.tabs").says("All Running Waiting for a person Paused")
}

// The budget: what the list of sessions weighs, compressed.
func TestTheListOfSessionsOpensLight(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := sample{}.sessions(ctx)
	for len(p.Rows) < 50 {
		p.Rows = append(p.Rows, p.Rows[len(p.Rows)%4])
	}
	if n := compressed(ctx, t, templates.Sessions(p)); n > 25<<10 {
		t.Errorf("%d bytes, at most 25 KiB", n)
	}
}

// R: P7, F11, A4, S3 — a limit, what people gave beyond it, and what a model is
// no longer sent have their rows, and the meter counts to what holds now.
func TestLimitsAndWhatIsLeftOutHaveTheirRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	limit := func(name string, most int) map[string]any {
		return map[string]any{"name": name, "used": 8, "max": most}
	}
	told := func(code, said string, more map[string]any) sessions.NewEvent {
		data := map[string]any{"code": code, "said": said, "text": "For the model."}
		for k, v := range more {
			data[k] = v
		}
		return sessions.NewEvent{Type: sessions.NoticeGiven, Turn: 1, Step: 1, Data: data}
	}
	worker.tell(
		told("limit_near", "", map[string]any{"limit": limit("calls", 10)}),
		told("limit", "", map[string]any{"limit": limit("calls", 10)}),
		told("limit_answered", "raise-half", map[string]any{"limit": limit("calls", 4711)}),
		told("limit_answered", "finish-now", map[string]any{"limit": limit("tokens", 10)}),
		told("model_useless", "", nil),
		told("model_answered", "try-again", nil),
		told("model_answered", "stop", nil),
		told("left_out", "", map[string]any{"left": 12}),
	)
	at := templates.SessionURL(worker.session.String())
	page := w.as("supervisor").get(at).markup(t)
	for i, says := range []string{"a limit is near", "A limit is used up", "got more than its limit", "to finish with what there is",
		"held nothing to do", "asked again", "stopped here", "oldest 12 results"} {
		page.one(fmt.Sprintf("li#event-%d", i+2)).says(says)
	}
	page.one("main").says("4,711")
}

// R: S2 — what the model is told first is shown word for word, with its version,
// to those who look at a session closely, and to no other team.
func TestTheSystemPromptIsShownAsItIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	agent, err := w.deps.Definitions.Get(t.Context(), auth.CLI("root"), "desk", 0)
	if err != nil {
		t.Fatal(err)
	}
	at := templates.PromptURL(worker.session.String())
	session := w.as("supervisor").get(templates.SessionURL(worker.session.String())).markup(t)
	session.one("aside a[href=\"" + at + "\"]").says("told first")
	for lang, words := range map[string][2]string{"en": {"Contract, version 7.", "Instructions of DESK, version 1."}, "zh-Hans": {"约定版本 7", "DESK 的指令，版本 1"}} {
		reply := w.as("viewer").get(at, "Accept-Language", lang)
		reply.markup(t).one("div.page-body").says(words[0], words[1])
		if want := ">" + html.EscapeString("The contract.\n"+agent.Agent.Instructions) + "</pre>"; !strings.Contains(reply.body, want) {
			t.Errorf("%s: it lacks %q", lang, want)
		}
	}
	if status := w.as("Otto").get(at).status; status != http.StatusNotFound {
		t.Errorf("another team gets %d", status)
	}
}
