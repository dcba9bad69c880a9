package builtin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"

	"baton/internal/mail"
	"baton/internal/permission"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
)

// mailServer is a real mail server whose answers a test chooses.
type mailServer struct {
	addr string
	from func(string) error
	to   func(string) error
	data func(c *smtp.Conn, to string) error

	mu   sync.Mutex
	got  []string // text of each mail that was taken
	rcpt []string // its receiver
}

func (m *mailServer) received() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rcpt)
}

type mailSession struct {
	m  *mailServer
	c  *smtp.Conn
	to string
}

func (s *mailSession) Reset()        { s.to = "" }
func (s *mailSession) Logout() error { return nil }
func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	if s.m.from == nil {
		return nil
	}
	return s.m.from(from)
}
func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	if s.m.to == nil {
		return nil
	}
	return s.m.to(to)
}
func (s *mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.m.data != nil {
		if err := s.m.data(s.c, s.to); err != nil {
			return err
		}
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.got, s.m.rcpt = append(s.m.got, string(text)), append(s.m.rcpt, s.to)
	return nil
}

func newMailServer(t *testing.T) (*mailServer, *bench) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mailServer{addr: ln.Addr().String()}
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &mailSession{m: m, c: c}, nil }))
	srv.Domain, srv.ErrorLog = "mail.example", nothing{}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	return m, mailBench(t, m.addr)
}

type nothing struct{}

func (nothing) Printf(string, ...any) {}
func (nothing) Println(...any)        {}

func mailBench(t *testing.T, addr string) *bench {
	t.Helper()
	sender, err := mail.New(addr, "The shop <shop@shop.example>")
	if err != nil {
		t.Fatal(err)
	}
	tool, err := builtin.SendEmail(sender)
	b := newBench(t, tool, err)
	b.facts.Policy.Rules = []permission.Rule{{Tool: "send_email", Do: permission.Allow}} // as if it had been approved
	return b
}

func people(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("p%d@example.org", i+1))
	}
	return list
}

// R: T7, S1, X6
func TestSendEmailGivesEachAMailOfTheirOwn(t *testing.T) {
	t.Parallel()
	m, b := newMailServer(t)
	o := b.call(t.Context(), "send_email", map[string]any{"to": people(3), "subject": "Frühjahrspreise – 春季价格", "text": "Dear customer,\n.\nfrom Monday on…"})
	if o.Status != tools.StatusSucceeded || len(o.Result.Completed()) != 3 || !strings.Contains(o.Result.ForModel(), `"sent":3`) {
		t.Fatalf("%s", o.Result.ForModel())
	}
	if got := m.received(); !slices.Equal(got, people(3)) {
		t.Errorf("received by %q", got)
	}
	for i, text := range m.got {
		if !strings.Contains(text, "To: <p"+fmt.Sprint(i+1)+"@example.org>\r\n") || strings.Count(text, "@example.org") != 1 {
			t.Errorf("mail %d shows others: %s", i+1, text)
		}
		if !strings.Contains(text, "From: \"The shop\" <shop@shop.example>") || !strings.Contains(text, "\r\n.\r\n") {
			t.Errorf("mail %d: %s", i+1, text)
		}
	}
}

// People read how many get it and what it is called, in their language.
// R: T7, Q3
func TestSendEmailSaysHowManyGetIt(t *testing.T) {
	t.Parallel()
	_, b := newMailServer(t)
	_, spec, _ := b.facts.Tools.Lookup("send_email")
	args, err := json.Marshal(map[string]any{"to": people(1840), "subject": "Spring prices", "text": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string]string{"en": "Send “Spring prices” to 1,840 recipients", "zh-Hans": "将“Spring prices”发送给 1,840 位收件人"} {
		if _, got := spec.Describe(lang, args); got != want {
			t.Errorf("%s: %s, want %s", lang, got, want)
		}
	}
	b.facts.Policy.Rules = nil
	if p := tools.Prepare(tools.Call{N: 1, Tool: "send_email", Args: args}, b.facts); p.Verdict != tools.Awaiting {
		t.Errorf("mode auto lets it run: %s", p.Verdict)
	}
	if spec.Effect != tools.EffectIrreversible || spec.Undo != nil || spec.Verify != nil {
		t.Errorf("it can't be taken back: %+v", spec)
	}
}

// What would become a header or a command of its own never reaches the tool.
// R: T7, E2
// case: abuse A31 (mail headers)
func TestSendEmailTakesNoHeaders(t *testing.T) {
	t.Parallel()
	m, b := newMailServer(t)
	for name, args := range map[string]map[string]any{
		"line break in the subject": {"to": people(1), "subject": "Hello\r\nBcc: all@example.org", "text": "x"},
		"bare LF in the subject":    {"to": people(1), "subject": "Hello\nBcc: all@example.org", "text": "x"},
		"NUL in the subject":        {"to": people(1), "subject": "Hello\x00", "text": "x"},
		"command in an address":     {"to": []string{"a@example.org>\r\nRCPT TO:<b@example.org"}, "subject": "s", "text": "x"},
		"two in one address":        {"to": []string{"a@example.org,b@example.org"}, "subject": "s", "text": "x"},
		"a name":                    {"to": []string{"Anna <a@example.org>"}, "subject": "s", "text": "x"},
		"nobody":                    {"to": []string{}, "subject": "s", "text": "x"},
		"the same twice":            {"to": []string{"a@example.org", "a@example.org"}, "subject": "s", "text": "x"},
		"too many":                  {"to": people(5001), "subject": "s", "text": "x"},
		"a header of its own":       {"to": people(1), "subject": "s", "text": "x", "bcc": "all@example.org"},
	} {
		if o := b.call(t.Context(), "send_email", args); o.Result.ErrorType() != tools.InvalidArguments {
			t.Errorf("%s: %s", name, o.Result.ForModel())
		}
	}
	if got := m.received(); len(got) > 0 {
		t.Errorf("sent to %q", got)
	}
}

// Each refusal is its own; the others get their mail.
// R: T7, X6
func TestSendEmailNamesWhoWasRefused(t *testing.T) {
	t.Parallel()
	m, b := newMailServer(t)
	m.to = func(to string) error {
		switch to {
		case "p2@example.org":
			return &smtp.SMTPError{Code: 550, Message: "no such mailbox"}
		case "p4@example.org":
			return &smtp.SMTPError{Code: 450, Message: "greylisted, come back later"}
		}
		return nil
	}
	o := b.call(t.Context(), "send_email", map[string]any{"to": people(5), "subject": "s", "text": "x"})
	failed := o.Result.Failed()
	if o.Status != tools.StatusPartial || len(o.Result.Completed()) != 3 || len(failed) != 2 || len(o.Attempts) != 1 {
		t.Fatalf("%d attempts: %s", len(o.Attempts), o.Result.ForModel())
	}
	if failed[0].Type != tools.NotFound || failed[1].Type != tools.Unavailable || !strings.Contains(failed[1].Reason, "greylisted") || failed[1].Retryable != tools.RetryMaybe {
		t.Errorf("failed %+v", failed)
	}
	if !strings.Contains(o.Result.ForModel(), "3 of 5 mails were sent") || !strings.Contains(o.Result.ForModel(), "Ways on") {
		t.Errorf("says %s", o.Result.ForModel())
	}
	m.to = func(string) error { return &smtp.SMTPError{Code: 550, Message: "no such mailbox"} }
	if o := b.call(t.Context(), "send_email", map[string]any{"to": people(2), "subject": "s", "text": "x"}); o.Result.ErrorType() != tools.NotFound || len(m.received()) != 3 {
		t.Errorf("none is there: %s", o.Result.ForModel())
	}
}

// A refusal that all would meet is met once.
// R: T7, X6
func TestSendEmailStopsWhereAllAreRefused(t *testing.T) {
	t.Parallel()
	m, b := newMailServer(t)
	tried := 0
	m.from = func(string) error {
		if tried++; tried > 2 {
			return &smtp.SMTPError{Code: 552, Message: "quota for today is used up"}
		}
		return nil
	}
	o := b.call(t.Context(), "send_email", map[string]any{"to": people(50), "subject": "s", "text": "x"})
	if len(o.Result.Completed()) != 2 || len(o.Result.Failed()) != 1 || len(o.Result.Skipped()) != 47 || tried != 3 || o.InDoubt {
		t.Errorf("tried %d: %s", tried, o.Result.ForModel())
	}
	o = b.call(t.Context(), "send_email", map[string]any{"to": people(50), "subject": "s", "text": "x"})
	if o.Result.ErrorType() != tools.PermissionDenied || !strings.Contains(o.Result.Message(), "quota") || tried != 4 || o.InDoubt {
		t.Errorf("tried %d: %s", tried, o.Result.ForModel())
	}
}

// R: T7, X1 — nothing was sent, and that is known; so the harness may try again.
func TestSendEmailWithoutAServerSendsNothing(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no waiting for the harness's own repeats
	o := mailBench(t, addr).call(ctx, "send_email", map[string]any{"to": people(2), "subject": "s", "text": "x"})
	if o.InDoubt || o.Status == tools.StatusOutcomeUnknown || len(o.Result.Completed()) > 0 {
		t.Errorf("%s in doubt %v: %s", o.Status, o.InDoubt, o.Result.ForModel())
	}
}

// A connection that breaks before the text was handed over sent nothing: the
// harness connects again and goes on with those who are left.
// R: T7, X1, X6
func TestSendEmailGoesOnAfterABrokenConnection(t *testing.T) {
	t.Parallel()
	m, b := newMailServer(t)
	broke := false
	m.data = nil
	m.to = func(to string) error {
		if to == "p2@example.org" && !broke {
			broke = true
			return &smtp.SMTPError{Code: 421, Message: "closing for maintenance"}
		}
		return nil
	}
	o := b.call(t.Context(), "send_email", map[string]any{"to": people(3), "subject": "s", "text": "x"})
	if o.Status != tools.StatusSucceeded || len(o.Attempts) != 2 || len(o.Result.Completed()) != 3 {
		t.Errorf("after a goodbye: %d attempts: %s", len(o.Attempts), o.Result.ForModel())
	}
	cut := cutBefore(t, m.addr, "RCPT TO:<p2@")
	o = mailBench(t, cut).call(t.Context(), "send_email", map[string]any{"to": people(3), "subject": "s", "text": "x"})
	if o.Status != tools.StatusSucceeded || len(o.Attempts) != 2 || len(o.Result.Completed()) != 3 {
		t.Errorf("after a cut: %d attempts: %s", len(o.Attempts), o.Result.ForModel())
	}
	if got := m.received(); !slices.Equal(got, append(people(3), people(3)...)) {
		t.Errorf("received by %q: nobody gets it twice", got)
	}
}

// Servers take only so many mails over one connection.
// R: T7
func TestSendEmailTakesAnotherConnectionInTime(t *testing.T) {
	t.Parallel()
	m, b := newMailServer(t)
	over := map[*smtp.Conn]int{}
	m.data = func(c *smtp.Conn, _ string) error { over[c]++; return nil } // one after the other
	o := b.call(t.Context(), "send_email", map[string]any{"to": people(250), "subject": "s", "text": "x"})
	if o.Status != tools.StatusSucceeded || len(over) != 3 || !slices.Equal(m.received(), people(250)) {
		t.Errorf("%d connections, %d mails: %.300s", len(over), len(m.received()), o.Result.ForModel())
	}
}

// A mail that was handed over, without an answer: unknown, never repeated. Of a
// list, only that one is.
// R: T7, X7, X6
func TestSendEmailLeavesTheOneInFlightUnknown(t *testing.T) {
	t.Parallel()
	m, b := newMailServer(t)
	m.data = func(c *smtp.Conn, to string) error {
		if to == "p3@example.org" {
			_ = c.Conn().Close()
		}
		return nil
	}
	o := b.call(t.Context(), "send_email", map[string]any{"to": people(5), "subject": "s", "text": "x"})
	failed := o.Result.Failed()
	if o.Status != tools.StatusPartial || len(o.Attempts) != 1 || o.InDoubt || len(o.Result.Completed()) != 2 || len(o.Result.Skipped()) != 2 ||
		len(failed) != 1 || failed[0].Item != "p3@example.org" || failed[0].Type != tools.OutcomeUnknown || failed[0].Retryable != tools.RetryNo {
		t.Errorf("%s", o.Result.ForModel())
	}
	o = b.call(t.Context(), "send_email", map[string]any{"to": []string{"p3@example.org"}, "subject": "s", "text": "x"})
	if !o.InDoubt || o.Result.ErrorType() != tools.OutcomeUnknown || len(o.Attempts) != 1 {
		t.Errorf("a single mail: %s in doubt %v: %s", o.Status, o.InDoubt, o.Result.ForModel())
	}
}

// A call that is stopped between two mails tells of both.
// R: T7, X6, L3
func TestSendEmailThatIsStoppedTellsWhatWasSent(t *testing.T) {
	t.Parallel()
	m, b := newMailServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	m.to = func(to string) error {
		if to == "p3@example.org" {
			cancel()
		}
		return nil
	}
	o := b.call(ctx, "send_email", map[string]any{"to": people(4), "subject": "s", "text": "x"})
	done, failed, skipped := len(o.Result.Completed()), len(o.Result.Failed()), len(o.Result.Skipped())
	if o.Status != tools.StatusPartial || done < 2 || done+failed+skipped != 4 || skipped == 0 || o.InDoubt {
		t.Errorf("%s", o.Result.ForModel())
	}
}

// cutBefore is a way to a mail server that is cut once, before a command.
func cutBefore(t *testing.T, addr, command string) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	var once sync.Once
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
			if err != nil {
				_ = client.Close()
				return
			}
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
			go func() {
				defer func() { _, _ = server.Close(), client.Close() }()
				for lines := bufio.NewReader(client); ; {
					line, err := lines.ReadString('\n')
					stop := err != nil
					if strings.HasPrefix(line, command) {
						once.Do(func() { stop = true })
					}
					if stop {
						return
					}
					if _, err := io.WriteString(server, line); err != nil {
						return
					}
				}
			}()
		}
	}()
	return ln.Addr().String()
}
