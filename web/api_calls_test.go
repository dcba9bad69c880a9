package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"baton/internal/sessions"
	"baton/internal/tools"
)

// R: O1, I1
func TestACallIsShownFromTheMomentItIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	p := w.program("viewer")
	for verdict, want := range map[tools.Verdict]string{tools.Ready: "started", tools.Awaiting: "awaiting_approval", tools.Held: "requested"} {
		name := worker.ask("query_db", `{"sql": "select 9007199254740993"}`, verdict)
		c := p.get("/calls/"+name.String()).ok(t, http.StatusOK)
		if c["status"] != want || c["result"] != nil || c["ended_at"] != nil || (c["started_at"] != nil) != (verdict == tools.Ready) {
			t.Errorf("%s: %v", verdict, c)
		}
		p.get("/calls/"+name.String()+"/output").refused(t, http.StatusNotFound, "output_missing", "")
	}
	name := worker.ask("query_db", `{"sql": "select 9007199254740993"}`, tools.Held)
	worker.write(sessions.Step{Events: []sessions.NewEvent{{Type: sessions.CallStarted, Turn: 1, Step: worker.steps, Call: name.N}}})
	if c := p.get("/calls/"+name.String()).ok(t, http.StatusOK); c["status"] != "started" || c["started_at"] == nil {
		t.Errorf("started by an event: %v", c)
	}
	worker.end("query_db", succeeded(t, `{"rows": [[9007199254740993]]}`), nil, "")
	a := p.get("/calls/" + name.String())
	c := a.ok(t, http.StatusOK)
	if c["status"] != "succeeded" || c["tool"] != "query_db" || c["reason"] != "to find it" || c["permission_mode"] != "ask" || c["retries"] != 0.0 || c["output_bytes"] != 99.0 {
		t.Errorf("ended: %v", c)
	}
	if strings.Count(a.body, "9007199254740993") != 2 {
		t.Errorf("numbers are others now: %s", a.body)
	}
	if attempts, _ := c["attempts"].([]any); len(attempts) != 1 {
		t.Errorf("attempts of a plain success: %v", c["attempts"])
	}
	if before, _ := c["preceding"].([]any); len(before) != 3 || before[2] != "call_"+worker.session.Digits()+"_3" {
		t.Errorf("preceding: %v", c["preceding"])
	}
}

// R: O1, S1, I1
func TestAFailedCallHasItsAttemptsAndItsError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	name := worker.ask("http_request", `{"url": "http://shop/orders"}`, tools.Ready)
	at := time.Now()
	attempts := []tools.Attempt{
		{N: 1, StartedAt: at, DurationMS: 5, ErrorType: tools.Unavailable},
		{N: 2, StartedAt: at.Add(time.Second), DurationMS: 6, ErrorType: tools.Unavailable, WaitMS: 995},
	}
	worker.end("http_request", tools.Refuse(tools.Fail(tools.Unavailable, "The shop does not answer.").With("status", 503), tools.Meta{DurationMS: 11, Attempts: 2}), attempts, "")
	p := w.program("viewer")
	c := p.get("/calls/"+name.String()).ok(t, http.StatusOK)
	result := object(c["result"].(map[string]any))
	if c["status"] != "failed" || c["error_type"] != "unavailable" || c["retries"] != 1.0 || len(c["attempts"].([]any)) != 2 ||
		result["message"] != "The shop does not answer." || result["retryable"] != "yes" || result["class"] != "execution_error" {
		t.Errorf("%v", c)
	}
	out := p.get("/calls/"+name.String()+"/output").ok(t, http.StatusOK)
	if out["text"] != "The shop does not answer." {
		t.Errorf("output %v", out)
	}
}

// R: I1
func TestListsOfCallsComeWithoutData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	for range 3 {
		worker.ask("query_db", `{"sql": "select 1"}`, tools.Ready)
		worker.end("query_db", succeeded(t, `"much text"`), nil, "")
	}
	worker.ask("query_db", `{"sql": "select 1"}`, tools.Ready)
	p := w.program("viewer")
	at := "/sessions/" + worker.session.String() + "/calls?limit=2"
	var seen []string
	for path := at; path != ""; {
		a := p.get(path)
		items, next := a.ok(t, http.StatusOK).items()
		if strings.Contains(a.body, "much text") {
			t.Errorf("a list has data: %s", a.body)
		}
		for _, c := range items {
			status := c.text("status")
			if result, ended := c["result"].(map[string]any); ended {
				status += " " + result["status"].(string)
			}
			seen = append(seen, status)
		}
		path = ""
		if next != "" {
			path = at + "&cursor=" + next
		}
	}
	if got := fmt.Sprint(seen); got != "[succeeded success succeeded success succeeded success started]" {
		t.Errorf("calls %s", got)
	}
}

// R: F9, K2
func TestTheWholeOutputIsForSupervisors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	name := worker.ask("shell", `{}`, tools.Ready)
	worker.end("shell", succeeded(t, `"line 0\n… 8 lines left out …\nline 9\n"`), nil,
		"line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n")
	at := "/calls/" + name.String() + "/output"
	boss := w.program("supervisor")
	var text string
	pages := 0
	for path := at + "?limit=4"; path != ""; pages++ {
		o := boss.get(path).ok(t, http.StatusOK)
		if o["complete"] != true {
			t.Errorf("%v", o)
		}
		text += o.text("text")
		path = ""
		if next, more := o["next_offset"].(float64); more {
			path = fmt.Sprintf("%s?limit=4&offset=%d", at, int(next))
		}
	}
	if pages != 3 || text != "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n" {
		t.Errorf("%d pages: %q", pages, text)
	}
	if o := boss.get(at+"?offset=99").ok(t, http.StatusOK); o["text"] != "" || o["next_offset"] != nil || o["lines"] != 0.0 {
		t.Errorf("behind the last line: %v", o)
	}
	if o := boss.get(at+"?offset=7&limit=1").ok(t, http.StatusOK); o["text"] != "line 7\n" || o["next_offset"] != 8.0 {
		t.Errorf("line 7: %v", o)
	}
	viewer := w.program("viewer")
	if o := viewer.get(at).ok(t, http.StatusOK); o["complete"] != false || !strings.Contains(o.text("text"), "left out") || o["next_offset"] != nil {
		t.Errorf("a viewer's: %v", o)
	}
	viewer.get(at+"?offset=1").refused(t, http.StatusForbidden, "not_allowed", "")
	if n := count(t, w.db, `select count(*) from audit where verb = 'session.read_full' and note = 'refused'`); n != 1 {
		t.Errorf("%d refusals on record", n)
	}
	for query, field := range map[string]string{"offset=-1": "offset", "limit=0": "limit", "limit=2001": "limit", "offset=1.5": "offset"} {
		boss.get(at+"?"+query).refused(t, http.StatusUnprocessableEntity, "parameter_invalid", field)
	}
}

// R: F9
func TestAnOutputThatIsWholeInTheResultIsPagedByLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	name := worker.ask("shell", `{}`, tools.Ready)
	worker.end("shell", succeeded(t, `"a\nb\nc"`), nil, "")
	p := w.program("viewer")
	at := "/calls/" + name.String() + "/output"
	for query, want := range map[string]string{"": "a\nb\nc", "?offset=1": "b\nc", "?offset=1&limit=1": "b\n", "?offset=2": "c", "?offset=3": ""} {
		if o := p.get(at+query).ok(t, http.StatusOK); o["text"] != want || o["complete"] != true {
			t.Errorf("%q: %v", query, o)
		}
	}
}

func TestCallsThatAreNotThereAreNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	p := w.program("viewer")
	for _, name := range []string{"call_1", "call_" + session.Digits() + "_1", "call_" + session.Digits() + "_0", "call_" + session.Digits() + "_99999999999999999999", "call_" + session.Digits() + "_2147483648"} {
		p.get("/calls/"+name).refused(t, http.StatusNotFound, "call_not_found", "")
		p.get("/calls/"+name+"/output").refused(t, http.StatusNotFound, "call_not_found", "")
	}
}
