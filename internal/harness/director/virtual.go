package director

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/nemesis"
)

// World is the simulated run whose clients and nodes a director strikes.
type World struct {
	Sim   *sim.World
	Nodes []*sim.Node
	Store *sim.Host
	// Host returns the host of a name, and Client the client of a number.
	Host   func(name string) *sim.Host
	Client func(number int32) SimulatedClient
}

// SimulatedClient is a client of a simulated run, as far as faults strike it.
type SimulatedClient interface {
	Machine() *sim.Host
	// Wake wakes the task that drives the client.
	Wake()
	// Kill ends the client's process.
	Kill()
	// ResetStore resets the client's connection to the store, and reports whether there was one.
	ResetStore() bool
}

// Virtual is the director of a run in virtual time. When a fault strikes, and whom, is decided
// by the code of real runs; only waiting and injecting are its own.
type Virtual struct {
	*Director
	s World
	// laid are the traps that wait, by client.
	laidTraps map[int32]*simTrap
}

// NewVirtual makes the director of a simulated run. The setting names what both
// times have in common.
func NewVirtual(setting Setting, s World) (*Virtual, error) {
	setting.Procs, setting.Apps = map[int32]*hosts.Process{}, map[int32]nemesis.Application{}
	for _, n := range s.Nodes {
		setting.Nodes = append(setting.Nodes, nemesis.Place{Name: n.Host().Name})
	}
	d, err := New(setting)
	if err != nil {
		return nil, err
	}
	sd := &Virtual{Director: d, s: s, laidTraps: map[int32]*simTrap{}}
	d.carry = sd.strike
	d.leader = sd.leading
	return sd, nil
}

// wakeClients wakes all clients: one of them may wait until a fault lets it go.
func (d *Virtual) wakeClients() {
	for c := int32(1); c <= d.clients; c++ {
		d.s.Client(c).Wake()
	}
}

// leading names the node that leads the service.
func (d *Virtual) leading(context.Context) (string, error) {
	if n := sim.Leader(d.s.Nodes); n != nil {
		return n.Host().Name, nil
	}
	return "", fmt.Errorf("nobody leads the service: %w", nemesis.ErrMissed)
}

// RoundOver ends the waiting of a client's trap.
func (d *Virtual) RoundOver(client int32) {
	t := d.laidTraps[client]
	if t == nil || d.holding(client) {
		return
	}
	delete(d.laidTraps, client)
	if t.sprung == 0 {
		t.h.turned(t.p, false)
		t.remove()
		d.putBack(t.h)
	}
}

// strike injects what was taken, records that, and heals it after the planned time.
func (d *Virtual) strike(ctx context.Context, h *hit) error {
	left := 0
	over := func() {
		if left--; left <= 0 {
			d.finish(h, nil)
			d.wakeClients()
		}
	}
	for _, p := range h.strike.Parts {
		e, err := d.effectOf(ctx, h, p)
		if errors.Is(err, nemesis.ErrMissed) {
			continue
		}
		if err != nil {
			d.finish(h, err)
			return err
		}
		if e == nil { // a trap, or a kill that is over
			if p.Waits() {
				return nil
			}
			continue
		}
		left++
		d.s.Sim.After(p.For, func() {
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
func (d *Virtual) effectOf(ctx context.Context, h *hit, p nemesis.Part) (*simEffect, error) {
	info := history.FaultInfo{ID: d.ids.NextFault(), Plan: p.Place, Kind: p.Kind, Phase: "begin",
		Target: string(p.Target), When: string(p.When), Injected: true}
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
	e := &simEffect{info: info, client: sole(h.clients()), hosts: struck, from: d.s.Sim.Now()}
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

func (d *Virtual) beginOf(e *simEffect) {
	info := e.info
	info.Holding, info.Waiting = 0, false
	if e.info.Touch != nil && e.info.Touch.Sudden || e.info.From != 0 {
		info.From = d.rec.Relative(e.from)
	}
	d.rec.Record(history.Event{Type: history.Fault, Client: e.client, Fault: &info})
}

// healed ends a fault, and records what it did.
func (d *Virtual) healed(e *simEffect, p nemesis.Part) {
	if p.OnClocks() {
		d.readClocks(e, "end")
	}
	proof, bit := e.heal()
	if p.OnClocks() {
		d.readClocks(e, "healed")
	}
	d.end(e.info, e.client, nemesis.Effect{From: e.from, To: d.s.Sim.Now(), Proof: proof}, bit)
}

func (d *Virtual) readClocks(e *simEffect, step string) {
	for _, h := range e.hosts {
		wall, mono := h.Off()
		e.info.Clocks = append(e.info.Clocks, history.ClockReading{At: d.rec.Now(), Host: h.Name, Wall: wall,
			Mono: mono, Step: step})
	}
}

// hostsOf are the hosts of the clients that were taken, or chooses the nodes.
func (d *Virtual) hostsOf(h *hit, target nemesis.Target) (all []*sim.Host, err error) {
	if target.Client() {
		for _, c := range h.clients() {
			all = append(all, d.s.Client(c).Machine())
		}
		return all, nil
	}
	v, err := d.victims(h, target)
	for _, n := range v.Nodes {
		all = append(all, d.s.Host(n.Name))
	}
	return all, err
}

// killAll ends clients' processes.
func (d *Virtual) killAll(h *hit, p nemesis.Part, e *simEffect, how string) {
	d.markKilled(h, p)
	info := e.info
	d.rec.Record(history.Event{Type: history.Fault, Client: e.client, Fault: &info})
	for _, c := range h.clients() {
		d.s.Client(c).Kill()
	}
	d.end(e.info, e.client, nemesis.Effect{From: e.from, To: d.s.Sim.Now(), Proof: how}, true)
}
