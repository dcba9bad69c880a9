package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/id"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// The test binary is also the server that is killed: started again with these
// variables, it works on one session and kills itself at the given boundary
// between two statements, or inside a tool.
const (
	crashURL     = "AGENT_TEST_CRASH_URL"
	crashSession = "AGENT_TEST_CRASH_SESSION"
	crashSlots   = "AGENT_TEST_CRASH_SLOTS"
	crashWitness = "AGENT_TEST_CRASH_WITNESS"
	crashAt      = "AGENT_TEST_CRASH_AT" // number of the boundary; 0: never
	crashIn      = "AGENT_TEST_CRASH_IN" // tool:before or tool:after its effect
)

// boundaries counts the starts and ends of statements and kills the process at
// one of them.
type boundaries struct {
	at   int64
	seen atomic.Int64
}

func (b *boundaries) pass() {
	if b.seen.Add(1) == b.at {
		die()
	}
}

func (b *boundaries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	b.pass()
	return ctx
}

func (b *boundaries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) { b.pass() }

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// effects are the tools of the crash tests. Each tells the witness, a file
// outside Baton, what it really did, under its idempotency key.
func effects(witness, in string) []tools.Tool {
	act := func(name string, effect tools.Effect) tools.Tool {
		return tool(name, effect, func(ctx context.Context, args json.RawMessage) (tools.Output, error) {
			if in == name+":before" {
				die()
			}
			f, err := os.OpenFile(witness, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return tools.Output{}, err
			}
			defer f.Close()
			if _, err := fmt.Fprintf(f, "%s %s %s\n", name, tools.RunningCall(ctx).Key, args); err != nil {
				return tools.Output{}, err
			}
			if err := f.Sync(); err != nil {
				return tools.Output{}, err
			}
			if in == name+":after" {
				die()
			}
			return tools.Output{Data: args}, nil
		})
	}
	return []tools.Tool{act("look", tools.EffectRead), act("put", tools.EffectIdempotent), act("send", tools.EffectIrreversible)}
}

// runUntilKilled is the child: a server's life with one session.
func runUntilKilled() {
	t := &child{}
	at, _ := strconv.ParseInt(os.Getenv(crashAt), 10, 64)
	cfg, err := pgxpool.ParseConfig(os.Getenv(crashURL))
	t.check(err)
	cfg.ConnConfig.Tracer = &boundaries{at: at}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	t.check(err)
	h := join(t, pool, os.Getenv(crashSlots), effects(os.Getenv(crashWitness), os.Getenv(crashIn))...)
	_, err = sessions.Reclaim(context.Background(), pool, h.inserter, h.replica)
	t.check(err)
	session, err := id.Parse[id.Session](os.Getenv(crashSession))
	t.check(err)
	t.check(h.work(session))
	t.end()
	os.Exit(0)
}

// child is a testing.TB for the child process, which has no test: join and work
// need only these few of its methods.
type child struct {
	testing.TB
	cleanups []func()
}

func (c *child) Helper()                        {}
func (c *child) Context() context.Context       { return context.Background() }
func (c *child) Cleanup(f func())               { c.cleanups = append(c.cleanups, f) }
func (c *child) Fatalf(format string, a ...any) { fmt.Printf(format+"\n", a...); os.Exit(1) }
func (c *child) Fatal(a ...any)                 { fmt.Println(a...); os.Exit(1) }

func (c *child) check(err error) {
	if err != nil {
		c.Fatal(err)
	}
}

func (c *child) end() {
	for _, f := range c.cleanups {
		f()
	}
}

// life starts a child on a session and says whether it was killed.
func life(t *testing.T, env ...string) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return true
}

const oneByOne = `
def reply(s):
    todo = ["look", "put", "send"]
    if s.step < 3:
        return call(todo[s.step], n = s.step)
    return finish("All done.", evidence = [r.call_id for r in s.results if r.status == "success"])
`

const allowSend = "permission: {mode: auto, rules: [{tool: send, do: allow}]}"

const allAtOnce = `
def reply(s):
    if s.step == 0:
        return [call("look", n = 0), call("put", n = 1), call("send", n = 2)]
    return finish("All done.", evidence = [r.call_id for r in s.results if r.status == "success"])
`

// A process is killed at every boundary between two statements of a session
// with a read, an idempotent write and an irreversible one, and started again.
// R: A1, L1, X7
// case: fault F01, F02, F04, F07
// case: harness A1
func TestKilledAtEachStatementASessionLosesNothingAndRepeatsNoEffect(t *testing.T) {
	t.Parallel()
	for name, playbook := range map[string]string{"one by one": oneByOne, "all at once": allAtOnce} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := build(t)
			doubts := 0
			for at := 1; ; at++ {
				c := crash{h: h, session: h.start(playbook, allowSend), dir: t.TempDir()}
				if !c.live(strconv.Itoa(at), "") {
					if at < 10 {
						t.Fatalf("only %d boundaries", at)
					}
					t.Logf("%d boundaries, %d left the irreversible call in doubt", at-1, doubts)
					break
				}
				if c.live("0", "") {
					t.Fatalf("boundary %d: killed without having been told to", at)
				}
				if c.check(fmt.Sprintf("killed at boundary %d", at)) {
					doubts++
				}
			}
			if doubts == 0 {
				t.Error("no kill fell between the start and the result of the irreversible call")
			}
		})
	}
}

// R: A1, L1, X7
// case: fault F03
func TestKilledInsideAToolItsEffectIsNotRepeated(t *testing.T) {
	t.Parallel()
	h := build(t)
	for _, in := range []string{"look:before", "look:after", "put:before", "put:after", "send:before", "send:after"} {
		c := crash{h: h, session: h.start(oneByOne, allowSend), dir: t.TempDir()}
		if !c.live("0", in) {
			t.Fatalf("%s: not killed", in)
		}
		c.live("0", "")
		doubt := c.check("killed in " + in)
		if want := strings.HasPrefix(in, "send"); doubt != want {
			t.Errorf("%s: in doubt %v, want %v", in, doubt, want)
		}
	}
}

// crash is one session, killed and started again.
type crash struct {
	h       *house
	session id.Session
	dir     string
}

func (c crash) witness() string { return filepath.Join(c.dir, "witness") }

func (c crash) live(at, in string) (killed bool) {
	t := c.h.t.(*testing.T)
	return life(t, crashURL+"="+pgtest.URL(c.h.pool), crashSession+"="+c.session.String(), crashSlots+"="+filepath.Join(c.dir, "slots"),
		crashWitness+"="+c.witness(), crashAt+"="+at, crashIn+"="+in)
}

// check holds the invariants after the second life, and says whether a person
// is asked what became of the irreversible call.
func (c crash) check(when string) (doubt bool) {
	t := c.h.t
	s := c.h.get(c.session)
	results := c.h.results(c.session) // one each, numbers gap-free
	doubt = s.Status == sessions.Waiting && s.OpenQuestions == 1
	for n, r := range results {
		if !r.OK() {
			t.Errorf("%s: call %d ended as %s", when, n, r.ForModel())
		}
	}
	if !doubt && (s.Status != sessions.Completed || s.Outcome != sessions.Done) {
		t.Errorf("%s: session is %s %s, %s", when, s.Status, s.Outcome, s.Failure)
	}
	text, err := os.ReadFile(c.witness())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	ran := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, _, _ = strings.Cut(key, " ")
		ran[name] = append(ran[name], key)
	}
	if n := len(ran["send"]); n > 1 || n == 0 && !doubt {
		t.Errorf("%s: the irreversible effect took place %d times", when, n)
	}
	if keys := ran["put"]; len(keys) == 0 || !allEqual(keys) {
		t.Errorf("%s: the idempotent write had keys %v", when, keys)
	}
	return doubt
}

func allEqual(list []string) bool {
	for _, s := range list {
		if s != list[0] {
			return false
		}
	}
	return true
}

func itoa(n int) string { return strconv.Itoa(n) }
