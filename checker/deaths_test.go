package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestEdgesOfDeaths(t *testing.T) {
	run(t, []propertyCase{
		{"granted, and dead before it was known: owed nothing since", MutualExclusion, plainLock(), `
		A acquire [0,20] run=0,5 proc=1
		kill A    [8,9]
		A exit    [10] proc=1
		B acquire [30,31]
		B release [40,41]` + probeText, Pass, 0, "", ""},
		{"granted while the dead one was owed it", MutualExclusion, plainLock(), `
		A acquire [0,20] run=0,5 proc=1
		kill A    [12,13]
		A exit    [14] proc=1
		B acquire [3,4]
		B release [40,41]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"it gave a later sign of life", MutualExclusion, plainLock(), `
		A acquire [0,20] run=0,5 proc=1
		A acquire [1,9] run=1,8 key=k1 proc=1
		A exit    [14] proc=1
		B acquire [6,7]
		B release [40,41]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"a dead owner's heir has a hold of its own", MutualExclusion, reentrant(noClaims(plainLock())), `
		A acquire [0,1] proc=1
		A write   [2,] proc=1
		A exit    [10] proc=1
		B acquire [100,101]
		B write   [102,103]
		B release [110,111]
		A acquire [600,601] proc=33
		A write   [602,603] proc=33
		A release [604,605] proc=33` + probeText, Pass, 0, "", ""},
		{"a pause is no kill", MutualExclusion, plainLock(), `
		A acquire [0,1]
		pause A   [300,400]
		A exit    [401]
		B acquire [200,201]
		B release [500,501]` + probeText, Pass, 0, "", ""},
		{"killed at the very instant", MutualExclusion, plainLock(), `
		A acquire [0,1]
		kill A    [401,402]
		A exit    [401]
		B acquire [300,301]
		B release [500,501]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"killed twice", MutualExclusion, plainLock(), `
		A acquire [0,1]
		kill A    [200,395]
		kill A    [390,401]
		A exit    [398]
		B acquire [300,301]
		B release [500,501]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"the dead one may hold until its lease is over", StuckLock, plainLock(), `
		A acquire [990,1010] run=991,1005 proc=1
		A exit    [1000] proc=1
		mark final [1100]
		Q acquire  [1101,2002] busy`, Inconclusive, 0, "", ""},
		{"what was handed over as it was given back", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A release [10,11]
		B acquire [10,12]
		B release [20,21]` + probeText, Pass, 0, "", ""},
		{"a renewal that began with the one before", Continuity, plainLock(),
			handedOver + "A renew [700,701]\nA renew [700,702]\nA release [703,704] notheld" + probeText, Violated, 1, "", ""},
		{"a renewal, then a release that began before it", Continuity, plainLock(),
			handedOver + "A renew [700,703]\nA release [699,702]" + probeText, Violated, 1, "", ""},
		{"one client's two grants", Continuity, plainLock(), `
		A1=A acquire [0,1]
		A2=A acquire [10,11]
		A release [20,21] g=A1
		A release [30,31] g=A2` + probeText, Pass, 0, "", ""},
		{"a lock that confirms renewals alone", Continuity, confirms(plainLock(), "renew"),
			handedOver + "A renew [700,701]" + probeText, Violated, 1, "", ""},
		{"a semaphore in a workload of payments", DuplicateEffect, permits(workload(plainLock(), "payment"), 2),
			"A acquire [0,1]\nA write [2,3]" + probeText, NotJudged, 0, "", "more than one permit"},
		{"no claim about exclusion", UnfencedWrite, permits(plainLock(), 0),
			"A acquire [0,1]\nA write [2,3]" + probeText, NotJudged, 0, "", "no lock"},
		{"a lock that is never over", Deadlock, claim(noClaims(plainLock()),
			func(c *history.Claims) { c.NoExpiry = true }), healthy, NotJudged, 0, "", "while it had another"},
	})
}

// TestDeathsThatAreToldLate: the end of a process withdraws what was promised
// to it as of its last sign of life, and nothing of its heirs'.
func TestDeathsThatAreToldLate(t *testing.T) {
	goneAt := func(t float64) func(*history.Event) {
		return func(e *history.Event) {
			if e.Type == history.Exit {
				e.Start = at(t)
			}
		}
	}
	lock := plainLock()
	const killed = "A acquire [0,1]\nkill A [500,500]\nA exit [900]\nB acquire [50,51]\nB release [60,61]"
	holdsTo(t, "a kill when it was gone", lock.changed(killed, goneAt(100)), MutualExclusion, 0)
	holdsTo(t, "a kill as it ended", lock.changed(strings.Replace(killed, "[500,500]", "[100,100]", 1), goneAt(100)), MutualExclusion, 1)
	const heir = "A acquire [0,1] proc=1\nA acquire [99,100] proc=33 key=k1\nA exit [110] proc=1\nB acquire [60,70]\nB release [80,81]"
	holdsTo(t, "its heir showed life", lock.changed(heir, goneAt(50)), MutualExclusion, 0)
	holdsTo(t, "it was gone by then", lock.changed(heir, goneAt(105)), MutualExclusion, 1)

	const lost = `
		A acquire [0,1] key=k0
		A acquire [2,3] key=k1
		A held    [100,101] key=k0
		A lost    [102] key=k1
		B acquire [70,90] key=k0
		A exit    [200]
		B release [210,211] key=k0`
	toldAt := func(t float64) func(*history.Event) {
		return func(e *history.Event) {
			if e.Type == history.Lost {
				e.Start = at(t)
			}
		}
	}
	holdsTo(t, "a loss that was told of before its last sign of life", lock.changed(lost, toldAt(50)), MutualExclusion, 1)
	h := lock.changed(healthy, func(*history.Event) {})
	h.Events = append([]history.Event{{Type: history.Lost, Client: -1, Grant: 1, Time: 1}}, h.Events...)
	holdsTo(t, "a loss of nobody", h, MutualExclusion, 0)

	run(t, []propertyCase{
		{"two deaths are told in the wrong order, and then the answer of the second", MutualExclusion, lock, `
		A acquire [0,100] run=0,90 proc=33
		A exit    [95] proc=33
		A exit    [96] proc=1
		B acquire [110,111]
		B release [120,121]` + probeText, Pass, 0, "", ""},
		{"the dead one's heir still asks for it", StuckLock, lock, `
		A acquire [0,1] proc=1
		A release [2,3] proc=1
		A acquire [10,] proc=33
		A exit    [20] proc=1
		mark final [3000]
		Q acquire [5000,6100] busy`, Inconclusive, 0, "", "somebody could still hold it"},
	})
	const waited = "B acquire [0,1]\nA acquire [2,]\nB release [900,901]\nA exit [1000]\nmark final [1100]\nQ acquire [1101,1500] busy"
	for name, want := range map[float64]Outcome{10: Inconclusive, 905: Inconclusive} {
		if r := foundIn(lock.changed(waited, goneAt(name)), StuckLock); r.Outcome != want || !strings.Contains(r.Why, "gave up too early") {
			t.Errorf("a waiter that was gone by %v: %+v", name, r)
		}
	}
	h = lock.changed("A acquire [0,]\nB acquire [2,3]\nB exit [950]\nA exit [1000]\nmark final [1100]\nQ acquire [4000,4500] busy", func(e *history.Event) {
		if e.Type == history.Exit && e.Client == 1 {
			e.Start = at(1)
		}
	})
	if r := foundIn(h, StuckLock); r.Count != 1 || r.Violations[0].Pattern != PatternNeverExpired {
		t.Errorf("the last one that could hold it vanished: %+v", r)
	}
}
