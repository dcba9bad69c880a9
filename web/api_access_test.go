package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/tools"
	"baton/web/api"
)

// target is what a team has for the operations to be tried on.
type target struct {
	world
	team, agent string
	session     id.Session
	call        id.Call
	question    escalation.Escalation // answered, and gone out
	decision    string
	decider     program // of the team, who answers what is to be taken back
}

func (w world) target(team, agent string) target {
	w.t.Helper()
	session := w.start(agent)
	worker := w.work(session)
	call := worker.ask("query_db", `{"sql": "select 1"}`, tools.Ready)
	worker.end("query_db", succeeded(w.t, `[1]`), nil, "a\nb\n")
	decider := w.program(map[string]string{"support": "responder", "finance": "Otto"}[team])
	question := w.question(agent)
	answered := decider.choose(question, "leave", 0).ok(w.t, http.StatusOK)
	return target{w, team, agent, session, call, question, object(answered["decision"].(map[string]any)).text("id"), decider}
}

// try is a request of an operation on what a team has.
type try struct {
	path, body string
	// hidden is the answer to one who can't see it: 404, but where the address
	// is nobody's and only the body names something.
	hidden int
}

func (x target) try(t *testing.T, r api.Route) try {
	t.Helper()
	tried := try{hidden: http.StatusNotFound}
	tried.path = strings.Replace(r.Path, "{slug}", x.agent, 1)
	switch {
	case r.Path == "/sessions/{id}/cancel": // after which nothing else can be asked of it
		tried.path = strings.Replace(tried.path, "{id}", x.world.start(x.agent).String(), 1)
	case strings.HasPrefix(r.Path, "/sessions/{id}"):
		tried.path = strings.Replace(tried.path, "{id}", x.session.String(), 1)
	case strings.HasPrefix(r.Path, "/calls/{id}"):
		tried.path = strings.Replace(tried.path, "{id}", x.call.String(), 1)
	case strings.HasPrefix(r.Path, "/tools/{name}"):
		tried.path = strings.Replace(tried.path, "{name}", "http_request", 1)
	case strings.HasPrefix(r.Path, "/decisions/{id}"):
		tried.path = strings.Replace(tried.path, "{id}", x.decision, 1)
	case strings.HasSuffix(r.Path, "/answer"):
		tried.path = strings.Replace(tried.path, "{id}", x.world.question(x.agent).ID.String(), 1)
	case strings.HasSuffix(r.Path, "/undo"):
		held := x.world.question(x.agent)
		x.decider.choose(held, "leave", 600).ok(t, http.StatusOK)
		tried.path = strings.Replace(tried.path, "{id}", held.ID.String(), 1)
	case strings.HasPrefix(r.Path, "/escalations/{id}"):
		tried.path = strings.Replace(tried.path, "{id}", x.question.ID.String(), 1)
	}
	switch r.Method + " " + r.Path {
	case "POST /sessions":
		tried.body, tried.hidden = fmt.Sprintf(`{"agent": %q, "task": "x"}`, x.agent), http.StatusUnprocessableEntity
	case "POST /escalations/{id}/answer":
		tried.body = `{"version": 1, "decision": {"type": "choose", "option_id": "A"}}`
	case "POST /sessions/{id}/messages":
		tried.body = `{"text": "x"}`
	case "PUT /agents/{slug}":
		tried.body, tried.hidden = sourceBody(t, x.agent, x.team, "Help."), http.StatusUnprocessableEntity
	}
	if strings.Contains(tried.path, "{") {
		t.Fatalf("%s %s: no example", r.Method, r.Path)
	}
	return tried
}

func operations() []api.Route {
	return slices.DeleteFunc(api.New(api.Deps{}).Routes(), func(r api.Route) bool { return r.Verb == "" })
}

func write(r api.Route) bool { return r.Method != http.MethodGet }

// list says whether an operation answers with what its caller may see, and so
// refuses nobody who may see anything.
func list(r api.Route) bool { return r.Method == http.MethodGet && !strings.Contains(r.Path, "{") }

// least is the role that appendix E asks for.
func least(t *testing.T, verb auth.Verb) auth.Role {
	t.Helper()
	role, stated := map[auth.Verb]auth.Role{
		auth.ReadSession: auth.Viewer, auth.ReadAgent: auth.Viewer, auth.ReadEscalation: auth.Viewer, auth.ReadDecision: auth.Viewer,
		auth.AnswerEscalation: auth.Responder,
		auth.StartSession:     auth.Supervisor, auth.ControlSession: auth.Supervisor,
		auth.WriteAgent: auth.Admin,
	}[verb]
	if !stated {
		t.Fatalf("no row here says who may do %s", verb)
	}
	return role
}

// R: K2
// case: abuse A13
// case: abuse A14
func TestEachOperationIsForThoseWhoMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours, theirs := w.target("support", "desk"), w.target("finance", "ledger")
	for _, role := range auth.Roles() {
		p := w.program(string(role))
		if role != auth.Viewer {
			ours.decider = p // people take back their own answers
		}
		for _, r := range operations() {
			if r.Verb == auth.ResetTool {
				continue // no team's: TestAnOperatorLetsCallsGoToAServiceAgain
			}
			mine, other := ours.try(t, r), theirs.try(t, r)
			got := p.send(r.Method, mine.path, mine.body)
			if may := slices.Index(auth.Roles(), role) >= slices.Index(auth.Roles(), least(t, r.Verb)); may != (got.status < 300) || !may && got.status != http.StatusForbidden {
				t.Errorf("%s as %s: %d %s", r.Method+" "+mine.path, role, got.status, got.body)
			}
			if list(r) {
				for _, secret := range []string{theirs.session.Digits(), theirs.question.ID.Digits(), theirs.decision, `"` + theirs.agent + `"`} {
					if strings.Contains(got.body, secret) {
						t.Errorf("%s shows %s what is of another team: %s", mine.path, role, got.body)
					}
				}
				continue
			}
			if got := p.send(r.Method, other.path, other.body); got.status != other.hidden {
				t.Errorf("%s of another team as %s: %d, want %d\n%s", r.Method+" "+other.path, role, got.status, other.hidden, got.body)
			}
		}
	}
	for sql, want := range map[string]int{
		`select count(*) from sessions where requested_by in ('viewer', 'responder', 'supervisor', 'admin')`: 2, // by the last two
		`select count(*) from agent_versions`: 2,
		`select count(*) from decisions d join teams t on t.id = d.team_id where t.slug = 'finance' and d.decided_by_name <> 'Otto'`: 0,
		`select count(*) from decisions where decided_by_name = 'viewer'`:                                                            0,
	} {
		if n := count(t, w.db, sql); n != want {
			t.Errorf("%d, want %d: %s", n, want, sql)
		}
	}
	if n := count(t, w.db, `select count(*) from session_events where session_id = $1`, theirs.session); n != 3 {
		t.Errorf("another team's session has %d events, want 3", n)
	}
	// Each refusal is on record: three roles short of admin, and so on down.
	refused := 0
	for _, role := range auth.Roles() {
		for _, r := range operations() {
			if r.Verb == auth.ResetTool {
				continue
			}
			if slices.Index(auth.Roles(), role) < slices.Index(auth.Roles(), least(t, r.Verb)) {
				refused++
			}
		}
	}
	if n := count(t, w.db, `select count(*) from audit where note = 'refused'`); n != refused {
		t.Errorf("%d refusals on record, want %d", n, refused)
	}
}

// R: K2
// case: abuse A15
func TestAKeyIsAtMostItsScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.target("support", "desk")
	ours.decider = w.program("admin")
	needs := map[auth.Verb]auth.Scope{
		auth.ReadSession: auth.ScopeSessionRead, auth.ReadAgent: auth.ScopeSessionRead,
		auth.StartSession: auth.ScopeSessionStart, auth.ControlSession: auth.ScopeSessionControl, auth.WriteAgent: auth.ScopeAgentWrite,
		auth.ReadEscalation: auth.ScopeEscalationRead, auth.AnswerEscalation: auth.ScopeEscalationAnswer, auth.ReadDecision: auth.ScopeDecisionRead, auth.ResetTool: auth.ScopeAdmin,
	}
	for _, scope := range auth.PersonScopes() {
		p := w.program("admin", scope)
		for _, r := range operations() {
			mine := ours.try(t, r)
			got := p.send(r.Method, mine.path, mine.body)
			switch may := scope == auth.ScopeAll || scope == needs[r.Verb]; {
			case may && got.status >= 300 && r.Verb != auth.ResetTool: // the key may, its owner may not
				t.Errorf("%s %s with %s: %d %s", r.Method, mine.path, scope, got.status, got.body)
			case !may:
				if said := got.refused(t, http.StatusForbidden, "scope_missing", ""); !strings.Contains(said["detail"].(string), string(needs[r.Verb])) {
					t.Errorf("%s %s with %s: %q doesn't name %s", r.Method, mine.path, scope, said["detail"], needs[r.Verb])
				}
			}
		}
	}
}

// R: I2, K6
// case: abuse A14
func TestAnAgentsKeyReachesNothingOfThePeoplesAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.target("support", "desk")
	key, err := w.accounts.CreateKey(t.Context(), auth.CLI("root"), auth.NewKey{Agent: "desk", Team: "support", Scopes: auth.AgentScopes()})
	if err != nil {
		t.Fatal(err)
	}
	p := program{w.house, key}
	for _, r := range operations() {
		if r.Verb == auth.ReadEscalation {
			continue // its own it may read: see the tests of escalations
		}
		mine := ours.try(t, r)
		p.send(r.Method, mine.path, mine.body).refused(t, http.StatusForbidden, "agent_not_allowed", "")
	}
}

// R: K1
// case: abuse A15
func TestKeysThatAreNoneAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.target("support", "desk")
	revoked, expired, good := w.program("admin"), w.program("admin"), w.program("admin")
	end := func(key, column string) {
		if _, err := w.db.Exec(t.Context(), `update api_keys set `+column+` = now() - interval '1 s' where hint = '…' || right($1, 4)`, key); err != nil {
			t.Fatal(err)
		}
	}
	end(revoked.key, "revoked_at")
	end(expired.key, "expires_at")
	login := w.login("Lena", auth.Admin)
	nobody := program{h: w.house}
	for _, r := range operations() {
		mine := ours.try(t, r)
		for name, a := range map[string]answer{
			"revoked":  revoked.send(r.Method, mine.path, mine.body),
			"expired":  expired.send(r.Method, mine.path, mine.body),
			"mistyped": program{w.house, good.key[:len(good.key)-1] + "0"}.send(r.Method, mine.path, mine.body),
			// A bad key isn't made good by a cookie.
			"mistyped, beside a cookie": program{w.house, "nonsense"}.send(r.Method, mine.path, mine.body, "Cookie", w.loginCookie()+"="+login, "Origin", w.server.URL),
			"of another scheme":         nobody.send(r.Method, mine.path, mine.body, "Authorization", "Basic "+good.key),
		} {
			a.refused(t, http.StatusUnauthorized, "key_invalid", "")
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s key: no word about how to come in", name)
			}
		}
		nobody.send(r.Method, mine.path, mine.body).refused(t, http.StatusUnauthorized, "key_missing", "")
		for _, query := range []string{"?key=" + good.key, "?access_token=x", "?q=" + url.QueryEscape("Bearer "+good.key)} {
			nobody.send(r.Method, mine.path+query, mine.body).refused(t, http.StatusUnauthorized, "key_in_query", "")
			good.send(r.Method, mine.path+query, mine.body).refused(t, http.StatusUnauthorized, "key_in_query", "")
		}
	}
	if strings.Contains(w.log.String(), good.key) {
		t.Error("a key is in the log")
	}
	if n := count(t, w.db, `select count(*) from sessions where task = 'x'`); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

// R: K3
// case: abuse A06
func TestABrowserChangesThingsOnlyFromBatonsOwnPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.target("support", "desk")
	cookie := w.loginCookie() + "=" + w.login("Lena", auth.Admin)
	w.add("Lena", auth.Admin, "support")
	p := program{h: w.house}
	for _, r := range operations() {
		mine := ours.try(t, r)
		if !write(r) {
			p.send(r.Method, mine.path, "", "Cookie", cookie).ok(t, http.StatusOK)
			continue
		}
		body := mine.body
		if body == "" {
			body = "{}"
		}
		for name, headers := range map[string][]string{
			"silent":            nil,
			"of another site":   {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
			"of a sibling host": {"Origin", "http://sub.127.0.0.1", "Sec-Fetch-Site", "same-site"},
			"of no origin":      {"Origin", "null", "Sec-Fetch-Site", "cross-site"},
			"as a form":         {"Origin", "https://evil.example", "Content-Type", "text/plain"},
		} {
			a := p.send(r.Method, mine.path, body, append([]string{"Cookie", cookie}, headers...)...)
			code := "cross_origin"
			if name == "silent" {
				code = "origin_missing"
			}
			if a.refused(t, http.StatusForbidden, code, ""); t.Failed() {
				t.Fatalf("%s, %s", mine.path, name)
			}
		}
	}
	if n := count(t, w.db, `select count(*) from session_events where session_id = $1`, ours.session); n != 3 {
		t.Errorf("%d events", n)
	}
	if n := count(t, w.db, `select count(*) from decisions where decided_by_name = 'Lena'`) + count(t, w.db, `select count(*) from sessions where task = 'x'`); n != 0 {
		t.Errorf("%d rows", n)
	}
	all := operations()
	slices.SortStableFunc(all, func(a, b api.Route) int { // a session that is being cancelled takes nothing more
		return cmp.Compare(strings.Count(a.Path, "/cancel"), strings.Count(b.Path, "/cancel"))
	})
	for _, r := range all {
		if mine := ours.try(t, r); write(r) {
			a := p.send(r.Method, mine.path, mine.body, "Cookie", cookie, "Origin", w.server.URL, "Sec-Fetch-Site", "same-origin")
			if a.status >= 300 && r.Verb != auth.ResetTool { // it is an operator's
				t.Errorf("from its own page, %s %s: %d %s", r.Method, mine.path, a.status, a.body)
			}
		}
	}
}

// R: I1
func TestEachOperationTakesTheParametersOfItsDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.target("support", "desk")
	p := w.program("admin")
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range operations() {
		mine := ours.try(t, r)
		said := p.send(r.Method, mine.path+"?nonsense=1", mine.body).refused(t, http.StatusUnprocessableEntity, "parameter_unknown", "nonsense")
		known, _ := said["params"].(map[string]any)["known"].(string)
		taken := slices.DeleteFunc(strings.Split(known, ", "), func(s string) bool { return s == "—" }) // none
		slices.Sort(taken)
		if declared := c.queryOf(r.Method, mine.path); !slices.Equal(taken, declared) {
			t.Errorf("%s %s takes %v, and the document has %v", r.Method, r.Path, taken, declared)
		}
	}
}

// R: I1
func TestAddressesAndMethodsThatAreNoneAreSaidSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("admin")
	p.get("/nothing").refused(t, http.StatusNotFound, "address_unknown", "")
	p.get("/sessions/").refused(t, http.StatusNotFound, "address_unknown", "")
	p.send(http.MethodDelete, "/sessions", "").refused(t, http.StatusMethodNotAllowed, "method_unknown", "")
	p.get("/sessions/ses_1/cancel").refused(t, http.StatusMethodNotAllowed, "method_unknown", "")
	big := `{"agent": "desk", "task": "` + strings.Repeat("x", 1<<20) + `"}`
	p.post("/sessions", big).refused(t, http.StatusRequestEntityTooLarge, "too_large", "")
	p.post("/sessions", `{"agent": "desk", "task": "x"}`, "Content-Type", "text/plain").refused(t, http.StatusUnsupportedMediaType, "media_type_unsupported", "Content-Type")
	p.post("/sessions", `{"agent": "desk", "task": "x", "Task": "y"}`).refused(t, http.StatusUnprocessableEntity, "field_repeated", "/Task")
}

// Whoever tries the bare address is led on, with a key or without.
// R: I1
func TestTheBareAddressOfTheAPILeadsToWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nobody, p := program{h: w.house}, w.program("admin")
	if bare, slash := w.browser().get(api.Prefix), nobody.get("/"); bare.status != http.StatusOK || bare.body != slash.body {
		t.Errorf("without the slash at the end: %d %s", bare.status, bare.body)
	}
	index := nobody.get("/").ok(t, http.StatusOK)
	under := func(address any) string {
		path, ok := strings.CutPrefix(fmt.Sprint(address), api.Prefix)
		if !ok {
			t.Errorf("%q leads out of the API", address)
		}
		return path
	}
	if document := nobody.get(under(index["document"])).ok(t, http.StatusOK); document["openapi"] != "3.1.0" {
		t.Errorf("the document: %v", document["openapi"])
	}
	lists, _ := index["lists"].(map[string]any)
	for name, address := range lists {
		if _, ok := p.get(under(address)).ok(t, http.StatusOK)["items"].([]any); !ok {
			t.Errorf("%s at %v is no list", name, address)
		}
	}
	if len(lists) != 4 {
		t.Errorf("%d lists, want 4", len(lists))
	}
}

// What the API says of itself is said to programs: nothing of pages, buttons
// and inboxes.
// R: I1, K3
func TestTheAPISpeaksToProgramsOfKeysAndNotOfPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bot, err := w.accounts.CreateKey(t.Context(), auth.CLI("root"), auth.NewKey{Agent: "desk", Team: "support", Scopes: auth.AgentScopes()})
	if err != nil {
		t.Fatal(err)
	}
	p := w.program("admin", auth.ScopeDecisionRead)
	for name, a := range map[string]answer{
		"no key":         program{h: w.house}.get("/sessions"),
		"an agent's key": program{w.house, bot}.get("/sessions"),
		"a narrow key":   p.get("/sessions"),
		"no address":     p.get("/nothing"),
		"no method":      p.send(http.MethodDelete, "/sessions", ""),
	} {
		var said struct{ Title, Detail, Hint string }
		if err := json.Unmarshal([]byte(a.body), &said); err != nil || a.status < 400 {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		for _, word := range []string{"page", "button", "inbox", "browser", "sign in", "signed in", "your role", "…."} {
			if text := strings.ToLower(said.Title + " " + said.Detail + " " + said.Hint); strings.Contains(text, word) {
				t.Errorf("%s: %q in %s", name, word, text)
			}
		}
	}
	if hint := p.send(http.MethodDelete, "/sessions", "").body; !strings.Contains(hint, "GET") || !strings.Contains(hint, "POST") {
		t.Errorf("the methods that are there aren't named: %s", hint)
	}
}
