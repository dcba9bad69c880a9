package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// inbox is a real mail server that keeps what it gets.
type inbox struct {
	mu   sync.Mutex
	got  []string
	tls  []bool // whether each came encrypted
	addr string
}

type inboxSession struct {
	in *inbox
	c  *smtp.Conn
}

func (inboxSession) Reset()                                    {}
func (inboxSession) Logout() error                             { return nil }
func (inboxSession) Mail(string, *smtp.MailOptions) error      { return nil }
func (inboxSession) Rcpt(to string, _ *smtp.RcptOptions) error { return nil }
func (s inboxSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	_, encrypted := s.c.TLSConnectionState()
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.in.got, s.in.tls = append(s.in.got, string(text)), append(s.in.tls, encrypted)
	return nil
}

func newInbox(t *testing.T, config *tls.Config) *inbox {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	in := &inbox{addr: ln.Addr().String()}
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return inboxSession{in, c}, nil }))
	srv.Domain, srv.TLSConfig, srv.ErrorLog = "mail.example", config, nothing{}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	return in
}

type nothing struct{}

func (nothing) Printf(string, ...any) {}
func (nothing) Println(...any)        {}

func send(t *testing.T, s *Sender, messages ...Message) {
	t.Helper()
	c, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, m := range messages {
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
}

// R: T7
func TestAMailArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	in := newInbox(t, nil)
	s, err := New(in.addr, "Möbelhaus <shop@shop.example>")
	if err != nil {
		t.Fatal(err)
	}
	subject := "Frühjahrspreise für Gartenmöbel, gültig ab Montag – 春季价格从周一开始生效，欢迎选购"
	text := "Dear Anna,\n\n.\n..\nFrom now on = 5 €\n" + strings.Repeat("long ", 300) + "\n"
	send(t, s, Message{To: "anna@example.org", Subject: subject, Text: text, ID: "abc.1"}, Message{To: "bo@example.org", Subject: "Second", Text: "x", ID: "abc.2"})
	if len(in.got) != 2 || in.tls[0] {
		t.Fatalf("%d mails", len(in.got))
	}
	for _, line := range strings.Split(in.got[0], "\r\n") {
		if len(line) > 200 || strings.Contains(line, "\n") {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	m, err := netmail.ReadMessage(strings.NewReader(in.got[0]))
	if err != nil {
		t.Fatal(err)
	}
	got, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || got != subject {
		t.Errorf("subject %q (%v)", got, err)
	}
	from, err := m.Header.AddressList("From")
	if err != nil || from[0].Name != "Möbelhaus" || from[0].Address != "shop@shop.example" {
		t.Errorf("from %v (%v)", from, err)
	}
	if id := m.Header.Get("Message-ID"); id != "<abc.1@shop.example>" || m.Header.Get("To") != "<anna@example.org>" || m.Header.Get("Date") == "" {
		t.Errorf("headers %v", m.Header)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || strings.ReplaceAll(string(body), "\r\n", "\n") != text {
		t.Errorf("text %q (%v)", body, err)
	}
}

// R: T7
func TestTheConnectionIsEncryptedWhereThatIsOffered(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate of 127.0.0.1
	defer web.Close()
	in := newInbox(t, &tls.Config{Certificates: web.TLS.Certificates})
	s, err := New(in.addr, "shop@shop.example")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
	s.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	s.TLS.RootCAs.AddCert(web.Certificate())
	send(t, s, Message{To: "anna@example.org", Subject: "s", Text: "x", ID: "1"})
	if len(in.tls) != 1 || !in.tls[0] {
		t.Errorf("encrypted: %v", in.tls)
	}
}

// R: T7
// case: abuse A31 (mail headers)
func TestNothingBecomesAHeaderOrACommand(t *testing.T) {
	t.Parallel()
	in := newInbox(t, nil)
	s, err := New(in.addr, "shop@shop.example")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, m := range map[string]Message{
		"CRLF in the subject":   {To: "a@example.org", Subject: "s\r\nBcc: b@example.org", ID: "1"},
		"LF in the subject":     {To: "a@example.org", Subject: "s\nBcc: b@example.org", ID: "1"},
		"CR in the subject":     {To: "a@example.org", Subject: "s\rBcc: b@example.org", ID: "1"},
		"NUL in the subject":    {To: "a@example.org", Subject: "s\x00", ID: "1"},
		"invalid UTF-8":         {To: "a@example.org", Subject: "s\xff", ID: "1"},
		"CRLF in the address":   {To: "a@example.org>\r\nRCPT TO:<b@example.org", Subject: "s", ID: "1"},
		"quotes in the address": {To: "\"a\r\nDATA\"@example.org", Subject: "s", ID: "1"},
		"two addresses":         {To: "a@example.org, b@example.org", Subject: "s", ID: "1"},
		"a name":                {To: "Anna <a@example.org>", Subject: "s", ID: "1"},
		"no address":            {To: "anna", Subject: "s", ID: "1"},
		"CRLF in the id":        {To: "a@example.org", Subject: "s", ID: "1>\r\nX: y"},
		"no id":                 {To: "a@example.org", Subject: "s"},
		"too long":              {To: strings.Repeat("a", 250) + "@example.org", Subject: "s", ID: "1"},
	} {
		err := c.Send(m)
		if _, protocol := errors.AsType[*Error](err); err == nil || protocol {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(in.got) > 0 {
		t.Errorf("sent %q", in.got)
	}
	for _, from := range []string{"", "shop", "a@b.example\r\nX: y", "\"a b\"@c.example"} {
		if _, err := New("127.0.0.1:25", from); err == nil {
			t.Errorf("sender %q is taken", from)
		}
	}
	if _, err := New("mail.example", "a@b.example"); err == nil {
		t.Error("an address without a port is taken")
	}
}

// R: T7, L4 — a server that says nothing holds nobody longer than ctx.
func TestASilentServerIsLeftWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := ln.Accept()
		cancel() // it is connected, and waits for the greeting
		if err == nil {
			defer c.Close()
		}
		<-t.Context().Done()
	}()
	s, err := New(ln.Addr().String(), "shop@shop.example")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Open(ctx)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != 0 || !e.All || e.Unsure || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Whatever subject and text are, the message has the headers that it has.
// R: T7
// case: abuse A31 (mail headers)
func FuzzMessage(f *testing.F) {
	f.Add("a@example.org", "Spring prices", "Hello\n")
	f.Add("a@example.org", "s\r\nBcc: b@c.example", "x\r\n.\r\nMAIL FROM:<y@z.example>")
	f.Add("a@example.org", strings.Repeat("wort ", 40)+"ü", "\x00\xff")
	f.Fuzz(func(t *testing.T, to, subject, text string) {
		m := Message{To: to, Subject: subject, Text: text, ID: "1"}
		if m.check() != nil {
			return
		}
		var b bytes.Buffer
		if err := m.writeTo(&b, netmail.Address{Address: "shop@shop.example"}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		read, err := netmail.ReadMessage(&b)
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		got, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
		if err != nil || strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(subject), " ") && !strings.Contains(subject, "=?") {
			t.Errorf("subject %q became %q (%v)", subject, got, err)
		}
		if len(read.Header) != 9 || read.Header.Get("To") != "<"+to+">" {
			t.Errorf("headers %v", read.Header)
		}
	})
}
