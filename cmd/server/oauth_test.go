package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/postgres/pgtest"
	"baton/internal/secrets"
	"baton/internal/tools/oauth"
)

// A declared tool gets its access from a real authorization server, as baton.yaml
// and its own file say, and the service sees the token that was granted.
// R: T11, K5
func TestADeclaredToolIsGrantedItsAccess(t *testing.T) {
	t.Parallel()
	granted := ""
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	provider := exampleop.SetupServer(server.URL, storage.NewStorage(storage.NewUserStore(server.URL)), nil, false, op.WithAllowInsecure())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		provider.ServeHTTP(answer, r)
		var said struct {
			Token string `json:"access_token"`
		}
		if json.Unmarshal(answer.Body.Bytes(), &said) == nil && said.Token != "" {
			granted = said.Token
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
	mux.HandleFunc("/orders/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if granted == "" || r.Header.Get("Authorization") != "Bearer "+granted {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"order":"A-1","token":"`+granted+`"}`)
	})
	installation := definition.Installation{
		Hosts: map[string]definition.Host{strings.TrimPrefix(server.URL, "http://"): {AllowPrivate: true}},
		OAuth: map[string]definition.OAuth{"orders": {TokenURL: server.URL + "/oauth/token", ClientID: "sid1", ClientSecret: "orders_secret", Scopes: []string{"openid"}}},
	}
	tool, faults := definition.ParseTool("read_order.yaml", []byte(`
name: read_order
words: {en: {title: Read an order, sentence: "Read order {order}"}}
description: Reads an order.
params: {order: {type: text}}
effect: read_only
request: {method: GET, url: "`+server.URL+`/orders/{order}"}
auth: {oauth: orders}
`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	pool := pgtest.New(t)
	ring, err := secrets.NewKeyring(secrets.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	values := secrets.NewStore(pool, ring)
	if err := values.Set(t.Context(), auth.CLI("test"), "orders_secret", "verysecret"); err != nil {
		t.Fatal(err)
	}
	b := newToolbox(installation, t.TempDir(), nil, values)
	b.grants = oauth.NewGrants(pool, ring)
	made, err := b.declared(tool)(t.Context(), definition.Version{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := made.Run(t.Context(), json.RawMessage(`{"order":"A-1"}`))
	if err != nil || !strings.Contains(string(out.Data), `"order":"A-1"`) || strings.Contains(string(out.Data), granted) {
		t.Errorf("%s, %v", out.Data, err)
	}
}
