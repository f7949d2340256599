package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// FaultSpec is a planned fault as the nemesis knows it.
func FaultSpec(f scenarios.Fault) nemesis.Spec {
	return nemesis.Spec{Kind: f.Kind, Aim: nemesis.Aim{Target: nemesis.Target(f.Target), When: nemesis.Moment(f.When)},
		Peers: nemesis.Peers(f.Peers), Way: nemesis.Way(f.Way), Shape: f.Shape,
		Clock: nemesis.Clock(f.Clock), By: f.By.Std(), Rate: f.Rate, Period: f.Period.Std(),
		Delay: f.Delay.Std(), Jitter: f.Jitter.Std(), Probability: f.Probability, BytesPerSecond: f.BytesPerSecond,
		Request: nemesis.Request(f.Request), Point: nemesis.Point(f.Point), Silent: f.Silent,
		Data: nemesis.Data(f.Data), Share: f.Share}
}

// one is a fault of a strike, with the random numbers that say whom it hits.
type one struct {
	nemesis.Part
	rng *rand.Rand
}

// victims are those whom a fault strikes: clients, or nodes.
type victims struct {
	clients []victim // none: nodes are struck
	nodes   []nemesis.Place
}

// victim is a client with its process.
type victim struct {
	number int32
	proc   *hosts.Process
	app    *client // as far as it is held up from inside
	whole  bool    // all that runs on its host is meant
}

// subject is whose clocks a fault changes, or whom it throttles.
func (v victim) subject() nemesis.Subject {
	h := v.proc.Host()
	if v.whole {
		return nemesis.Subject{Name: h.Name, PIDs: h.PIDs, Stop: h.Stop}
	}
	return nemesis.Subject{Name: h.Name, PIDs: v.proc.Group, Stop: v.proc.Stop}
}

// procs are the clients' processes.
func (v victims) procs() (all []*hosts.Process) {
	for _, c := range v.clients {
		all = append(all, c.proc)
	}
	return all
}

// names are those of the hosts.
func (v victims) names() (names []string) {
	for _, c := range v.clients {
		names = append(names, c.proc.Host().Name)
	}
	for _, n := range v.nodes {
		names = append(names, n.Name)
	}
	return names
}

// subjects are those whose clocks a fault changes, or whom it throttles.
func (v victims) subjects() (all []nemesis.Subject) {
	for _, c := range v.clients {
		all = append(all, c.subject())
	}
	for _, n := range v.nodes {
		all = append(all, nemesis.Subject{Name: n.Name, PIDs: n.Host.PIDs, Stop: n.Host.Stop})
	}
	return all
}

// meant is a fault of the strike with the leader, or the primary, of now in the place of that word. What strikes together means the same one.
func (d *director) meant(ctx context.Context, h *hit, p nemesis.Part) (_ nemesis.Part, err error) {
	p.Spec, err = p.Answer(func() (string, error) {
		if h.leader == "" {
			h.leader, err = d.leader(ctx)
		}
		return h.leader, err
	})
	return p, err
}

// victims finds the processes of the clients that were taken, or chooses the nodes. What strikes together strikes the same.
func (d *director) victims(h *hit, target nemesis.Target) (v victims, err error) {
	if target.Client() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, c := range h.clients() {
			v.clients = append(v.clients, victim{c, d.procs[c], d.apps[c], d.whole})
		}
		return v, nil
	}
	if h.nodes == nil {
		if h.nodes, err = target.Nodes(d.nodeNames(), h.draws); err != nil {
			return v, err
		}
	}
	for _, n := range d.nodes {
		if slices.Contains(h.nodes, n.Name) {
			v.nodes = append(v.nodes, n)
		}
	}
	return v, nil
}

// effect puts a fault that lasts into effect.
func (d *director) effect(ctx context.Context, f *one, id int, v victims) (nemesis.InEffect, error) {
	switch f.Kind {
	case nemesis.KindPause:
		return pauseOf(ctx, v)
	case nemesis.KindCrash:
		return nemesis.CrashNodes(ctx, f.Spec, v.nodes...)
	case nemesis.KindThrottle:
		return nemesis.StartThrottle(ctx, f.Spec, v.subjects()...)
	case nemesis.KindFailover:
		return d.net.Failover(ctx, tag(id), d.service, d.nodes, d.nextGrant)
	case nemesis.KindStall, nemesis.KindRenewerStall:
		return nemesis.StallIn(ctx, f.Spec, f.For, v.clients[0].app)
	case nemesis.KindPartition:
		return d.net.Partition(tag(id), f.Spec, v.names(), f.rng)
	case nemesis.KindDelay, nemesis.KindLoss, nemesis.KindDuplicate, nemesis.KindReorder, nemesis.KindRate:
		return d.net.Degrade(tag(id), f.Spec, v.names(), f.rng)
	case nemesis.KindHold:
		return d.net.Hold(tag(id), f.Spec, v.names()[0], d.traps.asked(v.clients[0].number), f.rng)
	case nemesis.KindCut:
		return d.net.CutRequest(tag(id), f.Spec, v.names()[0], d.traps.asked(v.clients[0].number), f.rng)
	case nemesis.KindReset:
		return d.net.Reset(f.Spec, v.names(), f.rng)
	case nemesis.KindClockJump, nemesis.KindClockRate, nemesis.KindClockStrobe:
		return nemesis.SkewClocks(ctx, f.Spec, v.subjects()...)
	case nemesis.KindExpireSession:
		return nemesis.ExpireSession(ctx, v.names()[0], func(ctx context.Context) ([]string, error) {
			return d.expire(ctx, v.clients[0].number, v.clients[0].proc.Host().Addr)
		})
	}
	return nil, fmt.Errorf("nobody knows how to inject a %s", f.Kind)
}

// tag names a fault in the packet filters.
func tag(id int) string { return fmt.Sprintf("fault-%d", id) }

func pauseOf(ctx context.Context, v victims) (*nemesis.Pause, error) {
	if len(v.clients) > 0 && !v.clients[0].whole {
		return nemesis.StartPause(ctx, v.procs()...)
	}
	var chosen []*hosts.Host
	for _, c := range v.clients {
		chosen = append(chosen, c.proc.Host())
	}
	for _, n := range v.nodes {
		chosen = append(chosen, n.Host)
	}
	return nemesis.PauseHosts(ctx, chosen...)
}

// touched says in the history whom a fault touches: the judge excuses nobody else, and holds nobody to a promise whom it touched.
func touched(info *history.FaultInfo, s nemesis.Spec, clients []int32) {
	info.Links = s.OnLinks()
	info.Kept = s.Kind == nemesis.KindCrash && s.Data != nemesis.DataLost // such a plan has the nodes write down what they answer for
	if !s.Target.Client() {
		info.Service = true
		return
	}
	if s.Kind == nemesis.KindStall {
		return // an application that takes its time is no excuse for its lock, which goes on
	}
	if info.Links {
		info.Store = s.HitsStore()
	}
	if !s.OnLinks() || s.HitsLock() {
		info.Clients = clients
	}
}
