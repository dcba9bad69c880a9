package builtin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"baton/internal/safehttp"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
	"baton/internal/tools/httpcall"
)

// What the runner costs around a call of a web service: the difference of both, on
// an answer of 1 KB over loopback.
func BenchmarkHTTP(b *testing.B) {
	answer := `{"order":"A-1001","status":"paid","lines":[` + strings.Repeat(`{"sku":"OUT-OK-M","n":2},`, 38) + `{"sku":"X","n":1}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	b.Cleanup(server.Close)
	b.Run("net-http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+"/orders/A-1001", nil)
			if err != nil {
				b.Fatal(err)
			}
			res, err := server.Client().Do(req)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(res.Body); err != nil {
				b.Fatal(err)
			}
			_ = res.Body.Close()
		}
	})
	client, err := httpcall.New([]httpcall.Host{{Host: safehttp.Host{Name: "orders.internal", Address: strings.TrimPrefix(server.URL, "http://"), AllowPrivate: true}, Errors: []httpcall.ErrorBody{{Field: "/error"}}}}, httpcall.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.CloseIdleConnections)
	tool, err := builtin.HTTPRequest(client)
	bench := newBench(b, tool, err)
	b.Run("runner", func(b *testing.B) {
		b.ReportAllocs()
		args := json.RawMessage(`{"method":"GET","url":"http://orders.internal/orders/A-1001"}`)
		for n := 0; b.Loop(); n++ {
			p := tools.Prepare(tools.Call{N: n + 1, Tool: "http_request", Args: args}, bench.facts)
			if o := bench.run.Execute(context.Background(), p); o.Status != tools.StatusSucceeded {
				b.Fatal(o.Result.ForModel())
			}
		}
	})
}
