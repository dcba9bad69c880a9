package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/llm"
	"baton/internal/llm/scripted"
	"baton/internal/postgres/pgtest"
	"baton/internal/safehttp"
	"baton/internal/tools"
	"baton/internal/tools/declared"
	"baton/internal/tools/httpcall"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var today = time.Date(2025, 11, 28, 0, 0, 0, 0, time.UTC)

// world is a session's surroundings without the harness: real queries, real
// requests, and a person who answers at once.
type world struct {
	t      *testing.T
	db     *pgxpool.Pool
	url    string // of the payment service
	files  map[string][]byte
	choose string // option id
	words  string

	asked []map[string]any // questions
	calls []string
}

func (w *world) run(agent string, s Session) (finish map[string]any) {
	w.t.Helper()
	book := playbook(w.t, agent)
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleTask, Text: s.Task, Inputs: s.Inputs}}}
	for n := 0; len(w.calls) < 40; {
		reply, err := book.Next(w.t.Context(), req)
		if err != nil {
			w.t.Fatalf("after %q: %v", w.calls, err)
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Text: reply.Text, Calls: reply.Calls})
		for _, call := range reply.Calls {
			n++
			w.calls = append(w.calls, call.Tool+" "+string(call.Args))
			var args map[string]any
			if err := json.Unmarshal(call.Args, &args); err != nil {
				w.t.Fatalf("arguments of %s: %v", call.Tool, err)
			}
			if call.Tool == "finish" {
				return args
			}
			result, decision := w.call(call.Tool, args)
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleResult, Result: &llm.Result{
				CallID: fmt.Sprintf("call_%d", n), Tool: call.Tool, Args: call.Args, Result: result}})
			if decision != nil {
				req.Messages = append(req.Messages, llm.Message{Role: llm.RoleDecision, Decision: decision})
			}
		}
	}
	w.t.Fatalf("no end: %q", w.calls)
	return nil
}

func (w *world) call(tool string, args map[string]any) (tools.Result, *llm.Decision) {
	switch tool {
	case "query_db":
		return w.query(args["sql"].(string)), nil
	case "http_request":
		return w.request(args), nil
	case "read_file":
		text, ok := w.files[args["path"].(string)]
		if !ok {
			return failed(tools.NotFound, "There is no such file."), nil
		}
		return w.succeed(string(text)), nil
	case "ask_human":
		w.asked = append(w.asked, args)
		d := &llm.Decision{Type: "choose", OptionID: w.choose, Message: w.words, Question: args["question"].(string)}
		return w.succeed(map[string]any{"option_id": w.choose}), d
	}
	return w.declared(tool, args), nil
}

// declared runs a tool of the sample business, and repeats it as the harness does.
func (w *world) declared(name string, args map[string]any) (last tools.Result) {
	w.t.Helper()
	all, err := Tools()
	if err != nil {
		w.t.Fatal(err)
	}
	client, err := httpcall.New([]httpcall.Host{{Host: safehttp.Host{Name: PaymentsHost, Address: strings.TrimPrefix(w.url, "http://"), AllowPrivate: true}}}, httpcall.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	tool, err := declared.New(all[name], client, nil)
	if err != nil {
		w.t.Fatalf("unknown tool %s: %v", name, err)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(w.t.Context(), requestPatience)
		out, err := tool.Run(ctx, raw)
		cancel()
		if err == nil {
			return w.succeed(out.Data)
		}
		f := tools.Classify(err)
		last = tools.Refuse(f, tools.Meta{})
		if last.Retryable() != tools.RetryYes {
			return last
		}
	}
	return last
}

// What hangs in the demo, hangs; and on a busy machine what doesn't may be slow.
const (
	queryPatience   = 2 * time.Second
	requestPatience = 1500 * time.Millisecond
)

// query runs as the reader, with little patience.
func (w *world) query(sql string) tools.Result {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*queryPatience) // beyond the database's own
	defer cancel()
	tx, err := w.db.Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(w.t.Context()) }()
	if _, err := tx.Exec(ctx, fmt.Sprintf("set local role %s; set local statement_timeout = %d", ReaderRole, queryPatience.Milliseconds())); err != nil {
		w.t.Fatal(err)
	}
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return failed(tools.ExecutionError, err.Error())
	}
	table := tools.Table{Rows: [][]json.RawMessage{}, Complete: true}
	for _, f := range rows.FieldDescriptions() {
		table.Columns = append(table.Columns, tools.Column{Name: f.Name})
	}
	values, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	if err != nil && strings.Contains(err.Error(), "57014") {
		return failed(tools.Timeout, "The query took longer than 2 s.")
	}
	if err != nil {
		return failed(tools.ExecutionError, err.Error())
	}
	for _, row := range values {
		var cells []json.RawMessage
		for _, v := range row {
			cell, err := json.Marshal(v)
			if err != nil {
				w.t.Fatal(err)
			}
			cells = append(cells, cell)
		}
		table.Rows = append(table.Rows, cells)
	}
	return w.succeed(table)
}

// request repeats what is safe to repeat, as the harness does.
func (w *world) request(args map[string]any) tools.Result {
	var last tools.Result
	for range 3 {
		status, body, err := w.send(args)
		var said map[string]any
		_ = json.Unmarshal(body, &said) // no JSON: no error field
		switch {
		case err != nil:
			last = failed(tools.Timeout, "No answer in time.")
		case status == 429 || status >= 500:
			last = failed(tools.Unavailable, string(body))
		case status >= 400 || said["error"] != nil:
			return failed(tools.ExecutionError, string(body))
		default:
			return w.succeed(map[string]any{"status": status, "headers": map[string]string{}, "body": json.RawMessage(body)})
		}
	}
	return last
}

func (w *world) send(args map[string]any) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), requestPatience)
	defer cancel()
	content, err := json.Marshal(args["json"])
	if err != nil {
		w.t.Fatal(err)
	}
	url := strings.Replace(args["url"].(string), "http://"+PaymentsHost, w.url, 1)
	req, err := http.NewRequestWithContext(ctx, args["method"].(string), url, bytes.NewReader(content))
	if err != nil {
		w.t.Fatal(err)
	}
	headers, _ := args["headers"].(map[string]any)
	for name, value := range headers {
		req.Header.Set(name, value.(string))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

func (w *world) succeed(data any) tools.Result {
	w.t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := tools.Succeed(tools.Output{Data: raw}, tools.Meta{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func failed(t tools.ErrorType, message string) tools.Result {
	return tools.Refuse(tools.Fail(t, message), tools.Meta{})
}

func playbook(t *testing.T, agent string) *scripted.Playbook {
	t.Helper()
	files, err := Agents()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == agent+".yaml" {
			book, err := scripted.Compile(agent+".star", string(f.Playbook))
			if err != nil {
				t.Fatal(err)
			}
			return book
		}
	}
	t.Fatalf("no agent %s", agent)
	return nil
}

func newWorld(t *testing.T, db *pgxpool.Pool) *world {
	t.Helper()
	service := httptest.NewServer(NewPayments(db, ""))
	t.Cleanup(service.Close)
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, db: db, url: service.URL, files: files}
}
