package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"baton/internal/auth"
	"baton/internal/bench"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/live"
	"baton/internal/postgres"
	"baton/internal/postgres/migrate"
	"baton/internal/sessions"
	"baton/web"
)

func benchLiveCommand() *cobra.Command {
	w := bench.Live{}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "live", Short: "How soon the viewers of a session have what happens in it", Args: noArguments,
		Long: "Serves a session to viewers in another process, writes events into it, and measures from\n" +
			"the durable write to each viewer's frame, and CPU and memory for each, beside a loop that\n" +
			"only writes to as many connections. Above a load average of 2 the times are not judged.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.Prepare = func(ctx context.Context, url string) (bench.Stage, error) { return openStage(ctx, url) }
			return measured(cmd, asJSON, func(database benchDatabases, report func(string, ...any)) func(context.Context) (bench.LiveReport, error) {
				w.Database, w.Report = database, report
				return w.Measure
			})
		},
	}
	cmd.Flags().IntVar(&w.Viewers, "viewers", 100, "viewers of the session")
	cmd.Flags().Float64Var(&w.Rate, "rate", 10, "events a second")
	cmd.Flags().DurationVar(&w.For, "for", 10*time.Second, "how long each part of a round takes")
	cmd.Flags().IntVar(&w.Rounds, "rounds", 5, "rounds, of which the medians are reported")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

// stage is a session with a page that can be watched, and this process its only
// worker.
type stage struct {
	pool    *pgxpool.Pool
	store   *sessions.Store
	lease   *sessions.Lease
	replica *sessions.Replica
	session id.Session
	slots   string
	cookie  string
	addr    string
	seq     int64
	server  *http.Server
	stop    context.CancelFunc
	rows    chan bench.Received // of a browser

	mu   sync.Mutex
	bare []*websocket.Conn
}

func openStage(ctx context.Context, url string) (s *stage, err error) {
	log := slog.New(slog.DiscardHandler)
	running, stop := context.WithCancel(ctx)
	s = &stage{stop: stop}
	defer func() {
		if err != nil {
			s.End()
		}
	}()
	if s.pool, err = postgres.Open(ctx, url, 8); err != nil {
		return s, err
	}
	if _, err := migrate.Up(ctx, s.pool, log); err != nil {
		return s, err
	}
	hub := live.NewHub(s.pool, log)
	go hub.Run(running)
	accounts := auth.NewAccounts(s.pool)
	link, err := accounts.AddPerson(ctx, auth.System(), auth.NewPerson{Name: "bench", Role: auth.Admin})
	if err != nil {
		return s, err
	}
	login, err := accounts.SignIn(ctx, link, "bench")
	if err != nil {
		return s, err
	}
	definitions := definition.NewStore(s.pool, definition.Known{}, playbookFaults)
	if _, err := definitions.Apply(ctx, auth.System(), definition.File{Name: "bench.yaml", Source: []byte(benchAgent), Playbook: []byte(benchW1Playbook)}); err != nil {
		return s, err
	}
	agent, err := definitions.Get(ctx, auth.System(), "bench", 0)
	if err != nil {
		return s, err
	}
	inserter, err := jobs.NewInserter(s.pool, log)
	if err != nil {
		return s, err
	}
	s.store = sessions.NewStore(s.pool, hub)
	started, err := s.store.Start(ctx, auth.System(), inserter, sessions.New{Agent: agent, Task: "bench"})
	if err != nil {
		return s, err
	}
	s.session = started.ID
	if s.slots, err = os.MkdirTemp("", "baton-bench-slots-"); err != nil {
		return s, err
	}
	if s.replica, err = sessions.Join(ctx, s.pool, s.slots, log); err != nil {
		return s, err
	}
	// Nothing else works the queue.
	lease, claimed, err := s.store.Claim(ctx, s.replica, s.session)
	if err != nil {
		return s, err
	}
	s.lease, s.seq = lease, claimed.LastSeq
	return s, s.serve(web.Deps{Accounts: accounts, Sessions: s.store, Definitions: definitions, Escalations: escalation.NewStore(s.pool),
		Desk: decide.NewDesk(s.pool, inserter, hub), Inserter: inserter, Live: hub, Log: log, Stopping: running.Done()}, login)
}

func (s *stage) serve(deps web.Deps, login string) error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = listener.Addr().String()
	_, port, _ := net.SplitHostPort(s.addr)
	s.cookie = "baton_" + port + "=" + login // as web names it without https
	mux := http.NewServeMux()
	pages := web.New(deps)
	mux.Handle("/", pages)
	s.browsed(mux, pages)
	mux.HandleFunc("/bare", func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10, EnableCompression: true}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.bare = append(s.bare, conn)
		s.mu.Unlock()
	})
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: readHeaderTimeout}
	go func() { _ = s.server.Serve(listener) }()
	return nil
}

func (s *stage) Write(ctx context.Context) (int64, error) {
	_, err := s.store.WriteStep(ctx, s.lease, sessions.Step{Events: []sessions.NewEvent{{
		Type: sessions.NoticeGiven, Turn: 1, Data: map[string]string{"code": "bench", "text": "Something happened, and this says what, in a sentence."}}}})
	s.seq++
	return s.seq, err
}

func (s *stage) Watch(ctx context.Context, viewers int) (<-chan bench.Received, func(), error) {
	sub, err := json.Marshal(map[string]any{"op": "sub", "t": "session:" + s.session.String(), "view": "technical"})
	if err != nil {
		return nil, nil, err
	}
	frames, leave, err := s.viewers(ctx, viewers, "/ws", string(sub))
	if err != nil {
		return nil, nil, err
	}
	for range viewers { // the first frame brings each up to date
		if _, open := <-frames; !open {
			leave()
			return nil, nil, errors.New("the viewers ended early")
		}
	}
	return frames, leave, nil
}

func (s *stage) Bare(ctx context.Context, viewers, bytes int) (send func() error, frames <-chan bench.Received, leave func(), err error) {
	s.mu.Lock()
	s.bare = nil
	s.mu.Unlock()
	if frames, leave, err = s.viewers(ctx, viewers, "/bare", ""); err != nil {
		return nil, nil, nil, err
	}
	n := 0
	send = func() error {
		n++
		head := fmt.Sprintf(`{"t":"bare","to":%d,"ops":["`, n)
		text := head + strings.Repeat("x", max(0, bytes-len(head)-3)) + `"]}`
		m, err := websocket.NewPreparedMessage(websocket.TextMessage, []byte(text))
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, conn := range s.bare {
			if err := conn.WritePreparedMessage(m); err != nil {
				return err
			}
		}
		return nil
	}
	return send, frames, leave, nil
}

// viewers starts a process with viewers and returns when all are connected.
func (s *stage) viewers(ctx context.Context, n int, path, say string) (<-chan bench.Received, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	//nolint:gosec // this very program, on an address of its own
	cmd := exec.CommandContext(ctx, self, "bench", "live-viewers", "--url", "ws://"+s.addr+path, "--origin", "http://"+s.addr, "--viewers", fmt.Sprint(n), "--say", say)
	cmd.Env = append(os.Environ(), viewerCookie+"="+s.cookie)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil { // they are there
		return nil, nil, fmt.Errorf("start the viewers: %w", err)
	}
	frames := make(chan bench.Received, 1<<12)
	go func() {
		defer close(frames)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			var f bench.Received
			var at int64
			if _, err := fmt.Sscanf(line, "%d %d %d %d", &f.Viewer, &f.Seq, &at, &f.Bytes); err == nil {
				f.At = time.Unix(0, at)
				frames <- f
			}
		}
	}()
	return frames, func() {
		_ = in.Close() // then they leave
		for range frames {
		}
		_ = cmd.Wait()
	}, nil
}

func (s *stage) End() {
	s.stop()
	if s.server != nil {
		_ = s.server.Close()
	}
	if s.replica != nil {
		s.replica.Leave(context.Background(), s.pool)
	}
	if s.slots != "" {
		_ = os.RemoveAll(s.slots)
	}
	if s.pool != nil {
		s.pool.Close()
	}
}

const viewerCookie = "BATON_BENCH_COOKIE"

// benchViewersCommand is the other process of bench live: it watches, and says
// when each frame came.
func benchViewersCommand() *cobra.Command {
	var url, origin, say string
	var n int
	cmd := &cobra.Command{
		Use: "live-viewers", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			header := http.Header{"Origin": {origin}, "Cookie": {os.Getenv(viewerCookie)}}
			out := make(chan string, 1<<16)
			var written sync.WaitGroup
			written.Go(func() {
				w := bufio.NewWriter(cmd.OutOrStdout())
				for line := range out {
					_, _ = w.WriteString(line)
					if len(out) == 0 {
						_ = w.Flush()
					}
				}
				_ = w.Flush()
			})
			var reading sync.WaitGroup
			conns := make([]*websocket.Conn, n)
			for i := range conns {
				conn, res, err := websocket.DefaultDialer.DialContext(cmd.Context(), url, header)
				if err != nil {
					return err
				}
				_ = res.Body.Close()
				conns[i] = conn
			}
			out <- "here\n"
			for i, conn := range conns {
				reading.Go(func() { view(i, conn, say, out) })
			}
			_, _ = io.Copy(io.Discard, cmd.InOrStdin())
			for _, conn := range conns {
				_ = conn.Close()
			}
			reading.Wait()
			close(out)
			written.Wait()
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "")
	cmd.Flags().StringVar(&origin, "origin", "", "")
	cmd.Flags().StringVar(&say, "say", "", "")
	cmd.Flags().IntVar(&n, "viewers", 1, "")
	return cmd
}

// view reads one connection. Only a frame's last event is of interest, which
// stands near its beginning.
func view(n int, conn *websocket.Conn, say string, out chan<- string) {
	if say != "" && conn.WriteMessage(websocket.TextMessage, []byte(say)) != nil {
		return
	}
	for {
		_, text, err := conn.ReadMessage()
		if err != nil {
			return
		}
		at := time.Now().UnixNano()
		_, rest, told := strings.Cut(string(text[:min(len(text), 200)]), `"to":`)
		var seq int64
		if _, err := fmt.Sscanf(rest, "%d", &seq); !told || err != nil {
			continue
		}
		out <- fmt.Sprintf("%d %d %d %d\n", n, seq, at, len(text))
	}
}
