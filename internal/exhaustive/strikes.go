package exhaustive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/scenarios"
)

// strike is one fault that is tried at every place, aimed at one host.
type strike struct {
	// Column names the fault without the host: "paused for 1 lease".
	Column string
	Host   string
	// Notices reports whether the fault may do something else before the place than after it.
	// Between two such places its strikes are equal.
	Notices func(place) bool
	// At is the fault at a place, without its time; nil: it makes no sense there. Lacks says why.
	At    func(place) *scenarios.Fault
	Lacks string
}

// schedule is one fault at one place.
type schedule struct {
	strike
	Place place
	Fault scenarios.Fault
	// Equal is at how many earlier instants the same strike is the same schedule, and Last the time
	// of the last of these (ns from the workload's start).
	Equal int
	Last  int64
	// Order is another one of the instant's events, by their numbers; nil: the usual one.
	Order []int
}

// What a fault does to a client, in leases, or until its lease ends.
var (
	pauses = []float64{0.3, 1, 2.5}
	lates  = []float64{1, 2.5}
)

// longestStrike is how long a fault lasts at the most, in leases.
const longestStrike = 2.5

// tcpRepeats is when TCP first sends again what was lost: to both ends, a lost segment is one that
// is so late.
const tcpRepeats = scenarios.Duration(200 * time.Millisecond)

// pure are the host calls whose outcome and effect depend on nothing that a fault changes.
var pure = []sim.Act{"args_sizes_get", "args_get", "environ_sizes_get", "environ_get", "clock_res_get", "random_get",
	"sched_yield", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_prestat_get", "sock_shutdown"}

// strikesOf lists the faults for the clients and nodes of a run.
func strikesOf(ttl time.Duration, clients int, nodes []string) (all []strike) {
	leases := func(n float64) scenarios.Duration { return scenarios.Duration(n * float64(ttl)) }
	for i := range clients {
		all = append(all, clientStrikes(fmt.Sprintf("client-%d", i+1), leases)...)
		for _, peer := range append(slices.Clone(nodes), storePeer) {
			all = append(all, requestStrikes(fmt.Sprintf("client-%d", i+1), peer, leases)...)
		}
	}
	for _, n := range nodes {
		all = append(all, nodeStrikes(n, leases)...)
	}
	return all
}

// storePeer is the protected store, as faults of links name it.
const storePeer = string(nemesis.PeersStore)

// constantFault is a fault that is the same at all places.
func constantFault(f scenarios.Fault) func(place) *scenarios.Fault {
	f.When = string(nemesis.Random)
	return func(place) *scenarios.Fault { return &f }
}

// clientStrikes are what is done to a client itself, and to all of its connections.
func clientStrikes(host string, leases func(float64) scenarios.Duration) (all []strike) {
	add := func(column string, notices func(place) bool, f scenarios.Fault) {
		f.Target = host
		all = append(all, strike{Column: column, Host: host, Notices: notices, At: constantFault(f)})
	}
	own := func(p place) bool { return p.Host == host }
	stops := func(p place) bool {
		return own(p) && !slices.Contains(pure, p.Act) && (p.Act != sim.Sent && p.Act != sim.Received || p.Peer == storePeer)
	}
	for _, n := range pauses {
		add(fmt.Sprintf("paused %s", inLeases(n)), stops, scenarios.Fault{Kind: nemesis.KindPause, For: leases(n)})
	}
	for _, end := range []struct {
		column string
		after  float64
	}{{"paused to just before its lease's end", -0.02}, {"paused to just after its lease's end", 0.02},
		{"paused into the next holder's work", 0.3}} {
		all = append(all, strike{end.column, host, stops, func(p place) *scenarios.Fault {
			until := p.Doing[host].until
			length := scenarios.Duration(until-p.At) + leases(end.after)
			if until == 0 || length <= 0 {
				return nil
			}
			return &scenarios.Fault{Kind: nemesis.KindPause, Target: host, When: string(nemesis.Random), For: length}
		}, "nothing is held at this step"})
	}
	shown := []sim.Act{"fd_write", "dial", sim.Asked, sim.Sent}
	add("killed", func(p place) bool { return own(p) && slices.Contains(shown, p.Act) },
		scenarios.Fault{Kind: nemesis.KindKill, For: leases(0.1)})
	touched := []sim.Act{"fd_read", "fd_write", "dial", "fd_close", sim.Sent, sim.Received}
	reset := constantFault(scenarios.Fault{Kind: nemesis.KindReset, Target: host, Peers: string(nemesis.PeersAll)})
	all = append(all, strike{"its connections reset", host, func(p place) bool {
		return own(p) && slices.Contains(touched, p.Act) || p.Peer == host && (p.Act == sim.Sent || p.Act == sim.Received)
	}, func(p place) *scenarios.Fault {
		if !p.Doing[host].connected {
			return nil
		}
		return reset(p)
	}, "no connection is open at this step"})
	reads := func(p place) bool {
		return own(p) && slices.Contains([]sim.Act{"clock_time_get", "poll_oneoff", sim.Woken}, p.Act) ||
			p.Act == sim.Received
	}
	for _, c := range []struct {
		column string
		clock  nemesis.Clock
		by     float64
	}{{"its wall clock ahead", nemesis.Wall, 2}, {"its wall clock back", nemesis.Wall, -2},
		{"its monotonic clock ahead", nemesis.Mono, 0.8}} {
		add(c.column, reads, scenarios.Fault{Kind: nemesis.KindClockJump, Clock: string(c.clock),
			By: scenarios.Offset(leases(c.by)), For: leases(1)})
	}
	return all
}

// requestStrikes are what is done to one request of a client, or to its reply: at each that leaves.
func requestStrikes(host, peer string, leases func(float64) scenarios.Duration) (all []strike) {
	asks := func(p place) bool {
		return p.Host == host && p.Peer == peer && p.Act == sim.Sent && !p.Empty
	}
	to := "" // which server it is
	if peer == storePeer {
		to = " (store)"
	}
	add := func(column string, f scenarios.Fault) {
		f.Target, f.Peers, f.Request = host, peer, string(nemesis.RequestAny)
		all = append(all, strike{Column: column + to, Host: host, Notices: asks, At: constantFault(f)})
	}
	for _, way := range []struct{ what, way, point string }{{"request", "", "before-request"},
		{"reply", string(nemesis.WayIn), "after-request"}} {
		held := scenarios.Fault{Kind: nemesis.KindHold, Way: way.way, For: tcpRepeats}
		add(way.what+" lost, sent again by TCP", held)
		for _, n := range lates {
			held.For = leases(n)
			add(way.what+" late by "+inLeases(n), held)
		}
		lost := way.what + " lost with its connection"
		if way.way != "" {
			lost += ", so the client may ask twice"
		}
		add(lost, scenarios.Fault{Kind: nemesis.KindCut, Point: way.point})
	}
	return all
}

// nodeStrikes are what is done to a node.
func nodeStrikes(host string, leases func(float64) scenarios.Duration) (all []strike) {
	add := func(column string, notices func(place) bool, f scenarios.Fault) {
		f.Target = host
		all = append(all, strike{Column: column, Host: host, Notices: notices, At: constantFault(f)})
	}
	hears := func(p place) bool { return p.Host == host && p.Act == sim.Received }
	near := func(p place) bool { return p.Host == host || p.Peer == host && p.Act == sim.Received }
	for _, n := range pauses {
		add("node paused "+inLeases(n), hears, scenarios.Fault{Kind: nemesis.KindPause, For: leases(n)})
	}
	add("node restarted", near, scenarios.Fault{Kind: nemesis.KindCrash, For: leases(0.1)})
	add("node restarted without its data", near,
		scenarios.Fault{Kind: nemesis.KindCrash, For: leases(0.1), Data: string(nemesis.DataLost)})
	for _, by := range []float64{2, -2} {
		column := "node's wall clock ahead"
		if by < 0 {
			column = "node's wall clock back"
		}
		add(column, hears, scenarios.Fault{Kind: nemesis.KindClockJump, Clock: string(nemesis.Wall),
			By: scenarios.Offset(leases(by)), For: leases(1)})
	}
	return all
}

func inLeases(n float64) string {
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") + " lease"
	if n != 1 {
		text += "s"
	}
	return text
}

// sample is the fault as it strikes somewhere.
func (s strike) sample() scenarios.Fault {
	f := s.At(place{Doing: map[string]clientStep{s.Host: {stepHolding, int64(time.Second), true}}})
	f.At = scenarios.Instants{{At: 1}}
	return *f
}

// schedulesOf has each strike at every instant at which there is a place. Between two instants that
// the strike notices, nothing happens that could tell them apart: of those that are equal it leaves
// the last one, or with every set all of them. With orders each order of an instant's events makes
// schedules of its own. whole is how many there are in all. The places are sorted by time.
func schedulesOf(places []place, all []strike, every, orders bool) (out []schedule, whole int) {
	if orders {
		out = reordered(places)
		whole = len(out)
	}
	for _, s := range all {
		var equal []place
		for instant := range instantsOf(places) {
			at := slices.IndexFunc(instant, s.Notices)
			if at < 0 {
				equal = append(equal, instant[0])
				continue
			}
			last := instant[at]
			if f := s.At(instant[0]); f != nil { // it strikes before the first
				whole += len(equal) + 1
				if every {
					for _, p := range equal {
						out = append(out, schedule{s, p, movedTo(*f, p.At, last.At), 0, last.At, nil})
					}
				}
				here := schedule{s, last, movedTo(*f, last.At, last.At), len(equal), last.At, nil}
				out = append(out, here)
				if orders {
					ties := here.inOtherOrders(instant)
					whole += len(ties)
					out = append(out, ties...)
				}
			}
			equal = nil
		}
	}
	return out, whole
}

// mark is the schedule's place, as a report tells it.
func (s schedule) mark() studies.Mark {
	return studies.Mark{At: s.Place.At, Host: s.Host, Fault: s.Column, Step: s.Place.step(s.Host), Order: s.Order}
}

// movedTo is the fault at a time, with the end that it has if it begins at another one. What waits
// for a request lasts from that on.
func movedTo(f scenarios.Fault, at, last int64) scenarios.Fault {
	f.At = scenarios.Instants{{At: scenarios.Duration(at)}}
	if f.For > 0 && f.Request == "" {
		f.For += scenarios.Duration(last - at)
	}
	return f
}
