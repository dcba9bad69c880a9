package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"baton/internal/safehttp"
)

// answerTimeout is how long the server may take for one command. The answer to
// a whole message may take longer: servers look at it before they take it.
const (
	answerTimeout  = 20 * time.Second
	messageTimeout = time.Minute
)

// Sender delivers to one mail server in one person's or service's name. It holds
// no connection and is safe for concurrent use.
type Sender struct {
	address, host string
	from          netmail.Address
	// TLS is for servers that encrypt; its ServerName is filled in. Certificates
	// are checked: a server that offers STARTTLS with a wrong one gets no mail.
	TLS *tls.Config
}

// New makes a sender for address, host:port (465 is TLS from the first byte),
// and from, "baton@example.org" or "Baton <baton@example.org>". The error is
// about one of them.
func New(address, from string) (*Sender, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("mail server %q: %w", address, err)
	}
	sender, err := netmail.ParseAddress(from)
	if err == nil {
		err = bareAddress(sender.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("sender %q: %w", from, err)
	}
	return &Sender{address: address, host: host, from: *sender}, nil
}

// From is the sender's bare address.
func (s *Sender) From() string { return s.from.Address }

// Error is a message, or a connection, that failed.
type Error struct {
	Code int    // of the server's answer; 0 if none came
	Said string // what it answered
	// All says that every other message would fail the same way on this
	// connection: it is gone, or the sender is refused.
	All bool
	// Unsure says that the server had the whole message when the connection
	// broke, and may deliver it.
	Unsure bool

	cause error
}

func (e *Error) Error() string {
	if e.Code > 0 {
		return fmt.Sprintf("the mail server answered %d: %s", e.Code, e.Said)
	}
	return fmt.Sprintf("the mail server gave no answer: %v", e.cause)
}

func (e *Error) Unwrap() error { return e.cause }

// Closed says that the connection is of no more use; another may do.
func (e *Error) Closed() bool { return e.Code == 0 || e.Code == closing }

// closing is how a server says that it ends the connection, whatever it was
// asked: it has had enough messages over it, or goes down.
const closing = 421

// Temporary says that the server refuses now and may not later.
func (e *Error) Temporary() bool { return e.Code >= 400 && e.Code < 500 }

func failed(err error, all bool) *Error {
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		return &Error{Code: said.Code, Said: strings.Join(strings.Fields(said.Msg), " "), All: all || said.Code == closing, cause: err}
	}
	return &Error{All: true, cause: err}
}

// Conn is an open connection, for one message after the other.
type Conn struct {
	sender *Sender
	raw    net.Conn
	client *smtp.Client
	stop   func() bool
}

// Open connects. ctx bounds the connection's whole life: when it ends, whatever
// is waited for fails. The error is an *Error; nothing was sent.
func (s *Sender) Open(ctx context.Context) (*Conn, error) {
	raw, err := safehttp.DialOperator(ctx, s.address)
	if err != nil {
		return nil, failed(err, true)
	}
	c := &Conn{sender: s, raw: raw, stop: context.AfterFunc(ctx, func() { _ = raw.Close() })}
	if err := c.greet(ctx); err != nil {
		c.cut()
		return nil, failed(errors.Join(err, ctx.Err()), true)
	}
	return c, nil
}

func (c *Conn) greet(ctx context.Context) error {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.sender.TLS != nil {
		config = c.sender.TLS.Clone()
	}
	config.ServerName = c.sender.host
	if _, port, _ := net.SplitHostPort(c.sender.address); port == "465" {
		c.raw = tls.Client(c.raw, config)
	}
	c.patience(answerTimeout)
	client, err := smtp.NewClient(c.raw, c.sender.host)
	if err != nil {
		return err
	}
	c.client = client
	_, domain, _ := strings.Cut(c.sender.from.Address, "@")
	if err := client.Hello(domain); err != nil {
		return err
	}
	if offered, _ := client.Extension("STARTTLS"); offered {
		if err := client.StartTLS(config); err != nil {
			return fmt.Errorf("encrypt: %w", err)
		}
	}
	return ctx.Err()
}

// patience is how long the server may take from now on.
func (c *Conn) patience(d time.Duration) { _ = c.raw.SetDeadline(time.Now().Add(d)) } // fails on a closed one, as does what follows

// Send hands over one message. The error is an *Error, or one that says what of
// the message can't be sent at all. After an *Error with All the connection is
// of no more use.
func (c *Conn) Send(m Message) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("write mail: %w", err)
	}
	c.patience(answerTimeout)
	if err := c.client.Mail(c.sender.from.Address); err != nil {
		return failed(err, true)
	}
	if err := c.client.Rcpt(m.To); err != nil {
		return c.again(failed(err, false))
	}
	w, err := c.client.Data()
	if err != nil {
		return c.again(failed(err, false))
	}
	c.patience(messageTimeout)
	if err := m.writeTo(w, c.sender.from, time.Now()); err != nil {
		return failed(err, true) // without its end the server takes nothing
	}
	if err := w.Close(); err != nil {
		e := failed(err, false)
		e.Unsure = e.Code == 0
		return e
	}
	return nil
}

// again clears the server's table after a refusal, for the next message.
func (c *Conn) again(e *Error) *Error {
	if !e.All && c.client.Reset() != nil {
		e.All = true
	}
	return e
}

// Close says goodbye, briefly.
func (c *Conn) Close() {
	c.patience(2 * time.Second)
	_ = c.client.Quit() // what was sent is sent
	c.cut()
}

func (c *Conn) cut() {
	c.stop()
	_ = c.raw.Close()
}
