package exhaustive

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
)

// place is an instant of the undisturbed run at which something happens, and what each client does
// then. A fault with that time strikes right before it.
type place struct {
	simulated.Place
	Doing map[string]clientStep // by the clients' hosts
}

// clientStep is the step of a client, in the words of the exam, when the lease ends that it holds,
// from the workload's start (ns; 0: it holds none), and whether it has a connection.
type clientStep struct {
	step      string
	until     int64
	connected bool
}

// instantsOf are the places of each instant. The places are sorted by time.
func instantsOf(places []place) iter.Seq[[]place] {
	return func(yield func([]place) bool) {
		for rest := places; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].At == rest[0].At {
				n++
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// step is that of a client; of a node, that of the client that it hears or answers at the place. If
// that is a node, too, it is of all clients' steps the last that a client passes.
func (p place) step(host string) string {
	if d, client := p.Doing[host]; client {
		return d.step
	}
	if d, client := p.Doing[p.Peer]; client {
		return d.step
	}
	if d, client := p.Doing[p.Host]; client {
		return d.step
	}
	last := 0
	for _, d := range p.Doing {
		last = max(last, slices.Index(steps, d.step))
	}
	return steps[last]
}

// The steps of a client, by the names that the exam's table has for them, and two more.
const (
	stepAsking    = "asking"
	stepWaiting   = "waiting"
	stepGranted   = "grant's reply"
	stepHolding   = "holding"
	stepWorking   = "working"
	stepRenewing  = "renewing"
	stepRenewed   = "renewal's reply"
	stepHeld      = "asking held"
	stepReleasing = "releasing"
	stepReleased  = "release's reply"
	stepGivingUp  = "giving up"
	stepResting   = "resting"
)

// steps are those that the places of a run can have, in the order in which a client passes them.
var steps = []string{stepResting, stepAsking, stepWaiting, stepGivingUp, stepGranted, stepHolding, stepWorking,
	stepHeld, stepRenewing, stepRenewed, stepReleasing, stepReleased}

// clientRun is what a client did in the undisturbed run. Times are the history's.
type clientRun struct {
	ops     []*history.Op
	replies []int64 // when nodes sent it something
}

// stepsOf says of each place what its client does there, by the history of the run, and sorts the
// places by time. ttl is the lock's.
func stepsOf(all []simulated.Place, h *history.History, ttl time.Duration) (out []place) {
	v := history.NewView(h)
	began, runs := v.RunStart(), map[string]*clientRun{}
	for _, o := range v.Ops {
		name := fmt.Sprintf("client-%d", o.Client)
		if runs[name] == nil {
			runs[name] = &clientRun{}
		}
		runs[name].ops = append(runs[name].ops, o)
	}
	for _, p := range all {
		if r := runs[p.Peer]; r != nil && p.Act == sim.Sent && !p.Empty && p.Host != simulated.StoreHost {
			r.replies = append(r.replies, p.At+began)
		}
	}
	for _, p := range all {
		one := place{p, map[string]clientStep{}}
		for name, r := range runs {
			d := r.at(p.At+began, int64(ttl))
			if d.until > 0 {
				d.until -= began
			}
			if name == p.Host || name == p.Peer {
				d.step = background(p.Place, name, d.step)
			}
			d.connected = slices.Contains(p.Connected, name)
			one.Doing[name] = d
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b place) int { return cmp.Compare(a.At, b.At) })
	return out
}

// background is the step of a client at a place of its own. What passes between it and its service
// while it asks for nothing is a renewal of the lock's own.
func background(p sim.Place, client, step string) string {
	switch {
	case step != stepHolding && step != stepWorking, p.Peer == "", p.Host == simulated.StoreHost,
		p.Peer == simulated.StoreHost:
		return step
	case (p.Act == sim.Sent) == (p.Host == client):
		return stepRenewing
	}
	return stepRenewed
}

// at is what the client does at a time of the history.
func (r *clientRun) at(now, ttl int64) clientStep {
	d := clientStep{step: stepResting}
	var last *history.Op
	for _, o := range r.ops {
		if o.Asked >= now {
			break
		}
		if last = o; o.End >= now {
			break
		}
		switch {
		case o.Kind == history.Acquire && o.Outcome == history.OK:
			d = clientStep{step: stepHolding, until: o.Start + ttl}
		case o.Kind == history.Acquire, o.Kind == history.Release:
			d = clientStep{step: stepResting}
		case o.Kind == history.Renew && o.Outcome == history.OK:
			d.until = o.Start + ttl
		case o.Kind == history.Read, o.Kind == history.Write:
			d.step = stepWorking
		}
	}
	if last != nil && last.End >= now {
		d.step = r.during(last, now)
	}
	return d
}

// during is what the client does at a time at which an op is under way.
func (r *clientRun) during(o *history.Op, now int64) string {
	reply := int64(0) // the last one before its end
	for _, at := range r.replies {
		if at <= o.End {
			reply = at
		}
	}
	replied := now > reply
	switch {
	case o.Kind == history.Acquire && replied && o.Outcome == history.OK:
		return stepGranted
	case o.Kind == history.Acquire && replied:
		return stepGivingUp
	case o.Kind == history.Acquire && slices.ContainsFunc(r.replies, func(at int64) bool { return at > o.Start && at < now }):
		return stepWaiting
	case o.Kind == history.Acquire:
		return stepAsking
	case o.Kind == history.Renew && replied:
		return stepRenewed
	case o.Kind == history.Renew:
		return stepRenewing
	case o.Kind == history.Release && replied:
		return stepReleased
	case o.Kind == history.Release:
		return stepReleasing
	case o.Kind == history.Held:
		return stepHeld
	}
	return stepWorking
}
