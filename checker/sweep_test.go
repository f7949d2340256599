package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEdgesOfTheSweep: what the judge takes from the header and counts.
func TestEdgesOfTheSweep(t *testing.T) {
	lock := plainLock()
	h := lock.history(healthy)
	if v := Judge(h, Options{}); v.Stats.Events != int64(len(h.Events)) {
		t.Errorf("%d events, want %d", v.Stats.Events, len(h.Events))
	}
	const byToken = "A acquire [0,10] tok=2\nB acquire [0,10] tok=1\nA write [11,12]\nB write [13,14]"
	for _, lock := range []script{noClaims(fencedLock()), readWrite(noClaims(fencedLock()))} {
		holdsTo(t, "tokens order the grants of writers", lock.history(byToken), UnfencedWrite, 1)
	}
	holdsTo(t, "after a write with a smaller token comes another", noClaims(fencedLock()).history(`
		A acquire [0,10] tok=3
		B acquire [0,10] tok=1
		C acquire [0,10] tok=2
		A write   [11,12]
		B write   [13,14]
		C write   [15,16]`), UnfencedWrite, 2)

	slow := lock.with(func(h *history.Header) { h.TTL, h.Stall = 100*ms, 100*ms })
	run(t, []propertyCase{
		{"a stall is told of when the heartbeat comes", MutualExclusion, slow, `
		A acquire [0,1]
		B acquire [300,301]
		A write   [310,311] refused
		B write   [312,313]
		A release [320,321]
		B release [330,331]
		C acquire [390,391] key=k1
		stall A   [400,410] from=5` + probeText, Inconclusive, 0, "", "A stall of this machine"},
		{"another phase", StuckLock, lock, "mark heal [-10]" + healthy, Pass, 0, "", ""},
	})

	h = lock.history("A acquire [0,1]\nA write [1.2,1.3]\nA write [2,]\nA release [5,6]" + probeText)
	h.Events = append(h.Events, history.Event{Type: history.Watermark, Time: at(1e6), Start: at(1)})
	if r := foundIn(h, UnfencedWrite); r.Outcome != Pass {
		t.Errorf("a watermark that falls takes nothing back: %+v", r)
	}

	first := func(e *history.Event) {
		if e.Client == 1 {
			e.Client = 0
		}
	}
	if v := Judge(lock.changed(healthy, first), Options{}); v.Outcome != Pass {
		t.Errorf("a client may have the number 0: %v, %q", v.Outcome, v.Reasons)
	}
}
