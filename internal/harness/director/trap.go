package director

import (
	"context"
	"errors"
	"slices"

	"github.com/lockchaos/lockchaos/nemesis"
)

// lay waits for the trap's packet, and then records the fault and has it healed
// after the planned time.
func (d *Director) lay(ctx context.Context, a *activeStrike, in *activeFault, t nemesis.Pending) {
	d.traps.lay(in.client, t, func() (giveUp func()) {
		return t.Watch(ctx, func(sprung bool) {
			if !sprung {
				d.missed(ctx, a, in, t)
				return
			}
			a.turned(in.part, true)
			d.caught(ctx, a, in, t, nil)
		})
	})
	if in.part.When != nemesis.Acquiring && in.part.Request != nemesis.RequestAny {
		d.RoundOver(in.client) // of a strike at a random moment it may be over already
	}
}

// missed takes a trap away for which no packet came, and has the fault wait for the next chance.
func (d *Director) missed(ctx context.Context, a *activeStrike, in *activeFault, t nemesis.Pending) {
	effect, err := t.Heal()
	a.turned(in.part, effect.From != 0)
	switch {
	case effect.From != 0 && in.part.Kills(): // it sprang just then
		d.caught(ctx, a, in, t, err)
		return
	case effect.From != 0:
		d.begin(in)
		d.end(in.info, in.client, effect, in.bit(effect, err))
	case err == nil:
		d.putBack(a)
		return
	}
	d.over(a, err)
}

// caught carries out the fault whose trap has caught its packet; failed is what went wrong with
// that.
func (d *Director) caught(ctx context.Context, a *activeStrike, in *activeFault, t nemesis.Pending, failed error) {
	if !in.part.Kills() {
		d.begin(in)
		d.healLater(ctx, a, in)
		return
	}
	d.markKilled(a, in.part)
	d.begin(in)
	effect, err := t.Kill(ctx)
	d.end(in.info, in.client, effect, effect.Bit)
	d.over(a, errors.Join(failed, err))
}

// A fault that strikes at each request of a call in turn begins anew after mostTurns
// of them. Where mostMissed calls in a row had no such request, its turn is over.
const mostTurns, mostMissed = 6, 3

// inTurn is the part with the request whose turn it is. The last turn of an
// acquire is what it sends when its time is over.
func (a *plannedFault) inTurn(p nemesis.Part) nemesis.Part {
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
func (a *plannedFault) turned(p nemesis.Part, sprung bool) {
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
	return slices.ContainsFunc(d.holders, func(a nemesis.Holding) bool { return a.Client == client })
}
