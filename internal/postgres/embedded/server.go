package embedded

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/problem"
)

// Config says where a Postgres of our own lives and how it is set.
type Config struct {
	DataDir  string            // made if it doesn't exist
	Roles    []string          // further database roles that this machine's user may log in as
	Settings map[string]string // postgresql.conf settings beside ours
	Log      *slog.Logger
}

// Server is a running Postgres that this process owns.
type Server struct {
	cfg    Config
	owner  *owner
	url    string
	socket string
	cmd    *exec.Cmd
	log    *tail
	exited chan struct{} // closed once the child has been reaped
	stop   sync.Once
}

const (
	superuser   = "baton"
	database    = "baton"
	startWithin = 30 * time.Second
	stopWithin  = 10 * time.Second
	portInName  = 5432 // part of the socket's file name; nothing listens on TCP
)

// Start takes the data directory and starts its Postgres, making the cluster
// on first use. Errors are problems: data_dir_in_use, data_dir_unwritable,
// data_dir_unreachable, postgres_missing, postgres_no_user,
// postgres_start_failed, postgres_version_differs.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	bin, err := Binaries()
	if err != nil {
		return nil, err
	}
	if cfg.DataDir, err = filepath.Abs(cfg.DataDir); err != nil {
		return nil, fmt.Errorf("find data directory: %w", err)
	}
	user, err := childUser()
	if err != nil {
		return nil, err
	}
	owner, err := own(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, owner: owner, exited: make(chan struct{})}
	if err := s.start(ctx, bin, user); err != nil {
		owner.release()
		return nil, err
	}
	return s, nil
}

// URL is what a client on this machine connects to.
func (s *Server) URL() string { return s.url }

// URLFor is the URL of a database and role on this server. The role must be
// one of Config.Roles.
func (s *Server) URLFor(role, database string) string { return dsn(s.socket, role, database) }

// Exited is closed when Postgres ends, by Stop or by itself.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Announce tells those who ask for the owner where the pages are, and what its
// configuration offers.
func (s *Server) Announce(addr string, offers map[string][]string) error {
	return s.owner.announce(Run{PID: os.Getpid(), DatabaseURL: s.url, Addr: addr, Offers: offers})
}

// Stop ends Postgres in order (clients are cut, nothing is lost) and gives the
// data directory back. After ten seconds it is told to leave at once, which
// costs the next start a recovery.
func (s *Server) Stop() {
	s.stop.Do(func() {
		s.signal(syscall.SIGINT)
		select {
		case <-s.exited:
		case <-time.After(stopWithin):
			s.signal(syscall.SIGQUIT)
			<-s.exited
		}
		_ = os.RemoveAll(s.socket)
		s.owner.release()
	})
}

func (s *Server) signal(sig syscall.Signal) {
	// An error means that it has ended, which the caller waits for anyway.
	_ = s.cmd.Process.Signal(sig)
}

func (s *Server) start(ctx context.Context, bin string, user child) error {
	data := filepath.Join(s.cfg.DataDir, "postgres")
	if err := user.canReach(data); err != nil {
		return err
	}
	if err := user.own(data); err != nil {
		return unwritable(s.cfg.DataDir, err)
	}
	s.socket = socketDir(data)
	if err := user.own(s.socket); err != nil {
		return unwritable(s.socket, err)
	}
	s.url = dsn(s.socket, superuser, database)

	fresh, err := initialise(ctx, bin, data, user, s.cfg.Settings["fsync"] != "off")
	if err != nil {
		return err
	}
	if err := sameVersion(ctx, bin, data); err != nil {
		return err
	}
	if err := s.writeAccess(data, user); err != nil {
		return unwritable(data, err)
	}
	if err := endOrphan(ctx, data, s.cfg.Log); err != nil {
		return err
	}
	if err := s.launch(ctx, bin, data, user); err != nil {
		return err
	}
	if fresh {
		if err := s.createDatabase(ctx); err != nil {
			s.Stop()
			return err
		}
	}
	return s.Announce("", nil)
}

// launch starts Postgres and waits until it answers. A postmaster that was
// killed a moment ago can linger in the process table and still block its
// directory, so that refusal is tried again for a while.
func (s *Server) launch(ctx context.Context, bin, data string, user child) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		if err := s.run(bin, data, user); err != nil {
			return err
		}
		err := s.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			if strings.Contains(s.log.String(), `"postmaster.pid" already exists`) && ctx.Err() == nil {
				s.exited = make(chan struct{})
				pause(ctx, 200*time.Millisecond)
				continue
			}
		default:
			s.signal(syscall.SIGQUIT)
			<-s.exited
		}
		return problem.Wrap(err, problem.Unavailable, "postgres_start_failed",
			problem.Params{"dir": data, "said": s.log.lastLine()})
	}
}

// run starts the child on an OS thread that lives as long as it does: the
// kernel's death signal is tied to the thread, not to the process.
func (s *Server) run(bin, data string, user child) error {
	args := []string{"-D", data, "-k", s.socket, "-p", fmt.Sprint(portInName)}
	for _, setting := range s.settings() {
		args = append(args, "-c", setting)
	}
	s.log = &tail{log: s.cfg.Log}
	s.cmd = exec.Command(filepath.Join(bin, "postgres"), args...) //nolint:noctx // it ends by Stop, which lets it shut down
	s.cmd.Dir = "/"
	s.cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = attributes(user)

	started := make(chan error, 1)
	cmd, exited := s.cmd, s.exited
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its words are in the log
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		return problem.Wrap(err, problem.Unavailable, "postgres_start_failed", problem.Params{"dir": data, "said": err.Error()})
	}
	return nil
}

func (s *Server) settings() []string {
	all := []string{
		"listen_addresses=", // the socket only: TCP would let every local user in
		"max_connections=100",
		"shared_buffers=128MB",
		"log_min_messages=warning",
		"log_timezone=UTC", "timezone=UTC",
	}
	for name, value := range s.cfg.Settings {
		all = append(all, name+"="+value)
	}
	return all
}

func (s *Server) ready(ctx context.Context) error {
	admin := dsn(s.socket, superuser, "postgres")
	for {
		conn, err := pgx.Connect(ctx, admin)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-s.exited:
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) createDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, dsn(s.socket, superuser, "postgres"))
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sqlCreateDatabase); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return nil
}

const sqlCreateDatabase = `create database baton`

func dsn(socket, role, database string) string {
	return "postgres:///" + url.PathEscape(database) + "?" +
		url.Values{"host": {socket}, "port": {fmt.Sprint(portInName)}, "user": {role}, "sslmode": {"disable"}}.Encode()
}

// socketDir is short whatever the data directory is called: a socket's path
// has room for about a hundred bytes.
func socketDir(data string) string {
	sum := sha256.Sum256([]byte(data))
	return filepath.Join(os.TempDir(), "baton-"+hex.EncodeToString(sum[:6]))
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// tail passes Postgres's words to the log and keeps the last for a message.
type tail struct {
	log  *slog.Logger
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text.Len() > 16<<10 {
		t.text.Next(8 << 10)
	}
	t.text.Write(p)
	t.log.Debug("postgres", "said", strings.TrimSpace(string(p)))
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
