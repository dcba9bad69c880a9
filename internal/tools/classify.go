package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// This file is the one table from what systems report to what a model is told:
// HTTP, SQLSTATE, errno, exit codes, network. Everything else is
// execution_error, maybe.

// verdictRow is one line of the table.
type verdictRow struct {
	t         ErrorType
	retryable Retryable
	origin    Origin
	what      string // for the message
	once      bool   // repeat once at most
	notSent   bool   // surely failed before anything was done
	unsure    bool   // may have been done
}

var httpTable = map[int]verdictRow{
	400: {InvalidArguments, RetryMaybe, OriginArguments, "bad request", false, false, false},
	401: {PermissionDenied, RetryNo, OriginService, "not authenticated", false, false, false},
	402: {PermissionDenied, RetryNo, OriginService, "payment required", false, false, false},
	403: {PermissionDenied, RetryNo, OriginPolicy, "forbidden", false, false, false},
	404: {NotFound, RetryMaybe, OriginArguments, "not found", false, false, false},
	405: {InvalidArguments, RetryMaybe, OriginArguments, "method not allowed", false, false, false},
	406: {InvalidArguments, RetryMaybe, OriginArguments, "not acceptable", false, false, false},
	407: {PermissionDenied, RetryNo, OriginService, "proxy not authenticated", false, false, false},
	408: {Timeout, RetryYes, OriginService, "request timed out", false, false, true},
	409: {Conflict, RetryMaybe, OriginService, "conflict", false, false, false},
	410: {NotFound, RetryNo, OriginArguments, "gone", false, false, false},
	412: {Conflict, RetryMaybe, OriginService, "precondition failed", false, false, false},
	413: {InvalidArguments, RetryMaybe, OriginArguments, "body too large", false, false, false},
	415: {InvalidArguments, RetryMaybe, OriginArguments, "content type not supported", false, false, false},
	// The service understood the request and says no to what it asks for.
	422: {ExecutionError, RetryMaybe, OriginArguments, "refused what was asked", false, false, false},
	423: {Conflict, RetryMaybe, OriginService, "locked", false, false, false},
	425: {Unavailable, RetryYes, OriginService, "too early", false, true, false},
	429: {RateLimited, RetryYes, OriginService, "too many requests", false, true, false},
	500: {Unavailable, RetryYes, OriginService, "internal error of the service", true, false, false},
	501: {ExecutionError, RetryNo, OriginService, "not implemented", false, true, false},
	502: {Unavailable, RetryYes, OriginService, "bad gateway", false, false, true},
	503: {Unavailable, RetryYes, OriginService, "service unavailable", false, false, false},
	504: {Unavailable, RetryYes, OriginService, "gateway timed out", false, false, true},
	505: {ExecutionError, RetryNo, OriginService, "HTTP version not supported", false, true, false},
	507: {Unavailable, RetryMaybe, OriginService, "out of storage", false, false, false},
	529: {Unavailable, RetryYes, OriginService, "overloaded", false, true, false},
}

// sqlTable goes by whole SQLSTATE first, then by class (two characters).
var sqlTable = map[string]verdictRow{
	"08":    {Unavailable, RetryYes, OriginService, "the connection to the database failed", false, false, true},
	"0A":    {ExecutionError, RetryMaybe, OriginArguments, "the database does not support this", false, false, false},
	"21":    {ExecutionError, RetryMaybe, OriginArguments, "the query gives more rows than it may", false, false, false},
	"22":    {ExecutionError, RetryMaybe, OriginArguments, "a value in the query is not acceptable", false, false, false},
	"23":    {Conflict, RetryMaybe, OriginArguments, "a constraint does not allow it", false, false, false},
	"25006": {PermissionDenied, RetryNo, OriginPolicy, "the data can only be read", false, true, false},
	"28":    {PermissionDenied, RetryNo, OriginService, "the database refused the credentials", false, true, false},
	"3D":    {NotFound, RetryNo, OriginService, "there is no such database", false, true, false},
	"3F":    {NotFound, RetryMaybe, OriginArguments, "there is no such schema", false, false, false},
	"40":    {Conflict, RetryYes, OriginService, "the transaction collided with another", false, true, false},
	"40003": {Unavailable, RetryMaybe, OriginService, "whether the statement completed is not known", false, false, true},
	"42":    {ExecutionError, RetryMaybe, OriginArguments, "the query is wrong", false, false, false},
	"42501": {PermissionDenied, RetryNo, OriginPolicy, "the database does not allow it", false, false, false},
	"42703": {NotFound, RetryMaybe, OriginArguments, "there is no such column", false, false, false},
	"42883": {NotFound, RetryMaybe, OriginArguments, "there is no such function", false, false, false},
	"42P01": {NotFound, RetryMaybe, OriginArguments, "there is no such table", false, false, false},
	"53":    {Unavailable, RetryYes, OriginService, "the database is out of resources", false, false, false},
	"54":    {ExecutionError, RetryMaybe, OriginArguments, "the query is too large for the database", false, false, false},
	"55P03": {Conflict, RetryYes, OriginService, "what is needed is locked", false, true, false},
	"57014": {Timeout, RetryMaybe, OriginArguments, "the query was ended at its time limit", false, false, false},
	"57P":   {Unavailable, RetryYes, OriginService, "the database is shutting down or starting", false, false, true},
	"58":    {Unavailable, RetryMaybe, OriginService, "the database has a fault of its system", false, false, false},
	"XX":    {Unavailable, RetryMaybe, OriginService, "the database has an internal fault", false, false, false},
}

var errnoTable = map[syscall.Errno]verdictRow{
	syscall.ENOENT:       {NotFound, RetryMaybe, OriginArguments, "there is no such file or directory", false, true, false},
	syscall.ENOTDIR:      {NotFound, RetryMaybe, OriginArguments, "a part of the path is no directory", false, true, false},
	syscall.EISDIR:       {InvalidArguments, RetryMaybe, OriginArguments, "it is a directory", false, true, false},
	syscall.EEXIST:       {Conflict, RetryMaybe, OriginArguments, "it exists already", false, true, false},
	syscall.ENOTEMPTY:    {Conflict, RetryMaybe, OriginArguments, "the directory is not empty", false, true, false},
	syscall.ENAMETOOLONG: {InvalidArguments, RetryMaybe, OriginArguments, "the name is too long", false, true, false},
	syscall.ELOOP:        {PermissionDenied, RetryNo, OriginArguments, "links go round in a circle", false, true, false},
	syscall.EINVAL:       {InvalidArguments, RetryMaybe, OriginArguments, "the system does not accept the value", false, true, false},
	syscall.EACCES:       {PermissionDenied, RetryNo, OriginPolicy, "the system does not allow it", false, true, false},
	syscall.EPERM:        {PermissionDenied, RetryNo, OriginPolicy, "the system does not allow it", false, true, false},
	syscall.EROFS:        {PermissionDenied, RetryNo, OriginPolicy, "the file system can only be read", false, true, false},
	syscall.ENOSPC:       {Unavailable, RetryMaybe, OriginService, "the disk is full", false, false, false},
	syscall.EDQUOT:       {Unavailable, RetryMaybe, OriginService, "the disk quota is used up", false, false, false},
	syscall.EMFILE:       {Unavailable, RetryYes, OriginHarness, "too many open files", false, true, false},
	syscall.EAGAIN:       {Unavailable, RetryYes, OriginService, "the system is busy", false, false, false},
	syscall.ECONNREFUSED: {Unavailable, RetryYes, OriginService, "the connection was refused", false, true, false},
	syscall.EHOSTUNREACH: {Unavailable, RetryYes, OriginService, "the host can't be reached", false, true, false},
	syscall.ENETUNREACH:  {Unavailable, RetryYes, OriginService, "the network can't be reached", false, true, false},
	syscall.ECONNRESET:   {Unavailable, RetryYes, OriginService, "the connection was cut", false, false, true},
	syscall.ECONNABORTED: {Unavailable, RetryYes, OriginService, "the connection was cut", false, false, true},
	syscall.EPIPE:        {Unavailable, RetryYes, OriginService, "the connection was cut", false, false, true},
	syscall.ETIMEDOUT:    {Timeout, RetryYes, OriginService, "the connection timed out", false, false, true},
}

var exitTable = map[int]verdictRow{
	2:   {ExecutionError, RetryMaybe, OriginArguments, "the command was used wrongly", false, false, false},
	124: {Timeout, RetryMaybe, OriginTool, "the command timed out", false, false, true},
	126: {PermissionDenied, RetryNo, OriginPolicy, "the command can't be executed", false, true, false},
	127: {NotFound, RetryMaybe, OriginArguments, "there is no such command", false, true, false},
	130: {Cancelled, RetryNo, OriginHarness, "the command was interrupted", false, false, true},
	137: {ExecutionError, RetryMaybe, OriginTool, "the command was killed, perhaps for its use of memory", false, false, true},
	139: {ExecutionError, RetryMaybe, OriginTool, "the command crashed", false, false, true},
	143: {ExecutionError, RetryMaybe, OriginTool, "the command was ended", false, false, true},
}

func (r verdictRow) failure(message string) *Failure {
	return &Failure{Type: r.t, Message: message, Retryable: r.retryable, Origin: r.origin, NotSent: r.notSent, Unsure: r.unsure, once: r.once}
}

// FromHTTP is the failure that an HTTP status stands for, nil for one below 400.
// service names who answered. Redirects that were not followed are no failure.
func FromHTTP(service string, status int, header http.Header) *Failure {
	if status < 400 {
		return nil
	}
	row, ok := httpTable[status]
	switch {
	case ok:
	case status < 500:
		row = verdictRow{t: ExecutionError, retryable: RetryMaybe, origin: OriginArguments, what: strings.ToLower(http.StatusText(status))}
	default:
		row = verdictRow{t: Unavailable, retryable: RetryMaybe, origin: OriginService, what: strings.ToLower(http.StatusText(status))}
	}
	if row.what == "" {
		row.what = "an error"
	}
	f := row.failure(fmt.Sprintf("%s answered %d: %s.", service, status, row.what)).With("status", status)
	f.RetryAfter = retryAfter(header, time.Now())
	return f
}

// retryAfter reads the header in both its forms.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if d, err := time.ParseDuration(v + "s"); err == nil {
		return max(0, d)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Classify makes a failure of any error. One that holds a *Failure is that
// failure. The rest goes by the table; what is not in it is execution_error.
func Classify(err error) *Failure {
	if f, ok := AsFailure(err); ok {
		return f
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fromSQL(pg).Because(err)
	}
	if f := fromNetwork(err); f != nil {
		return f.Because(err)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fromExit(exit).Because(err)
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		if row, ok := errnoTable[no]; ok {
			return row.failure(sentence(row.what, err)).Because(err)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return verdictRow{t: Timeout, retryable: RetryYes, origin: OriginService, unsure: true}.failure("The call did not finish in time.").Because(err)
	case errors.Is(err, context.Canceled):
		return verdictRow{t: Cancelled, retryable: RetryNo, origin: OriginHarness, unsure: true}.failure("The call was stopped before it finished.").Because(err)
	case errors.Is(err, fs.ErrNotExist):
		return errnoTable[syscall.ENOENT].failure(sentence("there is no such file or directory", err)).Because(err)
	case errors.Is(err, fs.ErrPermission):
		return errnoTable[syscall.EACCES].failure(sentence("the system does not allow it", err)).Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), pgconn.SafeToRetry(err):
		row := errnoTable[syscall.ECONNRESET]
		row.notSent = pgconn.SafeToRetry(err)
		row.unsure = !row.notSent
		return row.failure(sentence("the connection ended in the middle of the answer", err)).Because(err)
	}
	return Fail(ExecutionError, sentence("the tool failed", err)).Because(err)
}

func fromSQL(pg *pgconn.PgError) *Failure {
	row, ok := sqlTable[pg.Code]
	for n := 3; !ok && n >= 2 && len(pg.Code) >= n; n-- {
		row, ok = sqlTable[pg.Code[:n]]
	}
	if !ok {
		row = verdictRow{t: ExecutionError, retryable: RetryMaybe, origin: OriginService, what: "the database reported an error"}
	}
	f := row.failure(fmt.Sprintf("%s: %s.", upper(row.what), strings.TrimSuffix(pg.Message, "."))).With("sqlstate", pg.Code)
	for key, v := range map[string]string{"detail": pg.Detail, "database_hint": pg.Hint, "constraint": pg.ConstraintName, "table": pg.TableName, "column": pg.ColumnName} {
		if v != "" {
			f.With(key, v)
		}
	}
	if pg.Position > 0 {
		f.With("position", pg.Position)
	}
	return f
}

// fromNetwork knows names that don't resolve, dials that fail before anything
// was sent, and timeouts of sockets.
func fromNetwork(err error) *Failure {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		row := verdictRow{t: Unavailable, retryable: RetryYes, origin: OriginService, notSent: true}
		if dns.IsNotFound {
			row = verdictRow{t: NotFound, retryable: RetryMaybe, origin: OriginArguments, notSent: true}
			return row.failure(fmt.Sprintf("The host name %q does not exist.", dns.Name))
		}
		return row.failure(fmt.Sprintf("The host name %q could not be looked up.", dns.Name))
	}
	op, isOp := errors.AsType[*net.OpError](err)
	dialing := isOp && op.Op == "dial"
	if no, ok := errors.AsType[syscall.Errno](err); ok && (isOp || dialing) {
		if row, known := errnoTable[no]; known {
			row.notSent = row.notSent || dialing
			row.unsure = row.unsure && !dialing
			return row.failure(sentence(row.what, err))
		}
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() && !errors.Is(err, context.DeadlineExceeded) {
		return verdictRow{t: Timeout, retryable: RetryYes, origin: OriginService, notSent: dialing, unsure: !dialing}.failure(sentence("the connection timed out", err))
	}
	if dialing && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return verdictRow{t: Unavailable, retryable: RetryYes, origin: OriginService, notSent: true}.failure(sentence("no connection could be made", err))
	}
	return nil
}

func fromExit(exit *exec.ExitError) *Failure {
	code := exit.ExitCode()
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	return FromExitCode(code)
}

// FromExitCode is the failure that a program's exit code stands for: 128 and the
// signal's number where a signal ended it.
func FromExitCode(code int) *Failure {
	row, ok := exitTable[code]
	if !ok {
		row = verdictRow{t: ExecutionError, retryable: RetryMaybe, origin: OriginTool, what: "the command failed"}
	}
	return row.failure(fmt.Sprintf("%s (exit code %d).", upper(row.what), code)).With("exit_code", code)
}

// sentence is what happened with the error's own words behind it.
func sentence(what string, err error) string {
	text := err.Error()
	if text == "" {
		return upper(what) + "."
	}
	return upper(what) + ": " + strings.TrimSuffix(text, ".") + "."
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
