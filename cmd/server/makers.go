package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/definition"
	"baton/internal/mail"
	"baton/internal/safehttp"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
	"baton/internal/tools/declared"
	"baton/internal/tools/httpcall"
	"baton/internal/tools/oauth"
)

// toolMaker binds a tool to what an agent may use.
type toolMaker func(context.Context, definition.Version) (tools.Tool, error)

// makers are those of the tools that come with Baton, and of any others.
func (b *toolbox) makers() map[string]toolMaker {
	all := map[string]toolMaker{
		"query_db":     b.queryDB,
		changeDB:       nil, // see spelledOut
		"read_file":    b.inWorkspace(builtin.ReadFile),
		"write_file":   b.inWorkspace(builtin.WriteFile),
		"edit_file":    b.inWorkspace(builtin.EditFile),
		"glob":         b.inWorkspace(builtin.Glob),
		"grep":         b.inWorkspace(builtin.Grep),
		"shell":        b.inWorkspace(builtin.Shell),
		"http_request": b.httpRequest,
		"web_fetch":    b.webFetch,
		"send_email":   b.sendEmail,
	}
	maps.Copy(all, b.more)
	return all
}

func (b *toolbox) queryDB(ctx context.Context, v definition.Version) (tools.Tool, error) {
	name := v.Agent.DataSource
	source, ok := b.installation.DataSources[name]
	if !ok {
		return nil, fmt.Errorf("the data source %q is not in the configuration", name)
	}
	pool, err := b.source(ctx, name, source.URL, builtin.OpenDataSource)
	if err != nil {
		return nil, err
	}
	return builtin.QueryDB(name, pool)
}

// changeDB is the name that stands for all statements of a data source.
const changeDB = "change_db"

// changeDB makes the tool that runs one statement of the agent's data source.
func (b *toolbox) changeDB(name string) toolMaker {
	return func(ctx context.Context, v definition.Version) (tools.Tool, error) {
		at := v.Agent.DataSource
		source := b.installation.DataSources[at]
		s, ok := source.Statements[name]
		if !ok {
			return nil, fmt.Errorf("the data source %q has no statement %q", at, name)
		}
		pool, err := b.source(ctx, at+" (to change)", source.WriteURL, builtin.OpenWritableSource)
		if err != nil {
			return nil, err
		}
		return builtin.ChangeDB(at, pool, statementOf(s))
	}
}

// statementOf is a statement as its tool takes it.
func statementOf(s definition.Statement) builtin.Statement {
	var fields []string
	for _, p := range s.Params {
		if p.Type == definition.ParamMoney {
			fields = append(fields, p.Name+".value", p.Name+".currency")
		} else {
			fields = append(fields, p.Name)
		}
	}
	return builtin.Statement{
		Name: s.Name, Words: s.Words, Description: s.Description, SQL: s.SQL, Verify: s.Verify,
		Schema: definition.Schema(s.Params), Example: definition.Example(s.Params, nil), Sensitive: definition.Sensitive(s.Params), Fields: fields,
		Effect: s.Effect, MaxRows: s.MaxRows, ReasonCodes: s.ReasonCodes, Claims: s.Claims,
	}
}

// source is the pool of a data source, opened once.
func (b *toolbox) source(ctx context.Context, name, url string, open func(context.Context, string) (*pgxpool.Pool, error)) (*pgxpool.Pool, error) {
	if pool, there := b.sources[name]; there {
		return pool, nil
	}
	pool, err := open(context.WithoutCancel(ctx), url)
	if err != nil {
		return nil, fmt.Errorf("open data source %s: %w", name, err)
	}
	b.sources[name] = pool
	return pool, nil
}

// inWorkspace makes a tool that works on files: each agent has a folder, and each
// of its sessions a copy of it.
func (b *toolbox) inWorkspace(make func(*builtin.Workspaces) (tools.Tool, error)) toolMaker {
	return func(_ context.Context, v definition.Version) (tools.Tool, error) {
		spaces, err := builtin.NewWorkspaces(b.workspace(v.Slug), filepath.Join(b.dataDir, "sessions"))
		if err != nil {
			return nil, err
		}
		return make(spaces)
	}
}

func (b *toolbox) workspace(slug string) string { return filepath.Join(b.dataDir, "workspaces", slug) }

// okWithError is how a failure looks that comes with a good status, in the
// hosts of this installation: an object with "error" in it.
var okWithError = []httpcall.ErrorBody{{Field: "/error"}}

// client reaches the hosts of an agent.
func (b *toolbox) client(ctx context.Context, v definition.Version, o httpcall.Options) (*httpcall.Client, error) {
	var hosts []httpcall.Host
	for _, name := range v.Agent.Hosts {
		if name == definition.AnyHost {
			continue
		}
		host, err := b.host(ctx, name)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	return httpcall.New(hosts, o)
}

// host is a host as the installation knows it, with its credentials.
func (b *toolbox) host(ctx context.Context, name string) (httpcall.Host, error) {
	known := b.installation.Hosts[name]
	host := httpcall.Host{
		Host:       safehttp.Host{Name: name, Address: known.Address, AllowPrivate: known.AllowPrivate},
		HonoursKey: known.HonoursIdempotencyKey, Errors: okWithError,
	}
	if known.Auth.Header == "" {
		return host, nil
	}
	value, err := b.secret(ctx, "host "+name, known.Auth.Secret)
	if err != nil {
		return host, err
	}
	host.Header = map[string]string{known.Auth.Header: value}
	return host, nil
}

func (b *toolbox) httpRequest(ctx context.Context, v definition.Version) (tools.Tool, error) {
	client, err := b.client(ctx, v, httpcall.Options{})
	if err != nil {
		return nil, err
	}
	return builtin.HTTPRequest(client)
}

// webFetch reads pages of the agent's hosts, or of any where it says so.
func (b *toolbox) webFetch(ctx context.Context, v definition.Version) (tools.Tool, error) {
	client, err := b.client(ctx, v, httpcall.Options{Public: slices.Contains(v.Agent.Hosts, definition.AnyHost)})
	if err != nil {
		return nil, err
	}
	return builtin.WebFetch(client)
}

// declared makes a tool that an operator has described in a file. Its hosts are the
// operator's choice: no agent has to list them.
func (b *toolbox) declared(t definition.DeclaredTool) toolMaker {
	return func(ctx context.Context, _ definition.Version) (tools.Tool, error) {
		var hosts []httpcall.Host
		for _, address := range []string{t.Request.URL, t.Verify.URL} {
			u, err := url.Parse(definition.TemplateAddress(address))
			if err != nil || u.Host == "" || slices.ContainsFunc(hosts, func(h httpcall.Host) bool { return h.Name == u.Host }) {
				continue
			}
			host, err := b.host(ctx, u.Host)
			if err != nil {
				return nil, err
			}
			hosts = append(hosts, host)
		}
		if err := b.authorize(ctx, t, hosts); err != nil {
			return nil, err
		}
		client, err := httpcall.New(hosts, httpcall.Options{})
		if err != nil {
			return nil, err
		}
		token, err := b.token(ctx, t.Auth.OAuth)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		return declared.New(t, client, token)
	}
}

// token gives the access tokens of an entry under oauth; nil for none.
func (b *toolbox) token(ctx context.Context, name string) (declared.Token, error) {
	if name == "" {
		return nil, nil
	}
	entry := b.installation.OAuth[name]
	secret, err := b.secret(ctx, "the access of "+name, entry.ClientSecret)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(entry.TokenURL)
	if err != nil {
		return nil, err
	}
	known := b.installation.Hosts[at.Host]
	reach, err := safehttp.New(safehttp.Options{Hosts: []safehttp.Host{{Name: at.Host, Address: known.Address, AllowPrivate: known.AllowPrivate}}})
	if err != nil {
		return nil, err
	}
	client := oauth.Client{Name: name, TokenURL: entry.TokenURL, ID: entry.ClientID, Secret: secret, Scopes: entry.Scopes, Audience: entry.Audience}
	return func(ctx context.Context) (string, error) { return b.grants.Token(ctx, client, reach) }, nil
}

// secret is a secret's value; what needs it is said if it isn't there.
func (b *toolbox) secret(ctx context.Context, who, name string) (string, error) {
	values, err := b.secrets.Values(ctx)
	if err != nil {
		return "", err
	}
	value, ok := values[name]
	if !ok {
		return "", fmt.Errorf("%s needs the secret %q; set it with: server secret set %s", who, name, name)
	}
	return value, nil
}

// authorize gives the hosts of a tool what its file says of credentials and of
// failures.
func (b *toolbox) authorize(ctx context.Context, t definition.DeclaredTool, hosts []httpcall.Host) error {
	var forms []httpcall.ErrorBody
	for _, e := range t.Errors {
		form := httpcall.ErrorBody{Field: e.Field, Type: e.Type}
		if e.Equals != nil {
			equals, err := json.Marshal(e.Equals)
			if err != nil {
				return err
			}
			form.Equals = equals
		}
		forms = append(forms, form)
	}
	for i := range hosts {
		hosts[i].Errors = append(slices.Clip(forms), hosts[i].Errors...) // the file's own come first
	}
	if t.Auth.Secret == "" {
		return nil
	}
	value, err := b.secret(ctx, "the tool "+t.Name, t.Auth.Secret)
	if err != nil {
		return err
	}
	for i := range hosts {
		hosts[i].Header = map[string]string{t.Auth.Header: t.Auth.Prefix + value}
	}
	return nil
}

// sendEmail delivers to the mail server of the installation.
func (b *toolbox) sendEmail(context.Context, definition.Version) (tools.Tool, error) {
	server := b.installation.SMTP
	if server.Address == "" {
		return nil, errors.New("there is no mail server in the configuration; name one under smtp, with address and from")
	}
	sender, err := mail.New(server.Address, server.From)
	if err != nil {
		return nil, err
	}
	return builtin.SendEmail(sender)
}

// limited is a tool within its agent's limits of time, which may only shorten
// its own.
type limited struct {
	tools.Tool
	timeout, deadline time.Duration
}

// Spec is the tool's, with the shorter of both limits.
func (l limited) Spec() tools.Spec {
	spec := l.Tool.Spec()
	shorten := func(limit *time.Duration, most, def time.Duration) {
		if own := max(*limit, 0); most > 0 && (own == 0 && most < def || own > most) {
			*limit = most
		}
	}
	shorten(&spec.Timeout, l.timeout, tools.DefaultTimeout)
	shorten(&spec.Deadline, l.deadline, tools.DefaultDeadline)
	if spec.Deadline > 0 && spec.Timeout > spec.Deadline {
		spec.Timeout = spec.Deadline
	}
	return spec
}

// Run is the tool's.
func (l limited) Run(ctx context.Context, args json.RawMessage) (tools.Output, error) {
	return l.Tool.Run(ctx, args)
}
