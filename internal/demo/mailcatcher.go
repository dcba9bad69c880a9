package demo

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	netmail "net/mail"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// Bounds of what the mail catcher keeps: some 4 MB at most.
const (
	mailsKept     = 200
	subjectsKept  = 50
	mailTextBytes = 16 << 10
	mailBytes     = 256 << 10 // of one message, as it is taken
)

// closedDomain has no mailboxes: the mail catcher refuses each address there,
// as mail servers do when somebody has left.
const closedDomain = "closed.example"

// MailCatcher is the shop's mail server. It takes mail and delivers none: the
// latest stand on a page for people to see. The zero value is ready.
type MailCatcher struct {
	mu       sync.Mutex
	taken    int
	mails    []caughtMail   // oldest first
	subjects []caughtNumber // latest first
}

type caughtMail struct {
	N                       int
	At                      time.Time
	From, To, Subject, Text string
}

// caughtNumber is how many mails of one subject came.
type caughtNumber struct {
	Subject string
	Count   int
}

// Serve takes mail on one free loopback port and shows it on another until ctx
// ends, and returns both addresses.
func (m *MailCatcher) Serve(ctx context.Context) (mailAddr, pageAddr string, err error) {
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			if i > 0 {
				_ = listeners[0].Close()
			}
			return "", "", fmt.Errorf("catch mail: %w", err)
		}
	}
	mailAddr, pageAddr = listeners[0].Addr().String(), listeners[1].Addr().String()
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &mailSession{catcher: m}, nil }))
	server.Domain, server.MaxMessageBytes, server.MaxRecipients = "mail.shop.example", mailBytes, 1
	server.ReadTimeout, server.WriteTimeout = 2*time.Minute, 10*time.Second
	server.ErrorLog = slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug)
	page := &http.Server{Handler: m.page(pageAddr), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(listeners[0]); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			slog.Error("the sample mail server ended", "error", err)
		}
	}()
	go func() {
		if err := page.Serve(listeners[1]); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("the page of the sample mail server ended", "error", err)
		}
	}()
	context.AfterFunc(ctx, func() { _, _ = server.Close(), page.Close() })
	return mailAddr, pageAddr, nil
}

// mailSession is one connection to the mail catcher.
type mailSession struct {
	catcher  *MailCatcher
	from, to string
}

func (s *mailSession) Reset()        { s.from, s.to = "", "" }
func (s *mailSession) Logout() error { return nil }

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasSuffix(strings.ToLower(to), "@"+closedDomain) {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "There is no such mailbox"}
	}
	s.to = to
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.catcher.keep(caughtMail{At: time.Now(), From: s.from, To: s.to}, raw)
	return nil
}

func (m *MailCatcher) keep(c caughtMail, raw []byte) {
	c.Subject, c.Text = "(no subject)", string(raw)
	if read, err := netmail.ReadMessage(bytes.NewReader(raw)); err == nil {
		if subject, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject")); err == nil && subject != "" {
			c.Subject = subject
		}
		body := read.Body
		if strings.EqualFold(read.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
			body = quotedprintable.NewReader(body)
		}
		if text, err := io.ReadAll(io.LimitReader(body, mailTextBytes)); err == nil {
			c.Text = string(text)
		}
	}
	c.Subject, c.Text = cutBytes(c.Subject, 300), cutBytes(c.Text, mailTextBytes)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken++
	c.N = m.taken
	if m.mails = append(m.mails, c); len(m.mails) > mailsKept {
		m.mails = append(m.mails[:0], m.mails[1:]...)
	}
	m.count(c.Subject)
}

// count counts a mail of a subject, and moves it to the front.
func (m *MailCatcher) count(subject string) {
	now := caughtNumber{subject, 1}
	for i, s := range m.subjects {
		if s.Subject == subject {
			now.Count += s.Count
			m.subjects = append(m.subjects[:i], m.subjects[i+1:]...)
			break
		}
	}
	m.subjects = append([]caughtNumber{now}, m.subjects[:min(len(m.subjects), subjectsKept-1)]...)
}

func cutBytes(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

//go:embed mailcatcher.html
var mailPageSource string

//go:embed mailcatcher.css
var mailStyle []byte

// mailSecurity lets the page load its own style and nothing else; what stands
// in a mail is text.
const mailSecurity = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page shows what was taken. It can only be read, and only under its own
// address, so that no page of the world can have a browser read it.
func (m *MailCatcher) page(addr string) http.Handler {
	pages := template.Must(template.New("").Funcs(template.FuncMap{"thousands": thousands}).Parse(mailPageSource))
	mux := http.NewServeMux()
	show := func(w http.ResponseWriter, name string, data any) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := pages.ExecuteTemplate(w, name, data); err != nil {
			slog.Debug("show caught mail", "error", err) // whoever asked is gone
		}
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		m.mu.Lock()
		data := struct {
			Taken    int
			Mails    []caughtMail
			Subjects []caughtNumber
		}{Taken: m.taken, Subjects: append([]caughtNumber{}, m.subjects...)}
		for i := len(m.mails) - 1; i >= 0; i-- {
			data.Mails = append(data.Mails, m.mails[i])
		}
		m.mu.Unlock()
		show(w, "list", data)
	})
	mux.HandleFunc("GET /mails/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("n"))
		m.mu.Lock()
		var found *caughtMail
		for i := range m.mails {
			if err == nil && m.mails[i].N == n {
				c := m.mails[i]
				found = &c
			}
		}
		m.mu.Unlock()
		if found == nil {
			w.WriteHeader(http.StatusNotFound)
			show(w, "gone", nil)
			return
		}
		show(w, "mail", found)
	})
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write(mailStyle) // whoever asked may be gone
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", mailSecurity)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		if _, port, _ := net.SplitHostPort(addr); r.Host != addr && r.Host != "localhost:"+port {
			http.Error(w, "This page is found at http://"+addr, http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// thousands writes 1840 as 1,840.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
