package director

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/harness/wire"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/monotime"
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
	// now is the time: monotime.Now, or that of a simulation.
	now func() int64

	mu     sync.Mutex
	laid   map[int32]laid   // by client number
	asking map[int32]asking // what each client has been asked and has not answered
}

// asking is an op that was asked, and when its time is over.
type asking struct {
	wire.Op
	over int64
}

// laid is a trap that waits.
type laid struct {
	*nemesis.Trap
	end context.CancelFunc // of the waiting
}

// acknowledged is the longest time for which TCP puts off the acknowledgement
// of what it has received (RFC 1122, 4.2.3.2).
const acknowledged = 500 * time.Millisecond

func newTraps(faults []scenarios.Fault) *traps {
	planned := slices.ContainsFunc(faults, func(f scenarios.Fault) bool {
		return slices.ContainsFunc(f.Singles(), func(one scenarios.Fault) bool { return one.Spec().Waits() })
	})
	return &traps{planned: planned, now: monotime.Now, laid: map[int32]laid{}, asking: map[int32]asking{}}
}

// lay waits for the trap's packet, and then records the fault and has it healed
// after the planned time.
func (d *Director) lay(ctx context.Context, h *hit, in *inForce, t *nemesis.Trap) {
	waiting := d.traps.lay(ctx, in.client, t)
	if in.part.When != nemesis.Acquiring {
		d.RoundOver(in.client) // of a strike at a random moment it may be over already
	}
	go func() {
		if t.Await(waiting) == nil {
			h.turned(in.part, true)
			d.finish(h, d.caught(ctx, h, in, t))
			return
		}
		effect, err := t.Heal()
		h.turned(in.part, effect.From != 0)
		switch {
		case effect.From != 0 && in.part.Kills(): // it sprang just then
			err = errors.Join(err, d.caught(ctx, h, in, t))
		case effect.From != 0:
			d.begin(in)
			d.end(in.info, in.client, effect, err == nil && effect.Bit && effect.Lasted() >= in.part.For)
		case err == nil:
			d.putBack(h)
			return
		}
		d.finish(h, err)
	}()
}

// caught carries out the fault whose trap has caught its packet.
func (d *Director) caught(ctx context.Context, h *hit, in *inForce, t *nemesis.Trap) error {
	if !in.part.Kills() {
		d.begin(in)
		return d.healAll(ctx, []*inForce{in})
	}
	d.markKilled(h, in.part)
	d.begin(in)
	effect, err := t.Kill(ctx)
	d.end(in.info, in.client, effect, effect.Bit)
	return err
}

// A fault that strikes at each request of a call in turn begins anew after mostTurns
// of them. Where mostMissed calls in a row had no such request, its turn is over.
const mostTurns, mostMissed = 6, 3

// inTurn is the part with the request whose turn it is. The last turn of an
// acquire is what it sends when its time is over.
func (a *aimed) inTurn(p nemesis.Part) nemesis.Part {
	switch {
	case !p.InTurn:
	case a.turn == mostTurns-1 && p.Request == nemesis.RequestAcquire:
		p.Request = nemesis.RequestGiveUp
	default:
		p.Nth = a.turn + 1
	}
	return p
}

// turned notes whether a call had the request whose turn it was. Further
// requests than one that calls do not have are not waited for.
func (a *aimed) turned(p nemesis.Part, sprung bool) {
	if !p.InTurn {
		return
	}
	a.missed++
	switch {
	case sprung:
		a.turn, a.missed = (a.turn+1)%mostTurns, 0
	case a.missed >= mostMissed && a.turn < mostTurns-1:
		a.turn, a.missed = mostTurns-1, 0
	case a.missed >= mostMissed:
		a.turn, a.missed = 0, 0
	}
}

// lay returns the context in which a trap waits.
func (t *traps) lay(ctx context.Context, client int32, trap *nemesis.Trap) context.Context {
	waiting, cancel := context.WithCancel(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.laid[client] = laid{trap, cancel}
	return waiting
}

// over ends the waiting of a client's trap: at once, or when no packet of a
// request that it has met can come any more.
func (t *traps) over(client int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	trap, waits := t.laid[client]
	if !waits {
		return
	}
	delete(t.laid, client)
	if trap.Met() {
		time.AfterFunc(acknowledged, trap.end)
		return
	}
	trap.end()
}

// asks is told what a client is about to be asked, and returns what to call when it has answered.
func (t *traps) asks(client int32, o wire.Op) (answered func()) {
	if !t.planned {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking[client] = asking{o, t.now() + int64(o.Timeout)}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.asking, client)
	}
}

// asked returns what tells a trap what the client is being asked.
func (t *traps) asked(client int32) nemesis.Asked {
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
		if o.Kind == history.Acquire && t.now() >= o.over {
			return nemesis.RequestGiveUp, o.Key
		}
		return nemesis.Request(o.Kind.String()), o.Key
	}
}

// Asking is told what a client is about to be asked, and returns what to call when it has answered.
func (d *Director) Asking(client int32, o wire.Op) (answered func()) { return d.traps.asks(client, o) }

// RoundOver is told that a client's round is over, if it is: what a trap waits
// for in it does not come any more.
func (d *Director) RoundOver(client int32) {
	if !d.holding(client) {
		d.traps.over(client)
	}
}

// holding reports whether the client believes in a grant.
func (d *Director) holding(client int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.holders, func(h nemesis.Holding) bool { return h.Client == client })
}
