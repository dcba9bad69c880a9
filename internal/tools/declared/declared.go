package declared

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"baton/internal/definition"
	"baton/internal/tools"
	"baton/internal/tools/httpcall"
)

// Token gives the credential of one request where it isn't the same for all, as
// OAuth's. The error is best a *tools.Failure.
type Token func(ctx context.Context) (string, error)

// New makes a tool. The client reaches the hosts of its addresses, with their
// credentials; token is nil where those are all.
func New(t definition.DeclaredTool, client *httpcall.Client, token Token) (tools.Tool, error) {
	d := &declared{t: t, client: client, token: token}
	host, _, err := client.Host(definition.TemplateAddress(t.Request.URL))
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", t.Name, err)
	}
	d.host = host
	if t.RateLimit.Calls > 0 {
		every := t.RateLimit.Per.Std() / time.Duration(t.RateLimit.Calls)
		d.pace = rate.NewLimiter(rate.Every(every), int(t.RateLimit.Calls))
	}
	d.spec = tools.Spec{
		Name: t.Name, Version: version(t), Description: strings.TrimSpace(t.Description), Words: t.Words,
		Schema: definition.Schema(t.Params), Example: definition.Example(t.Params, t.Example), Sensitive: definition.Sensitive(t.Params),
		Effect: t.Effect, Timeout: t.Timeout.Std(), Deadline: t.Deadline.Std(),
		Alternatives: t.Alternatives, Claims: t.Claims, ReasonCodes: t.ReasonCodes, Polling: t.Polling,
		Service: func(json.RawMessage) string { return d.host.Name }, Failures: failures(t),
	}
	if t.Verify.URL != "" {
		d.spec.Verify = d.verify
	}
	if t.Undo.Tool != "" {
		d.spec.Undo = d.undo
	}
	return d, nil
}

// version changes with all that the file says, so that approvals of an earlier
// one are void.
func version(t definition.DeclaredTool) string {
	t.File = ""
	b, err := json.Marshal(t)
	if err != nil {
		panic("version of a declared tool: " + err.Error()) // texts, numbers, lists
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// failures are the ways in which it fails: those of the network, and those that
// the file names.
func failures(t definition.DeclaredTool) []tools.DeclaredFailure {
	list := []tools.DeclaredFailure{
		{Name: "status_404", Type: tools.NotFound, When: "the service answers 404"},
		{Name: "status_409", Type: tools.Conflict, When: "the service answers 409"},
		{Name: "status_422", Type: tools.ExecutionError, When: "the service answers 422: it understood, and refuses"},
		{Name: "status_429", Type: tools.RateLimited, When: "the service answers 429"},
		{Name: "status_500", Type: tools.Unavailable, When: "the service answers 500 to 504"},
	}
	for _, status := range slices.Sorted(maps.Keys(t.Statuses)) {
		name := "status_" + status
		list = slices.DeleteFunc(list, func(f tools.DeclaredFailure) bool { return f.Name == name })
		list = append(list, tools.DeclaredFailure{Name: name, Type: t.Statuses[status], When: "the service answers " + status})
	}
	for i, e := range t.Errors {
		list = append(list, tools.DeclaredFailure{Name: "error_" + strconv.Itoa(i+1), Type: e.Type, When: "the answer is good by its status, and an error by its " + e.Field})
	}
	if t.Effect == tools.EffectRead {
		return append(list, tools.DeclaredFailure{Name: "timeout", Type: tools.Timeout, When: "the service does not answer in time"})
	}
	return append(list, tools.DeclaredFailure{Name: "cut", Type: tools.OutcomeUnknown, When: "the connection is cut, or no answer comes in time, after the request was sent"})
}

type declared struct {
	t      definition.DeclaredTool
	spec   tools.Spec
	client *httpcall.Client
	host   httpcall.Host
	token  Token
	pace   *rate.Limiter // nil: none
}

// Spec is what the harness knows of the tool.
func (d *declared) Spec() tools.Spec { return d.spec }

// Run sends the request.
func (d *declared) Run(ctx context.Context, args json.RawMessage) (tools.Output, error) {
	tools.NothingSent(ctx)
	v, err := read(args, tools.RunningCall(ctx).Key)
	if err != nil {
		return tools.Output{}, err
	}
	req, err := d.request(ctx, v)
	if err != nil {
		return tools.Output{}, err
	}
	secrets, err := d.sign(ctx, req)
	if err != nil {
		return tools.Output{}, err
	}
	if err := d.wait(ctx); err != nil {
		return tools.Output{}, err
	}
	answer, err := d.client.Do(ctx, req, d.host, secrets...)
	if err != nil {
		return tools.Output{}, d.named(err)
	}
	return d.output(answer)
}

// request is the template with the values of a call.
func (d *declared) request(ctx context.Context, v values) (*http.Request, error) {
	q := d.t.Request
	address, err := v.address(q.URL, q.Query)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	kind := ""
	switch {
	case q.JSON != nil:
		filled, _ := v.json(q.JSON)
		b, err := json.Marshal(filled)
		if err != nil {
			return nil, fmt.Errorf("write the request's body: %w", err)
		}
		body, kind = bytes.NewReader(b), "application/json"
	case q.Form != nil:
		body, kind = strings.NewReader(v.query(q.Form).Encode()), "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(httpcall.Context(ctx), q.Method, address, body)
	if err != nil {
		return nil, tools.Fail(tools.InvalidArguments, "The request can't be built of these values: "+err.Error()+".", "Give plain values.")
	}
	req.Header.Set("User-Agent", "baton")
	if !d.t.AnyContent {
		req.Header.Set("Accept", "application/json")
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if key, _ := v[definition.TemplateKey].(string); key != "" && d.t.Effect != tools.EffectRead {
		req.Header.Set("Idempotency-Key", key)
	}
	for name, template := range q.Headers {
		s, ok := v.text(template, asIs)
		if !ok {
			continue
		}
		if strings.ContainsAny(s, "\r\n\x00") {
			return nil, tools.Fail(tools.InvalidArguments, fmt.Sprintf("The value for the header %s has more than one line.", name), "Write it on one line.")
		}
		req.Header.Set(name, s)
	}
	return req, nil
}

// sign adds the credential of this one request, and says what it is.
func (d *declared) sign(ctx context.Context, req *http.Request) ([]string, error) {
	if d.token == nil {
		return nil, nil
	}
	token, err := d.token(ctx)
	if err != nil {
		return nil, err
	}
	value := "Bearer " + token
	req.Header.Set("Authorization", value)
	return []string{value}, nil
}

// longestPace is how long a call waits for its turn.
const longestPace = 5 * time.Second

// wait keeps to the tool's pace.
func (d *declared) wait(ctx context.Context) error {
	if d.pace == nil {
		return nil
	}
	turn := d.pace.Reserve()
	delay := turn.Delay()
	if delay > longestPace {
		turn.Cancel()
		f := tools.Fail(tools.RateLimited, fmt.Sprintf("%s may be called %d times in %s, and has been.", d.t.Name, d.t.RateLimit.Calls, d.t.RateLimit.Per), "Do something else first.")
		f.NotSent, f.RetryAfter = true, delay
		return f
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return context.Cause(ctx)
	}
}

// named is a failure as the file names it, by its status.
func (d *declared) named(err error) error {
	f, ok := tools.AsFailure(err)
	if !ok {
		return err
	}
	status, _ := f.Context["status"].(int)
	t, said := d.t.Statuses[strconv.Itoa(status)]
	if !said {
		return err
	}
	c := *f
	c.Type, c.Retryable, c.Origin, c.Causes, c.Hint, c.Unsure = t, "", "", nil, nil, false
	return &c
}

// output is the part of the answer that the file asks for. From here on nothing
// makes a failure of a write that was done.
func (d *declared) output(a *httpcall.Answer) (tools.Output, error) {
	if d.t.AnyContent {
		return a.Output()
	}
	out := tools.Output{Notices: a.Notices(), ContentType: "application/json"}
	if len(bytes.TrimSpace(a.Body)) == 0 {
		out.Data = json.RawMessage("null")
		out.Notices = append(out.Notices, fmt.Sprintf("%s answered %d, which is a success, and sent nothing else.", d.host.Name, a.Status))
		return out, nil
	}
	if !a.JSON {
		return tools.Output{}, d.noJSON(a)
	}
	out.Data = a.Body
	if part := httpcall.At(a.Body, d.t.Result); part != nil {
		out.Data = part
	} else {
		out.Notices = append(out.Notices, fmt.Sprintf("The answer has nothing at %s, so it stands here as a whole.", d.t.Result))
	}
	return out, nil
}

// noJSON is an answer that is none of this service's: a page of a proxy, a form to
// sign in. Whether a write was done it does not say.
func (d *declared) noJSON(a *httpcall.Answer) error {
	if a.Long || a.Cut != nil {
		f := tools.Fail(tools.ExecutionError, fmt.Sprintf("The answer of %s did not come as a whole.", d.host.Name), "Ask for less at once.").With("status", a.Status)
		f.Unsure = true
		return f
	}
	kind := a.Kind()
	if kind == "" {
		kind = "no content type"
	}
	f := tools.Fail(tools.ExecutionError, fmt.Sprintf("%s answered %d with %s, where JSON was due.", d.host.Name, a.Status, kind),
		"Don't repeat it as it is: something stands between this tool and the service.", "Report that an operator has to look at it.").With("status", a.Status)
	f.Causes = []string{"A proxy or a sign-in page answered in place of the service, or its address has changed."}
	f.Unsure = true
	if tools.DescribeBinary(a.Body) == nil {
		f.With("body", string(a.Body[:min(len(a.Body), 2000)]))
	}
	return f
}

// verify asks whether a call has happened.
func (d *declared) verify(ctx context.Context, args json.RawMessage, key string) (tools.Landed, error) {
	v, err := read(args, key)
	if err != nil {
		return tools.LandUnknown, err
	}
	address, err := v.address(d.t.Verify.URL, d.t.Verify.Query)
	if err != nil {
		return tools.LandUnknown, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return tools.LandUnknown, err
	}
	req.Header.Set("Accept", "application/json")
	secrets, err := d.sign(ctx, req)
	if err != nil {
		return tools.LandUnknown, err
	}
	host, _, err := d.client.Host(address)
	if err != nil {
		return tools.LandUnknown, err
	}
	answer, err := d.client.Do(ctx, req, host, secrets...)
	if f, ok := tools.AsFailure(err); ok && f.Context["status"] == http.StatusNotFound {
		return tools.DidNotLand, nil
	}
	if err != nil {
		return tools.LandUnknown, err
	}
	return d.landed(answer, v)
}

func (d *declared) landed(a *httpcall.Answer, v values) (tools.Landed, error) {
	if !a.JSON {
		return tools.LandUnknown, errors.New("the answer is no JSON")
	}
	found := httpcall.At(a.Body, d.t.Verify.Field)
	if found == nil || string(found) == "null" || string(found) == "false" {
		return tools.DidNotLand, nil
	}
	if d.t.Verify.Equals == "" {
		return tools.DidLand, nil
	}
	var text string
	if json.Unmarshal(found, &text) != nil {
		text = string(found) // a number as it is written
	}
	want, whole := v.text(d.t.Verify.Equals, asIs)
	switch {
	case !whole:
		return tools.LandUnknown, nil
	case text == want:
		return tools.DidLand, nil
	}
	return tools.DidNotLand, nil
}

// undo is the call that takes one back.
func (d *declared) undo(args json.RawMessage, result tools.Result) (tool string, undo json.RawMessage, ok bool) {
	v, err := read(args, "")
	if err != nil {
		return "", nil, false
	}
	var brought any
	decoder := json.NewDecoder(bytes.NewReader(result.Data()))
	decoder.UseNumber()
	if decoder.Decode(&brought) == nil {
		v["result"] = brought
	}
	filled := map[string]any{}
	for name, template := range d.t.Undo.Args {
		value, there := v.json(template)
		if !there {
			return "", nil, false
		}
		filled[name] = value
	}
	undo, err = json.Marshal(filled)
	return d.t.Undo.Tool, undo, err == nil
}
