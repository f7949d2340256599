package simulated

import (
	"context"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
)

// actorDirector is a simulation's director for its actors: it also brings dead clients back.
type actorDirector struct {
	*director.Director
	s *simulation
}

func (d actorDirector) Asks(client int32, o wire.Op) (answered func(id int64, r wire.Reply)) {
	over := d.Asking(client, o)
	return func(int64, wire.Reply) { over() }
}

// Revive records the end of a client that was killed, and starts a fresh one in its place.
func (d actorDirector) Revive(ctx context.Context, a *workload.Actor) error {
	c := d.s.clients[a.Number-1]
	t := c.task
	t.Await(sim.Forever, func() bool { return !d.Struck(a.Number) })
	why, _ := d.Death(a.Number)
	d.s.exitOf(c)
	t.Await(why.Away, func() bool { return clock.Closed(d.s.done) })
	fresh := d.s.spawn(a.Number, c.Life+1)
	fresh.Recorder, fresh.Claims = c.Recorder, c.Claims
	d.s.clients[a.Number-1] = fresh
	a.Client = fresh.Client
	if err := d.s.open(ctx, t, fresh); err != nil {
		return err
	}
	d.Replace(a.Number, nil, fresh.Client)
	return nil
}

func (d actorDirector) Dies(_ context.Context, a *workload.Actor) error {
	c := d.s.clients[a.Number-1]
	d.RoundOver(a.Number) // what a trap waits for does not come any more
	c.task.Await(sim.Forever, func() bool { return !d.Struck(a.Number) })
	if d.Condemn(a.Number) {
		c.kill()
	}
	return wire.ErrKilled
}
