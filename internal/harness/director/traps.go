package director

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// traps are the faults that wait for one request of a client. Such a fault is one
// from the packet on that it is aimed at: before, nothing has happened, and nothing
// is recorded. If none has come when the client's round is over, it is armed again.
type traps struct {
	// planned reports whether there are any in the plan; else nobody needs to
	// know what clients are asked.
	planned bool
	// wire returns the text that a key has in the lock's packets; nil: the key itself.
	wire func(key string) string
	time clock.Time

	mu     sync.Mutex
	laid   map[int32]laidTrap // by client number
	asking map[int32]asking   // what each client has been asked and has not answered
}

// asking is an op that was asked, and when its time is over.
type asking struct {
	wire.Op
	over int64
}

// laidTrap is a trap that waits for its packet.
type laidTrap struct {
	nemesis.Pending
	giveUp func()
}

// acknowledged is the longest time for which TCP puts off the acknowledgement
// of what it has received (RFC 1122, 4.2.3.2).
const acknowledged = 500 * time.Millisecond

func newTraps(s Setting) *traps {
	planned := slices.ContainsFunc(s.Plan.Scenario.Faults, func(f scenarios.Fault) bool {
		return slices.ContainsFunc(f.Singles(), func(one scenarios.Fault) bool { return one.Spec().Waits() })
	})
	return &traps{planned: planned, wire: s.OnWire, time: s.Time, laid: map[int32]laidTrap{}, asking: map[int32]asking{}}
}

// lay notes a client's trap, which watch has wait for its packet.
func (t *traps) lay(client int32, trap nemesis.Pending, watch func() (giveUp func())) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.laid[client] = laidTrap{trap, watch()}
}

// over ends the waiting of a client's trap: at once, or when no packet of a
// request that it has met can come any more.
func (t *traps) over(client int32) {
	t.mu.Lock()
	trap, waits := t.laid[client]
	delete(t.laid, client)
	t.mu.Unlock()
	switch {
	case !waits:
	case trap.Met():
		t.time.After(context.Background(), acknowledged, func(bool) { trap.giveUp() })
	default:
		trap.giveUp()
	}
}

// asks is told what a client is about to be asked, and returns what to call when it has answered.
func (t *traps) asks(client int32, o wire.Op) (answered func()) {
	if !t.planned {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking[client] = asking{o, t.time.Now() + int64(o.Timeout)}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.asking, client)
	}
}

// currentRequest returns what tells a trap what the client is being asked.
func (t *traps) currentRequest(client int32) nemesis.CurrentRequest {
	return func() (nemesis.Request, string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		o, asked := t.asking[client]
		if !asked {
			return "", ""
		}
		if t.wire != nil {
			o.Key = t.wire(o.Key)
		}
		if o.Kind == history.Acquire && t.time.Now() >= o.over {
			return nemesis.RequestGiveUp, o.Key
		}
		return nemesis.Request(o.Kind.String()), o.Key
	}
}

// Asking is told what a client is about to be asked, and returns what to call when it has answered.
func (d *Director) Asking(client int32, o wire.Op) (answered func()) { return d.traps.asks(client, o) }
