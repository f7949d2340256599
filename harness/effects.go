package harness

import (
	"context"
	"fmt"
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

// victims are those whom a fault strikes: a client, or nodes.
type victims struct {
	client *hosts.Process // nil: nodes are struck
	app    *client        // the client, as far as it is held up from inside
	nodes  []nemesis.Place
}

// names are those of the hosts.
func (v victims) names() (names []string) {
	if v.client != nil {
		return []string{v.client.Host().Name}
	}
	for _, n := range v.nodes {
		names = append(names, n.Name)
	}
	return names
}

// subjects are those whose clocks a fault changes, or whom it throttles.
func (v victims) subjects() (all []nemesis.Subject) {
	if v.client != nil {
		return []nemesis.Subject{{Name: v.client.Host().Name, PIDs: v.client.Group, Stop: v.client.Stop}}
	}
	for _, n := range v.nodes {
		all = append(all, nemesis.Subject{Name: n.Name, PIDs: n.Host.PIDs, Stop: n.Host.Stop})
	}
	return all
}

// answered is the fault with the leader, or the primary, of now in the place of that word.
func (d *director) answered(ctx context.Context, f *aimed) (*aimed, error) {
	spec, err := f.spec.Answer(func() (string, error) { return d.leader(ctx) })
	meant := *f
	meant.spec, meant.aim = spec, spec.Aim
	return &meant, err
}

// victims chooses whom the fault strikes.
func (d *director) victims(f *aimed, client int32) (v victims, err error) {
	if f.aim.Target.Client() {
		d.mu.Lock()
		defer d.mu.Unlock()
		return victims{client: d.procs[client], app: d.apps[client]}, nil
	}
	names, err := f.aim.Target.Nodes(d.nodeNames(), f.rng)
	for _, n := range d.nodes {
		if slices.Contains(names, n.Name) {
			v.nodes = append(v.nodes, n)
		}
	}
	return v, err
}

// effect puts a fault that lasts into effect.
func (d *director) effect(ctx context.Context, f *aimed, id int, client int32, v victims) (nemesis.InEffect, error) {
	switch f.plan.Kind {
	case nemesis.KindPause:
		return pauseOf(ctx, v)
	case nemesis.KindCrash:
		return nemesis.CrashNodes(ctx, f.spec, v.nodes...)
	case nemesis.KindThrottle:
		return nemesis.StartThrottle(ctx, f.spec, v.subjects()...)
	case nemesis.KindFailover:
		return d.net.Failover(ctx, tag(id), d.service, d.nodes, d.nextGrant)
	case nemesis.KindStall, nemesis.KindRenewerStall:
		return nemesis.StallIn(ctx, f.spec, f.plan.For.Std(), v.app)
	case nemesis.KindPartition:
		return d.net.Partition(tag(id), f.spec, v.names(), f.rng)
	case nemesis.KindDelay, nemesis.KindLoss, nemesis.KindDuplicate, nemesis.KindReorder, nemesis.KindRate:
		return d.net.Degrade(tag(id), f.spec, v.names(), f.rng)
	case nemesis.KindHold:
		return d.net.Hold(tag(id), f.spec, v.names()[0], d.traps.asked(client), f.rng)
	case nemesis.KindCut:
		return d.net.CutRequest(tag(id), f.spec, v.names()[0], d.traps.asked(client), f.rng)
	case nemesis.KindReset:
		return d.net.Reset(f.spec, v.names(), f.rng)
	case nemesis.KindClockJump, nemesis.KindClockRate, nemesis.KindClockStrobe:
		return nemesis.SkewClocks(ctx, f.spec, v.subjects()...)
	case nemesis.KindExpireSession:
		return nemesis.ExpireSession(ctx, v.names()[0], func(ctx context.Context) ([]string, error) {
			return d.expire(ctx, client, v.client.Host().Addr)
		})
	}
	return nil, fmt.Errorf("nobody knows how to inject a %s", f.plan.Kind)
}

// tag names a fault in the packet filters.
func tag(id int) string { return fmt.Sprintf("fault-%d", id) }

func pauseOf(ctx context.Context, v victims) (*nemesis.Pause, error) {
	if v.client != nil {
		return nemesis.StartPause(ctx, v.client)
	}
	var chosen []*hosts.Host
	for _, n := range v.nodes {
		chosen = append(chosen, n.Host)
	}
	return nemesis.PauseHosts(ctx, chosen...)
}

// touched says in the history whom a fault touches: the judge excuses nobody else, and holds nobody to a promise whom it touched.
func touched(info *history.FaultInfo, s nemesis.Spec, client int32) {
	info.Links = s.OnLinks()
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
		info.Clients = []int32{client}
	}
}
