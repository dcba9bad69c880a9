package builtin

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"baton/internal/mail"
	"baton/internal/tools"
)

//go:embed send_email.md
var sendEmailText string

// Control characters are refused here and again where the mail is written: a
// line break in a subject would begin a header of its own.
const sendEmailSchema = `{
  "type": "object",
  "properties": {
    "to": {"type": "array", "minItems": 1, "maxItems": 5000, "uniqueItems": true, "description": "addresses; each gets a mail of its own",
      "items": {"type": "string", "maxLength": 254, "pattern": "^[^@\\s<>\"(),:;\\\\\\x00-\\x1f\\x7f]+@[^@\\s<>\"(),:;\\\\\\x00-\\x1f\\x7f]+$"}},
    "subject": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^\\x00-\\x1f\\x7f]+$", "description": "one line"},
    "text": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "plain text"}
  },
  "required": ["to", "subject", "text"],
  "additionalProperties": false
}`

type sendEmailArgs struct {
	To      []string `json:"to"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
}

// sendEmailTimeout is enough for the longest list at the pace of a slow server.
const sendEmailTimeout = 30 * time.Minute

// mailsPerConnection is what servers commonly take over one connection.
const mailsPerConnection = 100

// SendEmail is the tool send_email on the installation's mail server.
func SendEmail(sender *mail.Sender) (tools.Tool, error) {
	s := &sendEmail{sender}
	spec := tools.Spec{
		Name: "send_email", Version: "1", Description: strings.TrimSpace(sendEmailText) + "\n- The sender is " + sender.From() + ".",
		Words: map[string]tools.Words{
			"en":      {Title: "Send e-mail", Sentence: "Send “{subject}” to {to:recipients}"},
			"zh-Hans": {Title: "发送邮件", Sentence: "将“{subject}”发送给 {to:位收件人}"},
		},
		Schema:  json.RawMessage(sendEmailSchema),
		Example: json.RawMessage(`{"to":["anna@example.org"],"subject":"Your order 48-2217","text":"Dear Anna,\n\nyour order was sent today.\n\nKind regards\nThe shop"}`),
		Effect:  tools.EffectIrreversible,
		Claims:  []string{"sent", "emailed", "mailed", "已发送", "已寄出"},
		Timeout: sendEmailTimeout, Deadline: sendEmailTimeout,
		Service:        func(json.RawMessage) string { return "mail server" },
		ConcurrencyKey: func(json.RawMessage) string { return "mail server" },
		Failures: []tools.DeclaredFailure{
			{Name: "down", Type: tools.Unavailable, When: "the mail server can't be reached; nothing was sent"},
			{Name: "sender_refused", Type: tools.PermissionDenied, When: "the mail server takes no mail from this installation"},
			{Name: "no_such_mailbox", Type: tools.NotFound, When: "the mail server refuses the address for good"},
			{Name: "not_now", Type: tools.Unavailable, When: "the mail server refuses for the time being"},
			{Name: "cut", Type: tools.OutcomeUnknown, When: "the connection breaks after a mail was handed over, before the answer"},
		},
	}
	return tools.Func(spec, s.run)
}

type sendEmail struct{ sender *mail.Sender }

func (s *sendEmail) run(ctx context.Context, a sendEmailArgs) (tools.Output, error) {
	tools.NothingSent(ctx)
	batch := tools.Report(ctx, a.To)
	conn, err := s.sender.Open(ctx)
	if err != nil {
		return tools.Output{}, unconnected(err)
	}
	defer func() { conn.Close() }()
	key := tools.RunningCall(ctx).Key
	pending := batch.Pending()
	for i, to := range pending {
		if err := ctx.Err(); err != nil {
			return s.early(batch, pending[i:], "Not tried: the call was ended before.", err)
		}
		if i > 0 && i%mailsPerConnection == 0 {
			next, err := s.sender.Open(ctx)
			if err != nil {
				return tools.Output{}, unconnected(err)
			}
			conn.Close()
			conn = next
		}
		batch.Begin(to)
		tools.Sending(ctx)
		err := conn.Send(mail.Message{To: to, Subject: a.Subject, Text: a.Text, ID: messageID(key, to)})
		if err == nil {
			batch.Done(to, nil)
			continue
		}
		e, ok := errors.AsType[*mail.Error](err)
		switch {
		case !ok: // this one can't be written; the next may
			batch.Fail(to, tools.Fail(tools.InvalidArguments, sentence(err)))
		case e.Unsure && len(a.To) == 1:
			return tools.Output{}, broken(e, to) // a person is asked what became of it
		case e.Unsure:
			// Of many, only this one is in doubt: that is for the answer to say, so
			// that nobody has all of them sent again for its sake.
			batch.Fail(to, unknown(to))
			return s.early(batch, pending[i+1:], "Not tried: the connection to the mail server broke before.", nil)
		case e.Closed() && ctx.Err() != nil:
			return s.early(batch, pending[i:], "Not sent: the call was ended before.", ctx.Err())
		case e.Closed():
			f := broken(e, to)
			batch.Fail(to, f)
			return tools.Output{}, f // the harness goes on with what is left
		case e.All:
			batch.Fail(to, refused(e))
			return s.early(batch, pending[i+1:], "Not tried: the mail server takes no mail from this sender now.", refused(e))
		default:
			batch.Fail(to, refused(e))
		}
	}
	return s.done(batch)
}

// early is the answer when not all were tried: what was done counts. If nothing
// was, it is why, and surely nothing was sent.
func (s *sendEmail) early(batch tools.Batch, rest []string, reason string, why error) (tools.Output, error) {
	if completed, _, _ := batch.Items(); len(completed) == 0 && why != nil {
		if f, ok := tools.AsFailure(why); ok {
			f.NotSent = true
		}
		return tools.Output{}, why
	}
	for _, to := range rest {
		batch.Skip(to, reason)
	}
	return s.done(batch)
}

// done is the answer when each was settled; a call that reached nobody is a
// failure.
func (s *sendEmail) done(batch tools.Batch) (tools.Output, error) {
	completed, failed, skipped := batch.Items()
	if len(completed)+len(skipped) == 0 {
		f := tools.Fail(failed[0].Type, "No mail was sent. "+failed[0].Reason, "Look at the reason for each address, then correct the list.")
		f.Retryable, f.NotSent = failed[0].Retryable, true
		return tools.Output{}, f
	}
	data, err := json.Marshal(map[string]int{"sent": len(completed), "failed": len(failed), "skipped": len(skipped)})
	if err != nil {
		return tools.Output{}, fmt.Errorf("marshal counts: %w", err)
	}
	out := tools.Output{Data: data, Completed: completed, Failed: failed, Skipped: skipped}
	if len(failed)+len(skipped) > 0 {
		out.State = fmt.Sprintf("%d of %d mails were sent; they can't be called back.", len(completed), len(completed)+len(failed)+len(skipped))
		out.Notices = []string{"Ways on: send to the failed and skipped addresses once they are corrected; accept it as it is; ask a person. What was sent can't be undone."}
	}
	return out, nil
}

// messageID is the same for a repeat of one call to one person.
func messageID(key, to string) string {
	sum := sha256.Sum256([]byte(key + "|" + to))
	return hex.EncodeToString(sum[:16])
}

// unconnected: nothing was sent, so the harness may try again.
func unconnected(err error) *tools.Failure {
	e, ok := errors.AsType[*mail.Error](err)
	if ok && e.Code >= 500 {
		f := tools.Fail(tools.PermissionDenied, "The mail server refuses this installation: "+sentence(e), "Report that mail can't be sent; the operator has to look at the mail server.")
		f.NotSent = true
		return f.With("smtp_code", e.Code).Because(err)
	}
	f := tools.Fail(tools.Unavailable, "The mail server can't be reached; nothing was sent.", "Go on without it, or report that mail can't be sent now.")
	f.NotSent = true
	return f.Because(err)
}

// broken: the connection broke at one person's mail.
func broken(e *mail.Error, to string) *tools.Failure {
	f := tools.Fail(tools.Unavailable, "The connection to the mail server broke at "+to+".",
		"Look at completed, failed and skipped: each address says what became of it.")
	if e.Unsure {
		f.Message = "The connection to the mail server broke after the mail to " + to + " was handed over, before it was confirmed."
	}
	f.Unsure, f.NotSent = e.Unsure, !e.Unsure
	return f.Because(e)
}

// unknown is what became of one mail of many when the connection broke before
// the answer.
func unknown(to string) *tools.Failure {
	return tools.Fail(tools.OutcomeUnknown, "It was handed over, and the connection broke before the mail server confirmed it: "+to+" may get it or not.")
}

// refused is the mail server's no to one person's mail.
func refused(e *mail.Error) *tools.Failure {
	t := tools.ExecutionError
	switch {
	case e.All && !e.Temporary():
		t = tools.PermissionDenied
	case e.Temporary():
		t = tools.Unavailable
	case e.Code == 550 || e.Code == 551 || e.Code == 553:
		t = tools.NotFound
	}
	f := tools.Fail(t, sentence(e)).With("smtp_code", e.Code)
	f.NotSent = true
	if t == tools.Unavailable {
		f.Retryable = tools.RetryMaybe // later, not at once
	}
	return f
}

// sentence makes an error a sentence.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
