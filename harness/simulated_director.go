package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/harness/clock"
	"github.com/lockchaos/lockchaos/harness/wire"
	"github.com/lockchaos/lockchaos/harness/workload"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/hosts/sim"
	"github.com/lockchaos/lockchaos/nemesis"
)

// simDirector is the director of a run in virtual time. When a fault strikes, and whom, is decided
// by the code of real runs; only waiting and injecting are its own.
type simDirector struct {
	*director
	s     *simulation
	tasks map[*aimed]*sim.Task
	// laid are the traps that wait, by client.
	laidTraps map[int32]*simTrap
}

func newSimDirector(s *simulation) (*simDirector, error) {
	plan := streams(s.cfg.Plan)
	d, err := newDirector(s.rec, plan, nil, nil, nil, &s.ids)
	if err != nil {
		return nil, err
	}
	sd := &simDirector{director: d, s: s, tasks: map[*aimed]*sim.Task{}, laidTraps: map[int32]*simTrap{}}
	d.procs, d.apps = map[int32]*hosts.Process{}, map[int32]nemesis.Application{}
	d.carry, d.into = sd.strike, sd.underway
	d.traps.now = s.w.Now
	d.traps.wire = s.cfg.Lock.OnWire
	d.leader = sd.leading
	for _, n := range s.nodes {
		d.nodes = append(d.nodes, nemesis.Place{Name: n.Host().Name})
	}
	s.director = d
	return sd, nil
}

// leading names the node that leads the service.
func (d *simDirector) leading(context.Context) (string, error) {
	if n := sim.Leader(d.s.nodes); n != nil {
		return n.Host().Name, nil
	}
	return "", fmt.Errorf("nobody leads the service: %w", nemesis.ErrMissed)
}

func (d *simDirector) Asks(client int32, o wire.Op) (answered func(id int64, r wire.Reply)) {
	over := d.traps.asks(client, o)
	return func(int64, wire.Reply) { over() }
}

// Revive records the end of a client that was killed, and starts a fresh one in its place.
func (d *simDirector) Revive(ctx context.Context, a *workload.Actor) error {
	c := d.s.clients[a.Number-1]
	t := c.task
	t.Await(sim.Forever, func() bool { return !d.struck[a.Number] })
	why, _ := d.death(a.Number)
	d.s.exitOf(c)
	t.Await(why.away, func() bool { return clock.Closed(d.s.done) })
	fresh := d.s.spawn(a.Number, c.Life+1)
	fresh.Recorder, fresh.Claims = c.Recorder, c.Claims
	d.s.clients[a.Number-1] = fresh
	a.Client = fresh.Client
	if err := d.s.open(ctx, t, fresh); err != nil {
		return err
	}
	d.replaced(a.Number, nil, fresh.Client)
	return nil
}

// underway is that of director, in virtual time.
func (d *simDirector) underway(ctx context.Context, s nemesis.Step, longest time.Duration) (answered func() error) {
	h := d.taken(s)
	if h == nil {
		return func() error { return nil }
	}
	if h.strike.Parts[0].Waits() {
		err := d.strikeBy(ctx, h, s.Client)
		return func() error { return err }
	}
	came, struck := false, false
	var failed error
	d.s.w.After(nemesis.Delay(h.delays, longest), func() {
		if !came {
			struck, failed = true, d.strikeBy(ctx, h, s.Client)
		}
	})
	return func() error {
		came = true
		if !struck {
			d.putBack(h)
			d.wake(h.aimed)
		}
		return failed
	}
}

// RoundOver ends the waiting of a client's trap.
func (d *simDirector) RoundOver(client int32) {
	t := d.laidTraps[client]
	if t == nil || d.holding(client) {
		return
	}
	delete(d.laidTraps, client)
	if t.sprung == 0 {
		t.h.turned(t.p, false)
		t.remove()
		d.putBack(t.h)
		d.wake(t.h.aimed)
	}
}

func (d *simDirector) wake(f *aimed) {
	if t := d.tasks[f]; t != nil {
		t.Wake()
	}
}

// begin starts a task for each fault of the plan, and returns how many there are. over is called at
// the end of each.
func (d *simDirector) begin(ctx context.Context, over func()) int {
	d.stop = d.s.noMore
	began := d.s.w.Now()
	for _, f := range d.faults {
		d.s.start(func(t *sim.Task) {
			d.tasks[f] = t
			if err := d.cycle(ctx, t, f, began); err != nil {
				d.s.w.Fail(err)
			}
			over()
		})
	}
	return len(d.faults)
}

// cycle goes through the rounds of one fault.
func (d *simDirector) cycle(ctx context.Context, t *sim.Task, f *aimed, began int64) error {
	stop := func() bool { return clock.Closed(d.s.noMore) }
	return d.rounds(f, func() time.Duration { return time.Duration(d.s.w.Now() - began) },
		func(wait time.Duration) bool { t.Await(max(0, wait), stop); return !stop() },
		func(grant int64) (bool, error) { return d.once(ctx, t, f, grant) })
}

// once arms the strike that is loaded, and waits until it is over. It is false when the time for
// faults is over first.
func (d *simDirector) once(ctx context.Context, t *sim.Task, f *aimed, grant int64) (over bool, err error) {
	d.arm(f, grant)
	for !clock.Closed(d.s.noMore) {
		if f.strike.When == nemesis.Random {
			if err := d.strikeNow(ctx, f); err != nil {
				return true, err
			}
		}
		if len(f.over) > 0 {
			return true, <-f.over
		}
		wait := sim.Forever
		if f.strike.When == nemesis.Random && f.armed {
			wait = turnStep
		}
		t.Await(wait, func() bool { return len(f.over) > 0 || clock.Closed(d.s.noMore) })
	}
	if !d.takeBack(f) {
		t.Await(sim.Forever, func() bool { return len(f.over) > 0 })
		err = <-f.over
	}
	return false, err
}

// strike injects what was taken, records that, and heals it after the planned time.
func (d *simDirector) strike(ctx context.Context, h *hit) error {
	left := 0
	over := func() {
		if left--; left <= 0 {
			d.finish(h, nil)
			d.wake(h.aimed)
			for _, c := range d.s.clients {
				c.task.Wake() // one of them may wait until it is let go
			}
		}
	}
	for _, p := range h.strike.Parts {
		e, err := d.effectOf(ctx, h, p)
		if errors.Is(err, nemesis.ErrMissed) {
			continue
		}
		if err != nil {
			d.finish(h, err)
			d.wake(h.aimed)
			return err
		}
		if e == nil { // a trap, or a kill that is over
			if p.Waits() {
				return nil
			}
			continue
		}
		left++
		d.s.w.After(p.For, func() {
			d.healed(e, p)
			over()
		})
	}
	if left == 0 {
		over()
	}
	return nil
}

// simEffect is a fault in effect.
type simEffect struct {
	info   history.FaultInfo
	client int32
	from   int64
	hosts  []*sim.Host
	// heal ends it, and says what it did.
	heal func() (proof string, bit bool)
}

// effectOf puts one fault into effect and records that; nil: it is over, or waits for its packet.
func (d *simDirector) effectOf(ctx context.Context, h *hit, p nemesis.Part) (*simEffect, error) {
	info := history.FaultInfo{ID: d.ids.NextFault(), Plan: p.Place, Kind: p.Kind, Phase: "begin", Target: string(p.Target), When: string(p.When), Injected: true}
	p, err := d.meant(ctx, h, p)
	if err != nil {
		return nil, err
	}
	struck, err := d.hostsOf(h, p.Target)
	if err != nil {
		return nil, err
	}
	for _, one := range struck {
		info.Hosts = append(info.Hosts, one.Name)
	}
	touched(&info, p.Spec, h.clients())
	p = h.inTurn(p)
	e := &simEffect{info: info, client: sole(h.clients()), hosts: struck, from: d.s.w.Now()}
	e.info.Holding, e.info.Waiting = d.met(h)
	if p.Waits() {
		return nil, d.lay(h, p, e)
	}
	if p.Kills() {
		d.killAll(h, p, e, "the simulated program was ended between two host calls")
		return nil, nil
	}
	if e.heal, err = d.put(h, p, e); err != nil {
		return nil, err
	}
	d.beginOf(e)
	return e, nil
}

func (d *simDirector) beginOf(e *simEffect) {
	info := e.info
	info.Holding, info.Waiting = 0, false
	if e.info.Touch != nil && e.info.Touch.Sudden || e.info.From != 0 {
		info.From = d.rec.Relative(e.from)
	}
	d.rec.Record(history.Event{Type: history.Fault, Client: e.client, Fault: &info})
}

// healed ends a fault, and records what it did.
func (d *simDirector) healed(e *simEffect, p nemesis.Part) {
	if p.OnClocks() {
		d.readClocks(e, "end")
	}
	proof, bit := e.heal()
	if p.OnClocks() {
		d.readClocks(e, "healed")
	}
	d.end(e.info, e.client, nemesis.Effect{From: e.from, To: d.s.w.Now(), Proof: proof}, bit)
}

func (d *simDirector) readClocks(e *simEffect, step string) {
	for _, h := range e.hosts {
		wall, mono := h.Off()
		e.info.Clocks = append(e.info.Clocks, history.ClockReading{At: d.rec.Now(), Host: h.Name, Wall: wall, Mono: mono, Step: step})
	}
}

// hostsOf are the hosts of the clients that were taken, or chooses the nodes.
func (d *simDirector) hostsOf(h *hit, target nemesis.Target) (all []*sim.Host, err error) {
	if target.Client() {
		for _, c := range h.clients() {
			all = append(all, d.s.clients[c-1].machine)
		}
		return all, nil
	}
	v, err := d.victims(h, target)
	for _, n := range v.Nodes {
		all = append(all, d.s.hosts[n.Name])
	}
	return all, err
}

// killAll ends clients' processes.
func (d *simDirector) killAll(h *hit, p nemesis.Part, e *simEffect, how string) {
	d.markKilled(h, p)
	info := e.info
	d.rec.Record(history.Event{Type: history.Fault, Client: e.client, Fault: &info})
	for _, c := range h.clients() {
		d.s.clients[c-1].kill()
	}
	d.end(e.info, e.client, nemesis.Effect{From: e.from, To: d.s.w.Now(), Proof: how}, true)
}
