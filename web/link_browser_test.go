package web

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"baton/web/browsertest"
)

// road leads to a server, as long as it does.
type road struct {
	t      *testing.T
	to     string
	at     net.Listener
	taken  chan struct{} // by who finds it swallowed
	mu     sync.Mutex
	closed bool
	on     []net.Conn
}

func roadTo(t *testing.T, url string) *road {
	t.Helper()
	r := &road{t: t, to: strings.TrimPrefix(url, "http://"), taken: make(chan struct{}, 100)}
	r.open("127.0.0.1:0")
	t.Cleanup(r.block)
	return r
}

func (r *road) url() string { return "http://" + r.at.Addr().String() }

func (r *road) open(address string) {
	r.t.Helper()
	at, err := net.Listen("tcp", address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.at = at
	go func() {
		for {
			from, err := at.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.on = append(r.on, from)
			swallowed := r.closed
			r.mu.Unlock()
			if swallowed {
				r.taken <- struct{}{}
				continue
			}
			go r.lead(from)
		}
	}()
}

func (r *road) lead(from net.Conn) {
	to, err := net.Dial("tcp", r.to)
	if err != nil {
		from.Close()
		return
	}
	go func() { _, _ = io.Copy(to, from); to.Close() }()
	_, _ = io.Copy(from, to)
	from.Close()
}

func (r *road) cut(swallow bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = swallow
	for _, c := range r.on {
		c.Close()
	}
	r.on = nil
}

// swallow cuts all who are on it; who comes then gets nowhere and is told
// nothing.
func (r *road) swallow() { r.cut(true) }

// block cuts all who are on it; nobody else gets on.
func (r *road) block() {
	r.at.Close()
	r.cut(false)
}

// R: V2, UI
func TestAConnectionThatIsNotBeingMadeIsSaidAndTriedAnew(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	road := roadTo(t, server.URL)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Expect("WebSocket")
	tab.Expect("ERR_")
	tab.Go(road.url() + "/gallery/question")
	tab.Wait(connectedNow)
	road.swallow()
	<-road.taken // it tries again, and hears nothing
	browsertest.Eval[bool](tab, `(window.began = performance.now(), true)`)
	tab.Wait(`performance.now() - window.began > 2100 && !document.querySelector("#connection").hidden`)
	made := browsertest.Eval[int](tab, `(() => {
		let made = 0;
		window.WebSocket = class extends WebSocket { constructor(...at) { super(...at); made++; } };
		document.querySelector("#connection [data-reconnect]").click();
		return made;
	})()`)
	if made != 1 {
		t.Errorf("who asks for a connection gets %d", made)
	}
}

// R: UI, V2
func TestAnAnswerThatCannotBeSentStaysOnItsPage(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	road := roadTo(t, server.URL)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Expect("WebSocket")
	tab.Expect("ERR_")
	tab.Go(road.url() + "/gallery/question")
	tab.Wait(connectedNow)
	address := road.at.Addr().String()
	road.block()
	tab.Wait(`!(` + connectedNow + `)`)
	tab.Press("b")
	tab.Press("\r")
	tab.Wait(`!document.querySelector(".answer-offline").hidden`)
	if got := tab.Text(".answer-offline"); !strings.HasPrefix(got, "The server can’t be reached") || tab.Path() != "/gallery/question" || chosen(tab) != "refund_part" {
		t.Errorf("at %s with %q chosen it says %q", tab.Path(), chosen(tab), got)
	}
	forms.nothing(t)
	road.open(address)
	tab.PressToLoad("\r")
	want(t, forms.form(t), map[string]string{"option": "refund_part"})
}
