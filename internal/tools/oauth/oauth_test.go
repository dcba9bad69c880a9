package oauth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"

	"baton/internal/postgres/pgtest"
	"baton/internal/safehttp"
	"baton/internal/secrets"
	"baton/internal/tools"
	"baton/internal/tools/oauth"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// authorization is a real authorization server, whose answers are counted and can
// be held back.
type authorization struct {
	*httptest.Server
	reach   *safehttp.Client
	granted atomic.Int64
	down    atomic.Bool
}

func newAuthorization(t *testing.T) *authorization {
	t.Helper()
	a := &authorization{}
	var provider atomic.Pointer[http.Handler]
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			a.granted.Add(1)
			if a.down.Load() {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
		}
		(*provider.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	var err error
	if a.reach, err = safehttp.New(safehttp.Options{Hosts: []safehttp.Host{{Name: a.Listener.Addr().String(), AllowPrivate: true}}}); err != nil {
		t.Fatal(err)
	}
	var handler http.Handler = exampleop.SetupServer(a.URL, storage.NewStorage(storage.NewUserStore(a.URL)), nil, false, op.WithAllowInsecure())
	provider.Store(&handler)
	return a
}

func (a *authorization) client() oauth.Client {
	return oauth.Client{Name: "orders", TokenURL: a.URL + "/oauth/token", ID: "sid1", Secret: "verysecret", Scopes: []string{"openid"}}
}

func newGrants(t *testing.T) (*pgxpool.Pool, *oauth.Grants, *oauth.Grants) {
	t.Helper()
	pool := pgtest.New(t)
	ring, err := secrets.NewKeyring(secrets.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return pool, oauth.NewGrants(pool, ring), oauth.NewGrants(pool, ring)
}

func endsIn(t *testing.T, pool *pgxpool.Pool, seconds int) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), `update oauth_grants set expires_at = now() + make_interval(secs => $1)`, seconds); err != nil {
		t.Fatal(err)
	}
}

// Many calls on two servers need one token, and ask for it once.
// R: T11, K5
func TestATokenIsAskedForOnceByAllServers(t *testing.T) {
	t.Parallel()
	a := newAuthorization(t)
	pool, one, two := newGrants(t)
	ask := func() map[string]int {
		t.Helper()
		var mu sync.Mutex
		tokens := map[string]int{}
		var calls sync.WaitGroup
		for i := range 16 {
			calls.Go(func() {
				token, err := []*oauth.Grants{one, two}[i%2].Token(t.Context(), a.client(), a.reach)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				tokens[token]++
				mu.Unlock()
			})
		}
		calls.Wait()
		return tokens
	}
	first := ask()
	if len(first) != 1 || a.granted.Load() != 1 {
		t.Fatalf("%d tokens, asked %d times", len(first), a.granted.Load())
	}
	// Near its end one renews, and nobody waits or goes without.
	endsIn(t, pool, 30)
	if tokens := ask(); len(tokens) > 2 || a.granted.Load() != 2 {
		t.Errorf("%d tokens, asked %d times", len(tokens), a.granted.Load())
	}
	endsIn(t, pool, -1)
	if tokens := ask(); len(tokens) != 1 || a.granted.Load() != 3 {
		t.Errorf("%d tokens, asked %d times", len(tokens), a.granted.Load())
	}
	var sealed []byte
	if err := pool.QueryRow(t.Context(), `select access_token from oauth_grants`).Scan(&sealed); err != nil {
		t.Fatal(err)
	}
	for token := range ask() {
		if len(token) < 20 || strings.Contains(string(sealed), token) {
			t.Errorf("the token %q stands in the database", token)
		}
	}
}

// R: T11, E6, E5
func TestWhatIsNotGrantedIsSaidWithItsReason(t *testing.T) {
	t.Parallel()
	a := newAuthorization(t)
	pool, grants, _ := newGrants(t)
	wrong := a.client()
	wrong.Secret = "guessed-0123456789"
	_, err := grants.Token(t.Context(), wrong, a.reach)
	f, ok := tools.AsFailure(err)
	if !ok || f.Type != tools.PermissionDenied || !f.NotSent || strings.Contains(f.Error(), "guessed") {
		t.Errorf("%v", err)
	}
	good, err := grants.Token(t.Context(), a.client(), a.reach)
	if err != nil {
		t.Fatal(err)
	}
	// A server that is down ends nothing while the token is good.
	a.down.Store(true)
	endsIn(t, pool, 30)
	if token, err := grants.Token(t.Context(), a.client(), a.reach); err != nil || token != good {
		t.Errorf("%q, %v", token, err)
	}
	endsIn(t, pool, -1)
	_, err = grants.Token(t.Context(), a.client(), a.reach)
	if f, ok := tools.AsFailure(err); !ok || f.Type != tools.Unavailable || !f.NotSent {
		t.Errorf("%v", err)
	}
	a.down.Store(false)
	if token, err := grants.Token(t.Context(), a.client(), a.reach); err != nil || token == good {
		t.Errorf("%q, %v", token, err)
	}
	// What was granted to another entry of this name is nobody's.
	endsIn(t, pool, 3000)
	other := a.client()
	other.Scopes = []string{"openid", "profile"}
	before := a.granted.Load()
	if _, err := grants.Token(t.Context(), other, a.reach); err != nil || a.granted.Load() != before+1 {
		t.Errorf("%v; asked %d times", err, a.granted.Load()-before)
	}
}

// A server that ended while it renewed holds the others up for a while, not for
// ever.
// R: T11, A1
func TestARenewalThatWasCutOffIsTakenOver(t *testing.T) {
	t.Parallel()
	a := newAuthorization(t)
	pool, grants, _ := newGrants(t)
	if _, err := grants.Token(t.Context(), a.client(), a.reach); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `update oauth_grants set expires_at = now() - interval '1s', claimed_until = now() + interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() {
		_, err := grants.Token(ctx, a.client(), a.reach)
		waiting <- err
	}()
	if _, err := pool.Exec(t.Context(), `update oauth_grants set claimed_until = now() - interval '1s'`); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil || a.granted.Load() != 2 {
		t.Errorf("%v, asked %d times", err, a.granted.Load())
	}
	if _, err := pool.Exec(t.Context(), `update oauth_grants set expires_at = now() - interval '1s', claimed_until = now() + interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := grants.Token(ctx, a.client(), a.reach); err == nil {
		t.Error("a call that was stopped gets a token")
	}
}
