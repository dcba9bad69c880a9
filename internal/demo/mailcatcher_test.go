package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/smtp"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, url, host string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(body)
}

// R: G1, T7, K3
// case: abuse A02 (mail)
func TestWhatWasSentCanBeSeen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var m MailCatcher
	mailAddr, page, err := m.Serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, body := read(t, "http://"+page+"/", page); !strings.Contains(body, "Nothing has been sent yet") {
		t.Errorf("empty: %s", body)
	}
	text := "Subject: =?utf-8?q?Fr=C3=BChling?= <script>\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nPrices =E2=82=AC <img src=3Dx>\r\n"
	if err := smtp.SendMail(mailAddr, nil, "shop@shop.example", []string{"anna@postbox.example"}, []byte(text)); err != nil {
		t.Fatal(err)
	}
	err = smtp.SendMail(mailAddr, nil, "shop@shop.example", []string{"gone@" + closedDomain}, []byte(text))
	if err == nil || !strings.Contains(err.Error(), "550") {
		t.Errorf("a mailbox that isn't there: %v", err)
	}
	for path, want := range map[string]string{"/": "1 mail was sent", "/mails/1": "Prices € &lt;img src=x&gt;"} {
		code, header, body := read(t, "http://"+page+path, page)
		if code != 200 || !strings.Contains(body, want) || !strings.Contains(body, "Frühling &lt;script&gt;") || strings.Contains(body, "<script") || strings.Contains(body, "<img") {
			t.Errorf("%s: %d %s", path, code, body)
		}
		if csp := header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", path, csp)
		}
	}
	for path, host := range map[string]string{"/mails/2": page, "/mails/x": page, "/other": page, "/": "evil.example"} {
		if code, _, body := read(t, "http://"+page+path, host); code < 400 {
			t.Errorf("%s as %s: %d %s", path, host, code, body)
		}
	}
}

// However much is sent, what is kept is bounded.
func TestTheMailCatcherForgets(t *testing.T) {
	t.Parallel()
	var m MailCatcher
	for i := range 1000 {
		m.keep(caughtMail{At: time.Unix(0, 0), To: "a@postbox.example"}, fmt.Appendf(nil, "Subject: %d\r\n\r\n%s", i/10, strings.Repeat("x", 2*mailTextBytes)))
	}
	if len(m.mails) != mailsKept || len(m.subjects) != subjectsKept || m.taken != 1000 || m.mails[mailsKept-1].N != 1000 {
		t.Errorf("%d mails, %d subjects, %d taken", len(m.mails), len(m.subjects), m.taken)
	}
	if m.subjects[0] != (caughtNumber{"99", 10}) || len(m.mails[0].Text) != mailTextBytes {
		t.Errorf("%+v, %d bytes", m.subjects[0], len(m.mails[0].Text))
	}
}
