package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"baton/internal/definition"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
	"baton/web/browsertest"
)

// busyTool says once that it is busy, as soon as it may, and asks to wait.
type busyTool struct {
	witnessTool
	may  chan struct{}
	wait time.Duration
}

func (b busyTool) Run(ctx context.Context, args json.RawMessage) (tools.Output, error) {
	if tools.RunningCall(ctx).Attempt > 1 {
		return b.witnessTool.Run(ctx, args)
	}
	select {
	case <-b.may:
	case <-ctx.Done():
	}
	f := tools.Fail(tools.RateLimited, "Too many questions.")
	f.RetryAfter = b.wait
	return tools.Output{}, f
}

// R: V6, X1, UI
func TestAPageCountsDownToTheNextAttempt(t *testing.T) {
	t.Parallel()
	p := working(t)
	busy := busyTool{may: make(chan struct{}), wait: 4 * time.Second}
	plain := p.tool("look", tools.EffectRead)
	p.toolbox.more["look"] = func(ctx context.Context, v definition.Version) (tools.Tool, error) {
		made, err := plain(ctx, v)
		if err == nil {
			busy.witnessTool = made.(witnessTool)
		}
		return busy, err
	}
	base := p.serve()
	session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("look", order = 48)]
    return [finish("Looked.", evidence = [s.last[0].call_id])]
`)
	tabs := map[string]*browsertest.Tab{}
	for _, view := range []string{"technical", "plain"} {
		tabs[view] = p.tab(t, base, browsertest.Desk, "supervisor")
		tabs[view].Go(base + templates.SessionURL(session.String()) + "?view=" + view)
		tabs[view].Wait(connected)
		stays(tabs[view])
	}
	for _, tab := range tabs {
		// All that the countdown says, however slow the browser is to be asked.
		browsertest.Eval[bool](tab, `(() => {
			window.seen = new Set();
			new MutationObserver(() => {
				const left = document.querySelector("#call-1 .next:not([hidden]) time");
				if (left) window.seen.add(left.textContent);
			}).observe(document.querySelector("#events"), { subtree: true, childList: true, characterData: true });
			return true;
		})()`)
	}
	close(busy.may)
	p.untilStatus(session, sessions.Completed)
	for view, tab := range tabs {
		tab.Wait(`document.querySelector("#session-head").textContent.includes("Completed") && document.querySelector("#call-1 .next") === null`)
		if said := browsertest.Eval[[]string](tab, `[...window.seen]`); len(said) < 2 {
			t.Errorf("%s: the countdown said %q", view, said)
		}
		stayed(t, tab, view)
		sound(tab)
	}
	if n := browsertest.Eval[int](tabs["technical"], `document.querySelectorAll("#call-1 .bar-wait").length`); n != 1 {
		t.Errorf("%d waits are drawn", n)
	}
}
