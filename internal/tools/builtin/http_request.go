package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"baton/internal/tools"
	"baton/internal/tools/httpcall"
)

//go:embed http_request.md
var httpRequestText string

const httpRequestSchema = `{
  "type": "object",
  "properties": {
    "method": {"type": "string", "enum": ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]},
    "url": {"type": "string", "minLength": 1, "maxLength": 8000, "description": "absolute, http or https"},
    "query": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
    "headers": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 4000}},
    "json": {"description": "JSON body"},
    "body": {"type": "string", "description": "text body; give its Content-Type in headers"}
  },
  "required": ["method", "url"],
  "additionalProperties": false
}`

type httpArgs struct {
	Method  string                     `json:"method"`
	URL     string                     `json:"url"`
	Query   map[string]json.RawMessage `json:"query"`
	Headers map[string]string          `json:"headers"`
	JSON    json.RawMessage            `json:"json"`
	Body    *string                    `json:"body"`
}

// HTTPRequest is the tool http_request on the hosts of a client.
func HTTPRequest(client *httpcall.Client) (tools.Tool, error) {
	h := &httpRequest{client}
	names := h.client.Names()
	spec := tools.Spec{
		Name: "http_request", Version: "1", Description: strings.TrimSpace(httpRequestText) + "\n- Hosts: " + strings.Join(names, ", ") + ".",
		Words: map[string]tools.Words{
			"en":      {Title: "Call a web service", Sentence: "Send a {method} request to {url}"},
			"zh-Hans": {Title: "调用网络服务", Sentence: "向 {url} 发送 {method} 请求"},
		},
		Schema: json.RawMessage(httpRequestSchema), Example: example(names),
		Effect: tools.EffectSide, EffectOf: h.effect, Service: h.service,
		Claims: []string{"created", "updated", "changed", "deleted", "removed", "refunded", "charged", "paid", "booked", "cancelled", "canceled", "posted", "submitted",
			"已创建", "已更新", "已修改", "已删除", "已退款", "已扣款", "已支付", "已预订", "已取消", "已提交"},
		Failures: []tools.DeclaredFailure{
			{Name: "host_not_listed", Type: tools.PermissionDenied, When: "the host is not on the list, or leads to a private address"},
			{Name: "status_404", Type: tools.NotFound, When: "the service answers 404"},
			{Name: "status_409", Type: tools.Conflict, When: "the service answers 409"},
			{Name: "status_400", Type: tools.InvalidArguments, When: "the service answers 400"},
			{Name: "status_422", Type: tools.ExecutionError, When: "the service answers 422: it understood, and refuses"},
			{Name: "status_429", Type: tools.RateLimited, When: "the service answers 429"},
			{Name: "status_500", Type: tools.Unavailable, When: "the service answers 500 to 504"},
			{Name: "timeout", Type: tools.Timeout, When: "the service does not answer a read in time"},
			{Name: "cut", Type: tools.OutcomeUnknown, When: "the connection is cut after a write was sent"},
			{Name: "error_in_body", Type: tools.ExecutionError, When: "status 200 with an error in the body"},
		},
	}
	return tools.Func(spec, h.run)
}

func example(names []string) json.RawMessage {
	host := "api.example"
	if len(names) > 0 {
		host = names[0]
	}
	b, _ := json.Marshal(map[string]any{"method": "GET", "url": "https://" + host + "/orders", "query": map[string]any{"customer": "4711"}}) // texts always marshal
	return b
}

type httpRequest struct{ client *httpcall.Client }

// effect goes by method, and by whether the host honours the key.
func (h *httpRequest) effect(args json.RawMessage) tools.Effect {
	switch field(args, "method") {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return tools.EffectRead
	}
	if host, _, err := h.client.Host(field(args, "url")); err == nil && host.HonoursKey {
		return tools.EffectIdempotent
	}
	return tools.EffectSide
}

func (h *httpRequest) service(args json.RawMessage) string {
	if host, _, err := h.client.Host(field(args, "url")); err == nil {
		return host.Name
	}
	return ""
}

// field is the text of one argument, without reading the others.
func field(args json.RawMessage, name string) string {
	if v := gjson.GetBytes(args, name); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

func (h *httpRequest) run(ctx context.Context, a httpArgs) (tools.Output, error) {
	tools.NothingSent(ctx)
	host, u, err := h.client.Host(a.URL)
	if err != nil {
		return tools.Output{}, h.client.Refused(a.URL, err)
	}
	req, err := request(ctx, a, u, host)
	if err != nil {
		return tools.Output{}, err
	}
	answer, err := h.client.Do(ctx, req, host)
	if err != nil {
		return tools.Output{}, err
	}
	return answer.Output()
}

// own are the headers that are the harness's or the transport's to set.
var own = []string{"Authorization", "Proxy-Authorization", "Cookie", "Host", "Idempotency-Key", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer"}

// request builds the request; its faults are the arguments'.
func request(ctx context.Context, a httpArgs, u *url.URL, host httpcall.Host) (*http.Request, error) {
	if len(a.Query) > 0 {
		q := u.Query()
		for name, raw := range a.Query {
			var s string
			if json.Unmarshal(raw, &s) != nil {
				s = string(raw) // numbers as they are written
			}
			q.Set(name, s)
		}
		u.RawQuery = q.Encode()
	}
	var body io.Reader
	kind := ""
	switch {
	case a.JSON != nil && a.Body != nil:
		return nil, tools.Fail(tools.InvalidArguments, "json and body are both given.", "Give one of them.")
	case a.JSON != nil:
		body, kind = bytes.NewReader(a.JSON), "application/json"
	case a.Body != nil:
		body, kind = strings.NewReader(*a.Body), "text/plain; charset=utf-8"
	}
	req, err := http.NewRequestWithContext(httpcall.Context(ctx), a.Method, u.String(), body)
	if err != nil {
		return nil, tools.Fail(tools.InvalidArguments, "The request can't be built: "+err.Error()+".", "Correct method and url.")
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for name, value := range a.Headers {
		if slices.Contains(own, http.CanonicalHeaderKey(name)) || host.Header[name] != "" {
			return nil, tools.Fail(tools.InvalidArguments, fmt.Sprintf("The header %q is set by the harness.", name), "Leave it out; credentials and keys are added for you.")
		}
		if strings.ContainsAny(name+value, "\r\n\x00") || name == "" || strings.ContainsAny(name, " :") {
			return nil, tools.Fail(tools.InvalidArguments, fmt.Sprintf("The header %q can't be sent: name or value holds characters that no header may have.", name), "Write it on one line.")
		}
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", "baton")
	if key := tools.RunningCall(ctx).Key; key != "" && a.Method != http.MethodGet && a.Method != http.MethodHead && a.Method != http.MethodOptions {
		req.Header.Set("Idempotency-Key", key)
	}
	return req, nil
}
