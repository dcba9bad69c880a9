package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"baton/internal/problem"
)

type sample struct {
	Name  string          `json:"name"`
	Count int             `json:"count"`
	Sure  *bool           `json:"sure"`
	List  []inner         `json:"list"`
	Free  json.RawMessage `json:"free"`
}

type inner struct {
	Word string `json:"word"`
}

func post(contentType, body string) Request {
	r := httptest.NewRequest(http.MethodPost, "/api/v1/samples", strings.NewReader(body))
	r.Body = http.MaxBytesReader(nil, r.Body, 1<<20)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return Request{Request: r}
}

// R: I1
func TestBodiesAreStrict(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for body, want := range map[string]struct {
		code, field string
		kind        problem.Kind
	}{
		``:                                 {"body_missing", "", problem.Malformed},
		`{`:                                {"json_malformed", "", problem.Malformed},
		`{"name": "a"`:                     {"json_malformed", "", problem.Malformed},
		`name=a`:                           {"json_malformed", "", problem.Malformed},
		` `:                                {"json_malformed", "", problem.Malformed},
		`{"name": 'a'}`:                    {"json_malformed", "/name", problem.Malformed},
		`{"name": "a",}`:                   {"json_malformed", "", problem.Malformed},
		`{"name": "` + "\xff" + `"}`:       {"json_malformed", "/name", problem.Malformed},
		`{"name": "\ud800"}`:               {"json_malformed", "/name", problem.Malformed},
		`{"count": 01}`:                    {"json_malformed", "", problem.Malformed},
		`{"count": NaN}`:                   {"json_malformed", "/count", problem.Malformed},
		`{"name": "a"} {"name": "b"}`:      {"json_malformed", "", problem.Malformed},
		`{"name": "a"} x`:                  {"json_malformed", "", problem.Malformed},
		`{"free": ` + deep(maxDepth) + `}`: {"json_too_deep", "/free" + strings.Repeat("/0", maxDepth-1), problem.Malformed},
		`{"free": ` + deep(90_000) + `}`:   {"json_too_deep", "/free" + strings.Repeat("/0", maxDepth-1), problem.Malformed},
		`{"nmae": "a"}`:                    {"field_unknown", "/nmae", problem.Invalid},
		`{"Name": "a"}`:                    {"field_unknown", "/Name", problem.Invalid},
		`{"list": [{}, {"worte": "a"}]}`:   {"field_unknown", "/list/1/worte", problem.Invalid},
		`{"a/b~c": 1}`:                     {"field_unknown", "/a~1b~0c", problem.Invalid},
		`{"name": "a", "name": "b"}`:       {"field_repeated", "/name", problem.Invalid},
		`{"name": "a", "NAME": "b"}`:       {"field_repeated", "/NAME", problem.Invalid},
		`{"name": "a", "n\u0061me": "b"}`:  {"field_repeated", "/name", problem.Invalid},
		`{"free": {"amount": 1, "Amount": 1000}}`: {"field_repeated", "/free/Amount", problem.Invalid},
		`{"free": [{"k": 1, "\u212a": 2}]}`:       {"field_repeated", "/free/0/\u212a", problem.Invalid}, // the Kelvin sign
		`[]`:                                      {"field_type", "", problem.Invalid},
		`"name"`:                                  {"field_type", "", problem.Invalid},
		`{"name": 1}`:                             {"field_type", "/name", problem.Invalid},
		`{"count": "1"}`:                          {"field_type", "/count", problem.Invalid},
		`{"count": 1.5}`:                          {"field_type", "/count", problem.Invalid},
		`{"count": 1e99}`:                         {"field_type", "/count", problem.Invalid},
		`{"sure": "yes"}`:                         {"field_type", "/sure", problem.Invalid},
		`{"list": {}}`:                            {"field_type", "/list", problem.Invalid},
		`{"list": [{"word": []}]}`:                {"field_type", "/list/0/word", problem.Invalid},
	} {
		_, err := post("application/json", body).body(&sample{})
		p, ok := errors.AsType[*problem.Error](err)
		if !ok || p.Code != want.code || p.Field != want.field || p.Kind != want.kind {
			t.Errorf("%.60s: %v, want %s at %q", body, err, want.code, want.field)
		}
	}
}

// R: I1
func TestAGoodBodyIsReadAsItStands(t *testing.T) {
	t.Parallel()
	const body = `{"name": "Zoë", "count": -3, "sure": null, "list": [{"word": "a"}], "free": {"n": 9007199254740993, "k": [1, 1]}}`
	var got sample
	text, err := post("Application/JSON; charset=UTF-8", body).body(&got)
	if err != nil || string(text) != body {
		t.Fatalf("%s, %v", text, err)
	}
	if got.Name != "Zoë" || got.Count != -3 || got.Sure != nil || len(got.List) != 1 || !strings.Contains(string(got.Free), "9007199254740993") {
		t.Errorf("%+v", got)
	}
	if err := scan([]byte(strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth))); err != nil {
		t.Errorf("at the limit of depth: %v", err)
	}
}

// R: I1
// case: abuse A06
func TestBodiesThatAreNotMarkedAsJSONAreRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json", "application/json; charset=latin1", "application/json; ;"} {
		if _, err := post(kind, `{"name": "a"}`).body(&sample{}); !problem.Is(err, "media_type_unsupported") || problem.From(err).Field != "Content-Type" {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

// R: I1
func TestABodyOverTheLimitIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	body := `{"name": "` + strings.Repeat("x", 10<<20) + `"}`
	for name, err := range map[string]error{
		"read":    func() error { _, err := post("application/json", body).body(&sample{}); return err }(),
		"refused": post("application/json", body).noBody(),
	} {
		if _, ok := errors.AsType[*http.MaxBytesError](err); !ok {
			t.Errorf("a body that is %s: %v", name, err)
		}
	}
}

// R: I1
func TestAnUnknownFieldIsRefusedWithThoseThatAreKnown(t *testing.T) {
	t.Parallel()
	err := decode([]byte(`{"list": [{"worte": 1}]}`), &sample{})
	if p := problem.From(err); p.Params["known"] != "word" || p.Params["name"] != "worte" {
		t.Errorf("%v", p)
	}
	err = decode([]byte(`{"`+strings.Repeat("x", 1000)+`": 1}`), &sample{})
	if p := problem.From(err); p.Params["known"] != "count, free, list, name, sure" || len(p.Params["name"].(string)) > 70 {
		t.Errorf("%v", p)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name": "a", "count": 1, "free": {"a": [1, 2, {"b": null}]}}`))
	f.Add([]byte(`{"name": "a", "NAME": "b"}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s sample
		err := decode(text, &s)
		if err == nil && !json.Valid(text) {
			t.Errorf("took %q", text)
		}
		if err != nil && problem.From(err).Kind == problem.Internal {
			t.Errorf("%q: %v", text, err)
		}
	})
}
