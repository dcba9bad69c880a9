package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/id"
)

// The beat of a replica. Whoever is silent for deadAfter, by the database's
// clock, has lost its sessions; so it must stop acting well before: actWithin,
// by its own clock, since its last beat that arrived.
const (
	beatEvery = 2 * time.Second
	actWithin = 5 * time.Second
	deadAfter = 8 * time.Second
)

// ErrSilent says that this replica's beats don't reach the database, so that
// it may not act.
var ErrSilent = errors.New("this replica's beats do not arrive")

// Replica is this process as one that runs sessions.
type Replica struct {
	ID   id.Replica
	slot *os.File // holds the lock on the slot
	conn *pgx.Conn
	url  string
	log  *slog.Logger

	mu         sync.Mutex
	last       time.Time // of the last beat that arrived, monotonic
	generation int64     // counts the times that beats were too far apart

	stop context.CancelFunc
	done chan struct{}
}

// Join makes this process a replica and starts its beat. Its identity belongs
// to a slot, <data dir>/replicas/N, the first whose lock is free: who gets the
// lock knows that its former holder has ended, and Reclaim takes back that
// one's sessions at once, without waiting for its silence to be noticed.
func Join(ctx context.Context, pool *pgxpool.Pool, dataDir string, log *slog.Logger) (r *Replica, err error) {
	slot, identity, err := takeSlot(filepath.Join(dataDir, "replicas"))
	if err != nil {
		return nil, err
	}
	r = &Replica{ID: identity, slot: slot, url: pool.Config().ConnString(), log: log, done: make(chan struct{})}
	host, _ := os.Hostname() // for people to read only
	if _, err := pool.Exec(ctx, sqlJoin, r.ID, host); err != nil {
		slot.Close()
		return nil, fmt.Errorf("join replicas: %w", err)
	}
	r.last = time.Now()
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go r.beat(beating)
	return r, nil
}

const (
	sqlJoin = `
insert into replicas (id, host) values ($1, $2)
on conflict (id) do update set host = excluded.host, started_at = now(), beat_at = now(), gone = false`
	sqlBeat  = `update replicas set beat_at = now(), gone = false where id = $1`
	sqlLeave = `update replicas set beat_at = '-infinity' where id = $1`
)

// beat writes on a connection of its own: a pool that is used up by work must
// not make the replica look dead.
func (r *Replica) beat(ctx context.Context) {
	defer close(r.done)
	defer func() {
		if r.conn != nil {
			_ = r.conn.Close(context.WithoutCancel(ctx))
		}
	}()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		if err := r.beatOnce(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("beat did not arrive", "replica", r.ID, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Replica) beatOnce(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	if r.conn == nil || r.conn.IsClosed() {
		if r.conn, err = pgx.Connect(ctx, r.url); err != nil {
			r.conn = nil
			return err
		}
	}
	// Taken before the write: the database's clock starts later, never earlier.
	at := time.Now()
	if _, err := r.conn.Exec(ctx, sqlBeat, r.ID); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.Sub(r.last) > actWithin {
		r.generation++ // silent for long enough that others may have taken over
	}
	r.last = at
	return nil
}

// alive says whether the replica may act, and in which unbroken run of beats.
func (r *Replica) alive() (generation int64, alive bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.generation, time.Since(r.last) < actWithin
}

// MayAct says whether a worker with this lease may have an effect on the world
// now. The fence stops a frozen worker from writing; this stops it from acting.
func (r *Replica) MayAct(lease *Lease) bool {
	generation, alive := r.alive()
	return alive && generation == lease.generation
}

// Leave ends the beat and says that this replica is gone, so that nobody has
// to wait for its silence.
func (r *Replica) Leave(ctx context.Context, pool *pgxpool.Pool) {
	r.stop()
	<-r.done
	if _, err := pool.Exec(ctx, sqlLeave, r.ID); err != nil {
		r.log.Warn("could not say that this replica leaves; others will notice", "err", err)
	}
	// A child between its fork and its exec holds the same open file, so closing
	// ours alone might leave the lock with it for a moment.
	_ = syscall.Flock(int(r.slot.Fd()), syscall.LOCK_UN)
	r.slot.Close()
}

// takeSlot locks the first free slot and reads, or makes, the identity in it.
func takeSlot(dir string) (*os.File, id.Replica, error) {
	var none id.Replica
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, none, fmt.Errorf("make replica slots: %w", err)
	}
	for n := 1; ; n++ {
		f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(n)), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, none, fmt.Errorf("open replica slot: %w", err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			continue
		}
		if err != nil {
			f.Close()
			return nil, none, fmt.Errorf("lock replica slot: %w", err)
		}
		identity, err := slotIdentity(f)
		if err != nil {
			f.Close()
			return nil, none, err
		}
		return f, identity, nil
	}
}

func slotIdentity(f *os.File) (id.Replica, error) {
	text := make([]byte, 100)
	n, _ := f.ReadAt(text, 0) // an empty or unreadable slot gets a new identity
	if known, err := id.Parse[id.Replica](strings.TrimSpace(string(text[:n]))); err == nil && !known.IsZero() {
		return known, nil
	}
	fresh := id.New[id.Replica]()
	if err := f.Truncate(0); err != nil {
		return fresh, fmt.Errorf("write replica slot: %w", err)
	}
	if _, err := f.WriteAt([]byte(fresh.String()+"\n"), 0); err != nil {
		return fresh, fmt.Errorf("write replica slot: %w", err)
	}
	return fresh, nil
}
