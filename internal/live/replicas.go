package live

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// How hints travel between replicas.
const (
	notifyEvery = 5 * time.Millisecond // one notification for all hints of this span
	healEvery   = 2 * time.Second      // everybody looks, hint or none
	probeEvery  = 5 * time.Second      // of silence, after which the connection is tried
	probeWithin = 2 * time.Second
	retryAfter  = 500 * time.Millisecond
	// A payload of 8,000 bytes makes Postgres refuse the notification.
	payloadMost = 7800
	// othersFor is how long a hub that was heard of counts as listening. Each
	// says that it is there once in helloEvery.
	othersFor  = 30 * time.Second
	helloEvery = 10 * time.Second
)

// everything in a notification means that too much changed to be listed; hello
// that a hub has begun to listen, which the others answer with here.
const (
	channel    = "baton_live"
	everything = "*"
	hello      = "hello"
	here       = "here"
)

// listenerName is how the connection shows in pg_stat_activity.
const listenerName = "baton live"

const (
	sqlListen = `listen ` + channel
	sqlNotify = `select pg_notify('` + channel + `', $1)`
	sqlProbe  = `select 1`
)

// outbox are the hints that other replicas have not been told yet.
type outbox struct {
	wake chan struct{}

	mu      sync.Mutex
	waiting map[Object]struct{}
	others  time.Time // until when somebody else is known to listen
	greeted bool      // by one that doesn't know of this hub yet
}

func (o *outbox) add(changed []Object) {
	o.mu.Lock()
	if time.Now().After(o.others) {
		o.mu.Unlock()
		return
	}
	if o.waiting == nil {
		o.waiting = map[Object]struct{}{}
	}
	for _, c := range changed {
		o.waiting[c] = struct{}{}
	}
	o.mu.Unlock()
	o.rouse()
}

// Others says whether another replica listens, as far as is known.
func (h *Hub) Others() bool {
	if h == nil {
		return false
	}
	h.sending.mu.Lock()
	defer h.sending.mu.Unlock()
	return time.Now().Before(h.sending.others)
}

func (o *outbox) rouse() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take is the payload of what is to be told now.
func (o *outbox) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []string
	for c := range o.waiting {
		list = append(list, string(c))
	}
	clear(o.waiting)
	greeted := o.greeted
	o.greeted = false
	payload := strings.Join(list, " ")
	if len(payload) > payloadMost {
		return everything
	}
	if payload == "" && greeted {
		return here
	}
	return payload
}

// heard notes that somebody else listens.
func (o *outbox) heard(greeting bool) {
	o.mu.Lock()
	o.others = time.Now().Add(othersFor)
	o.greeted = o.greeted || greeting
	o.mu.Unlock()
	if greeting {
		o.rouse()
	}
}

// Run connects the hub with those of other replicas, and has subscribers look
// again from time to time, until ctx ends. While the database can't be reached
// hints still work within the process.
func (h *Hub) Run(ctx context.Context) {
	me := rand.Text()[:8]
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { h.listen(ctx, me) })
	group.Go(func() { h.send(ctx, me) })
	heal := time.NewTicker(h.timing.heal)
	defer heal.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-heal.C:
			h.wakeAll()
		}
	}
}

// send tells other replicas what was collected.
func (h *Hub) send(ctx context.Context, me string) {
	greet := time.NewTicker(helloEvery)
	defer greet.Stop()
	for {
		var payload string
		select {
		case <-ctx.Done():
			return
		case <-greet.C:
			payload = here
		case <-h.sending.wake:
			pause(ctx, h.timing.notify)
			payload = h.sending.take()
		}
		if payload == "" {
			continue
		}
		if _, err := h.pool.Exec(ctx, sqlNotify, me+" "+payload); err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "other replicas were not told of a change; they look again by themselves", "error", err)
		}
	}
}

// listen hears what other replicas tell, and begins anew when the connection
// breaks.
func (h *Hub) listen(ctx context.Context, me string) {
	for ctx.Err() == nil {
		err := h.listenOnce(ctx, me)
		if ctx.Err() != nil {
			return
		}
		h.log.WarnContext(ctx, "the connection for notifications broke; connecting again", "error", err)
		pause(ctx, retryAfter)
	}
}

func (h *Hub) listenOnce(ctx context.Context, me string) error {
	config := h.pool.Config().ConnConfig.Copy()
	config.RuntimeParams["application_name"] = listenerName
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect for notifications: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeWithin)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(ctx, sqlListen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if _, err := conn.Exec(ctx, sqlNotify, me+" "+hello); err != nil {
		return fmt.Errorf("tell of listening: %w", err)
	}
	h.wakeAll() // what was told before, nobody here has heard
	for {
		waiting, cancel := context.WithTimeout(ctx, h.timing.probe)
		n, err := conn.WaitForNotification(waiting)
		silent := waiting.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			h.hear(me, n.Payload)
		case silent:
			// Half of a connection can be dead and say nothing.
			probing, cancel := context.WithTimeout(ctx, probeWithin)
			_, err := conn.Exec(probing, sqlProbe)
			cancel()
			if err != nil {
				return fmt.Errorf("probe the connection for notifications: %w", err)
			}
		default:
			return fmt.Errorf("wait for notifications: %w", err)
		}
	}
}

// hear takes another hub's hints. The first word says whose they are.
func (h *Hub) hear(me, payload string) {
	from, said, _ := strings.Cut(payload, " ")
	if from == me {
		return
	}
	h.sending.heard(said == hello)
	switch said {
	case hello, here:
	case everything:
		h.wakeAll()
	default:
		words := strings.Fields(said)
		changed := make([]Object, len(words))
		for i, w := range words {
			changed[i] = Object(w)
		}
		h.wake(changed)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
