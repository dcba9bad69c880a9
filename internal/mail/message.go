package mail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is one mail to one person.
type Message struct {
	To      string // a bare address: anna@example.org
	Subject string
	Text    string // lines end in \n or \r\n
	// ID tells the receiving side whether it has this very message already:
	// letters, digits, dots and hyphens. It becomes the Message-ID, with the
	// sender's domain.
	ID string
}

// check refuses what could become a header or a command of its own.
func (m Message) check() error {
	if err := bareAddress(m.To); err != nil {
		return fmt.Errorf("address of the receiver: %w", err)
	}
	if strings.ContainsFunc(m.Subject, control) || !utf8.ValidString(m.Subject) {
		return errors.New("the subject holds a control character")
	}
	if m.ID == "" || strings.ContainsFunc(m.ID, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-'
	}) {
		return errors.New("the id is not letters, digits, dots and hyphens")
	}
	return nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// bareAddress refuses what is not local@domain in plain characters. Addresses
// that need quotes exist, and are refused too: each has a history of being read
// otherwise by the next server.
func bareAddress(a string) error {
	parsed, err := netmail.ParseAddress(a)
	switch {
	case len(a) > 254:
		return errors.New("it is longer than 254 characters")
	case strings.ContainsFunc(a, func(r rune) bool { return control(r) || r == ' ' || r == '"' || r == '<' || r == '>' || r > 0x7e }):
		return errors.New("it holds a character that no plain address has")
	case err != nil || parsed.Address != a:
		return errors.New("it is no address such as anna@example.org")
	}
	return nil
}

// writeTo writes the message as it goes over the wire.
func (m Message) writeTo(w io.Writer, from netmail.Address, now time.Time) error {
	_, domain, _ := strings.Cut(from.Address, "@")
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", from.String()},
		{"To", "<" + m.To + ">"},
		{"Subject", mime.QEncoding.Encode("utf-8", m.Subject)},
		{"Date", now.Format(time.RFC1123Z)},
		{"Message-ID", "<" + m.ID + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"}, // so that nobody's holiday notice answers
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + folded(h[1]) + "\r\n")
	}
	b.WriteString("\r\n")
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	body := quotedprintable.NewWriter(w)
	if _, err := io.WriteString(body, strings.ReplaceAll(m.Text, "\r\n", "\n")); err != nil {
		return err
	}
	return body.Close()
}

// folded breaks a long header at its spaces, as encoded words are separated by
// them. A plain word that is longer than a line may be stays whole.
func folded(value string) string {
	var b strings.Builder
	line := 20 // the header's name
	for i, word := range strings.Split(value, " ") {
		switch {
		case i == 0:
		case line+len(word) > 76:
			b.WriteString("\r\n ")
			line = 0
		default:
			b.WriteByte(' ')
		}
		b.WriteString(word)
		line += len(word) + 1
	}
	return b.String()
}
