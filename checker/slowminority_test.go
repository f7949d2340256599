package checker

import (
	"math/rand/v2"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// The slow checker on what a fault on nodes excuses, word for word: it looks at
// every instant at which a fault begins.

// slowExcuses returns the faults as far as they excuse anything, by what the lock claims.
func slowExcuses(h *history.Header, faults []history.FaultInfo) (all []history.FaultInfo) {
	if h.Claims.Tolerates != "minority" {
		return faults
	}
	lifetime := h.TTL + max(h.Slack, h.TTL/2, 500*ms)
	for _, f := range faults {
		forgets := f.Kind == "crash-restart" && !f.Kept || f.Kind == "failover"
		if !f.Service || !f.Injected || len(f.Hosts) == 0 || forgets || f.Kind == "clock-jump" {
			all = append(all, f)
			continue
		}
		starts := []int64{f.From}
		for _, x := range faults {
			if x.Service && x.From > f.From && x.From <= f.To {
				starts = append(starts, x.From)
			}
		}
		slices.Sort(starts)
		whole := slices.IndexFunc(starts, func(t int64) bool { return slowMajority(h, faults, lifetime, t) })
		slow := h.Claims.Validity == "session" && f.Kind != "pause" && f.Kind != "partition" && f.Kind != "crash-restart"
		until := f.From + lifetime
		switch {
		case slow, whole == 0, h.Claims.Validity == "session" && (until >= f.To || whole > 0 && starts[whole] < until):
			all = append(all, f)
		default:
			if piece := f; h.Claims.Validity == "session" {
				piece.To = until
				all = append(all, piece)
			}
			if piece := f; whole > 0 {
				piece.From = starts[whole]
				all = append(all, piece)
			}
		}
	}
	return all
}

// slowMajority reports whether the nodes that have been struck by t are no minority.
func slowMajority(h *history.Header, faults []history.FaultInfo, lifetime, t int64) bool {
	nodes := map[string]bool{}
	for _, f := range faults {
		if f.Service && f.From <= t && (t <= f.To || f.Injected && t <= f.To+lifetime) {
			for _, host := range f.Hosts {
				nodes[host] = true
			}
		}
	}
	return 2*len(nodes) >= h.Nodes
}

// nodeFaults adds up to n faults on nodes of the service.
func (g *generator) nodeFaults(n, until, longest int) {
	for range g.rng.IntN(n + 1) {
		from := g.rng.IntN(until)
		kind := [...]string{"pause", "pause", "pause", "partition", "crash-restart +kept", "crash-restart", "failover",
			"clock-jump", "delay", "stall +own"}[g.rng.IntN(10)]
		g.add("fault %s [%d,%d] on=service hosts=n%d", kind, from, from+g.rng.IntN(longest), g.rng.IntN(4))
	}
}

// onQuorum has a lock claim, mostly, that it tolerates a minority.
func onQuorum(r *rand.Rand, h *history.Header) {
	h.Nodes = 3 + 2*r.IntN(2)
	h.Claims.Tolerates = [...]string{"", "minority", "minority"}[r.IntN(3)]
}
