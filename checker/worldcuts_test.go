package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Clients of the world that are cut off from the lock service, and still reach the store.

// cut plans when a client is cut off, for less and for much more than the TTL.
func (w *world) cut(n int32) {
	for t := w.between(200*ms, 1500*ms); t < worldEnd-2000*ms; t += w.between(500*ms, 2000*ms) {
		p := [2]int64{t, t + w.between(100*ms, 1600*ms)}
		w.apart[n] = append(w.apart[n], p)
		t = p[1]
		w.faultOn(history.FaultInfo{Kind: faultPartition, Clients: []int32{n}, Links: true}, p[0], p[1])
	}
}

// isApart reports whether a client was cut off at some time between two instants.
func (w *world) isApart(client int32, from, to int64) bool {
	return slices.ContainsFunc(w.apart[client], func(p [2]int64) bool { return p[0] <= to && p[1] >= from })
}

// severed reports whether what a client sends or is sent now does not arrive.
func (w *world) severed(client int32, k history.Kind) bool {
	return !toStore(k) && w.isApart(client, w.now, w.now)
}

// trusted is for how long a library that looks at its own clock relies on a
// session that was confirmed.
const worldTrust = worldTTL * 9 / 10

// watch has a library that notices alone tell of a loss when its own clock says
// so, unless the session was confirmed since.
func (w *world) watch(grant int64, process int32, confirmed int64) {
	g := w.truths.grants[grant]
	w.later(w.awake(g.client, confirmed+worldTrust), func() {
		if g.renewed == confirmed && !w.gone[process] && !w.truths.given[grant] {
			w.tell(g)
		}
	})
}

// tell records that a library says that a grant is lost.
func (w *world) tell(g *truth) {
	if !g.released && !w.silent && !g.told {
		g.told, g.toldAt = true, w.now
		w.record(w.now, history.Event{Type: history.Lost, Grant: g.op, Client: g.client, Time: w.now, Start: w.now})
	}
}

// cutWorlds are correct locks whose clients are cut off.
var cutWorlds = map[string]worldConfig{
	"session, cut off":                {service: service{session: true}, cuts: true, keys: 3},
	"session, cut off, alone":         {service: service{session: true, alone: true}, cuts: true, keys: 3},
	"session, cut off, alone, pauses": {service: service{session: true, alone: true}, cuts: true, keys: 3, pauses: true},
}

// TestLocksThatAreCutOffAreNotAccused: a correct lock whose clients are cut off
// overruns its leases, and tells in time. LOCKCHAOS_SOAK=1 judges 3,000 histories.
func TestLocksThatAreCutOffAreNotAccused(t *testing.T) {
	total, kinds := simulated(t, cutWorlds, histories(60, 3_000))
	t.Logf("%s%v", printed(total, Names()), kinds)
	for name, s := range total {
		if s.alarms > 0 || s.missed > 0 {
			t.Errorf("%s: %d false alarms, %d missed:\n%s", name, s.alarms, s.missed,
				strings.Join(s.examples[:min(8, len(s.examples))], "\n"))
		}
	}
	if total[MutualExclusion].caught == 0 {
		t.Error("no client outlived its lease")
	}
}
