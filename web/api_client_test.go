package web

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/web/api"
)

// program is a client of the API. Every reply that it gets is held to the
// document; so is every body of a request that was accepted.
type program struct {
	h   *house
	key string // empty: nobody
}

// answer is a reply of the API.
type answer struct {
	status int
	header http.Header
	body   string
}

// program is a client with a key of the person's.
func (h *house) program(person string, scopes ...auth.Scope) program {
	h.t.Helper()
	if len(scopes) == 0 {
		scopes = []auth.Scope{auth.ScopeAll}
	}
	key, err := h.accounts.CreateKey(h.t.Context(), auth.CLI("root"), auth.NewKey{Person: person, Scopes: scopes})
	if err != nil {
		h.t.Fatal(err)
	}
	return program{h, key}
}

func (p program) get(path string, headers ...string) answer {
	p.h.t.Helper()
	return p.send(http.MethodGet, path, "", headers...)
}

func (p program) post(path, body string, headers ...string) answer {
	p.h.t.Helper()
	return p.send(http.MethodPost, path, body, headers...)
}

func (p program) put(path, body string, headers ...string) answer {
	p.h.t.Helper()
	return p.send(http.MethodPut, path, body, headers...)
}

// send asks below the API's prefix. A header with an empty value is left out.
func (p program) send(method, path, body string, headers ...string) answer {
	t := p.h.t
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.h.server.URL+api.Prefix+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
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
	a := answer{res.StatusCode, res.Header, string(text)}
	if err := conforms(method, strings.Split(path, "?")[0], body, a); err != nil {
		t.Errorf("%s %s: %v\n%d %s", method, path, err, a.status, a.body)
	}
	return a
}

// ok fails the test unless the status is the wanted one, and reads the body.
func (a answer) ok(t *testing.T, status int) object {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d\n%s", a.status, status, a.body)
	}
	return read[object](t, a.body)
}

// refused checks that the reply is a problem with this status, code and field.
func (a answer) refused(t *testing.T, status int, code, field string) object {
	t.Helper()
	p := read[object](t, a.body)
	got, _ := p["field"].(string)
	if a.status != status || p["code"] != code || got != field {
		t.Errorf("%d %v at %q, want %d %s at %q\n%s", a.status, p["code"], got, status, code, field, a.body)
	}
	return p
}

// object is a JSON object.
type object map[string]any

func (o object) text(name string) string { s, _ := o[name].(string); return s }

// items are the objects of a list's page, and its cursor.
func (o object) items() (items []object, next string) {
	list, _ := o["items"].([]any)
	for _, i := range list {
		items = append(items, i.(map[string]any))
	}
	return items, o.text("next_cursor")
}

func read[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}
