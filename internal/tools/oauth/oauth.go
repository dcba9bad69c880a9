package oauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"baton/internal/postgres"
	"baton/internal/safehttp"
	"baton/internal/secrets"
	"baton/internal/tools"
)

const (
	ahead    = time.Minute            // a token is renewed when it has less left
	claim    = 30 * time.Second       // how long a renewal may take until another server tries
	askAgain = 100 * time.Millisecond // while another server renews
	// unsaid is how long a token is taken to be valid of which the server doesn't say.
	unsaid = 5 * time.Minute
)

// Client is one entry of baton.yaml: who we are to an authorization server.
type Client struct {
	Name     string
	TokenURL string
	ID       string
	Secret   string
	Scopes   []string
	Audience string // for servers that want one; empty: none
}

// digest is of all that a grant was given for.
func (c Client) digest() []byte {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.TokenURL, c.ID, c.Secret, strings.Join(c.Scopes, " "), c.Audience}, "\x00")))
	return sum[:]
}

// Grants are the tokens of this installation. Safe for concurrent use.
type Grants struct {
	db   postgres.DB
	ring *secrets.Keyring
}

// NewGrants keeps tokens in db, sealed with ring.
func NewGrants(db postgres.DB, ring *secrets.Keyring) *Grants { return &Grants{db, ring} }

// Token is a valid access token. reach gets to the authorization server. An error
// is a *tools.Failure, and nothing was sent to the service itself.
func (g *Grants) Token(ctx context.Context, c Client, reach *safehttp.Client) (string, error) {
	for {
		token, left, err := g.find(ctx, c)
		if err != nil {
			return "", err
		}
		if left > ahead {
			return token, nil
		}
		mine, err := g.claim(ctx, c)
		switch {
		case err != nil:
			return "", err
		case mine:
			fresh, err := g.renew(ctx, c, reach)
			if err != nil && left > 0 {
				return token, nil // it is still good; the next call tries again
			}
			return fresh, err
		case left > 0:
			return token, nil
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return "", tools.Classify(context.Cause(ctx))
		}
	}
}

const sqlFindGrant = `
select access_token, coalesce(extract(epoch from expires_at - now()), 0)::float8 from oauth_grants where name = $1 and client = $2`

// find is the token on record and how long it is valid; none is no error.
func (g *Grants) find(ctx context.Context, c Client) (token string, left time.Duration, err error) {
	var sealed []byte
	var seconds float64
	err = g.db.QueryRow(ctx, sqlFindGrant, c.Name, c.digest()).Scan(&sealed, &seconds)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && sealed == nil {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("find grant %s: %w", c.Name, err)
	}
	clear, err := g.ring.Open(sealed, bound(c.Name))
	if err != nil {
		return "", 0, nil //nolint:nilerr // sealed with a key that is gone: a new one is asked for
	}
	return string(clear), time.Duration(seconds * float64(time.Second)), nil
}

func bound(name string) string { return "oauth grant " + name }

const sqlClaimGrant = `
insert into oauth_grants as g (name, client, claimed_until) values ($1, $2, now() + make_interval(secs => $3))
on conflict (name) do update set claimed_until = excluded.claimed_until, client = excluded.client,
    access_token = case when g.client = excluded.client then g.access_token end,
    expires_at = case when g.client = excluded.client then g.expires_at end
where (g.claimed_until is null or g.claimed_until < now())
  and (g.client <> excluded.client or g.expires_at is null or g.expires_at <= now() + make_interval(secs => $4))`

// claim gets the right to renew, if nobody has it and nobody has renewed meanwhile.
func (g *Grants) claim(ctx context.Context, c Client) (bool, error) {
	tag, err := g.db.Exec(ctx, sqlClaimGrant, c.Name, c.digest(), claim.Seconds(), ahead.Seconds())
	if err != nil {
		return false, fmt.Errorf("claim grant %s: %w", c.Name, err)
	}
	return tag.RowsAffected() == 1, nil
}

const (
	sqlStoreGrant = `
update oauth_grants set access_token = $3, expires_at = now() + make_interval(secs => $4), claimed_until = null where name = $1 and client = $2`
	sqlReleaseGrant = `
update oauth_grants set claimed_until = null where name = $1 and client = $2`
)

// renew asks the authorization server and stores what it grants.
func (g *Grants) renew(ctx context.Context, c Client, reach *safehttp.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, claim-time.Second) // nobody else asks meanwhile
	defer cancel()
	config := clientcredentials.Config{ClientID: c.ID, ClientSecret: c.Secret, TokenURL: c.TokenURL, Scopes: c.Scopes}
	if c.Audience != "" {
		config.EndpointParams = url.Values{"audience": {c.Audience}}
	}
	granted, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, reach.HTTP()))
	if err != nil {
		_, _ = g.db.Exec(context.WithoutCancel(ctx), sqlReleaseGrant, c.Name, c.digest()) // else the claim ends by itself
		return "", refused(c, err)
	}
	valid := unsaid
	if !granted.Expiry.IsZero() {
		valid = time.Until(granted.Expiry)
	}
	sealed := g.ring.Seal([]byte(granted.AccessToken), bound(c.Name))
	if _, err := g.db.Exec(ctx, sqlStoreGrant, c.Name, c.digest(), sealed, valid.Seconds()); err != nil {
		return "", fmt.Errorf("store grant %s: %w", c.Name, err)
	}
	return granted.AccessToken, nil
}

// refused says why there is no token. The service was not called.
func refused(c Client, err error) error {
	said, answered := errors.AsType[*oauth2.RetrieveError](err)
	var f *tools.Failure
	switch {
	case answered && said.Response != nil && said.Response.StatusCode >= 500:
		f = tools.Fail(tools.Unavailable, fmt.Sprintf("The authorization server of %s answered %d.", c.Name, said.Response.StatusCode))
	case answered:
		why := said.ErrorCode
		if why == "" && said.Response != nil {
			why = said.Response.Status
		}
		f = tools.Fail(tools.PermissionDenied, fmt.Sprintf("The authorization server of %s grants nothing (%s).", c.Name, why),
			"Go on without this tool, or report that an operator has to renew its access.")
		f.Causes = []string{"The client's id or secret is wrong or was withdrawn, or it may not have these scopes."}
	default:
		f = tools.Classify(err)
		f.Message = fmt.Sprintf("The authorization server of %s can't be asked for access.", c.Name)
	}
	f.NotSent, f.Unsure = true, false
	return f.Because(err)
}
