package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestEdgesOfAcquires(t *testing.T) {
	twice := reentrant(plainLock())
	run(t, []propertyCase{
		{"an acquire that fails is no busy one, and denies nobody", StuckLock, plainLock(), `
		A acquire [0,1]
		B acquire [0,100] fail
		A release [2,3]
		mark probe [900]
		P acquire  [901,2000] busy
		mark final [3000]
		Q acquire  [3001,3002]`, Violated, 1, "", ""},
		{"a client of the run is no fresh one", StuckLock, plainLock(), `
		A acquire [0,1]
		A release [2,3]
		mark final [900]
		B acquire [901,902]`, Inconclusive, 0, "", "not probed"},
		{"a reentrant owner gave back all", StuckLock, twice, `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A release [4,5] g=A2
		A release [6,7] g=A1
		mark final [900]
		Q acquire [901,2900] busy`, Violated, 1, "", ""},
		{"a reentrant owner gave back one", StuckLock, twice, `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A release [4,5] g=A2
		mark final [900]
		Q acquire [901,2900] busy`, Inconclusive, 0, "", ""},
		{"a nested acquire renews the promise", MutualExclusion, twice, `
		A1=A acquire [0,1]
		A2=A acquire [400,401]
		B acquire [600,601]
		kill A [700,701]
		A exit [701]` + probeText, Violated, 1, KindGrantedWhileValid, "until 1.898 s"},
		{"a nested acquire does not shorten it", MutualExclusion, library(twice), `
		A1=A acquire [0,1] valid=490
		A2=A acquire [2,3] valid=10
		B acquire [300,301] valid=490
		kill A [400,401]
		A exit [401]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"what is nested belongs to the hold", MutualExclusion, noClaims(twice), `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A write [4,5] g=A2
		A release [6,7] g=A2 info
		B acquire [8,9]
		B write [10,11]
		A write [20,21] g=A2
		B write [22,23]` + probeText, Violated, 1, KindUnexplained, ""},
		{"an attempt before the invocation is none", MutualExclusion, plainLock(), `
		A acquire [0,20]
		A release [20.5,30]
		B acquire [25,26] first=5
		B release [40,41]` + probeText, Pass, 0, "", ""},
		{"nor is one after the end", TokenOrder, fencedLock(), `
		A acquire [0,10] tok=2
		B acquire [2,8] tok=1 first=20
		A release [30,31]
		B release [30,31]` + probeText, Pass, 0, "", ""},
		{"a call that began late is a late grant", TokenOrder, fencedLock(), `
		pause B   [5,100]
		A acquire [0,10] tok=2
		B acquire [5,100] run=50,60 tok=1
		A release [30,31]
		B release [110,111]` + probeText, Violated, 1, "", "smaller than token 2"},
		{"in the queue before it asked", FIFO, fair(plainLock()), `
		A acquire [0,1] enq=0.5
		B acquire [2,40] run=10,40 enq=3 first=38
		C acquire [4,20] enq=5 first=18
		A release [15,16]
		C release [30,31]
		B release [50,51]` + probeText, Pass, 0, "", ""},
		{"the number of an acquire that is over", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A release [2,3]
		B acquire [4,5]
		B release [6,7]` + probeText, Pass, 0, "", ""},
	})
}

// TestAnOpWhoseNumberIsUsedAgain is counted, and not judged.
func TestAnOpWhoseNumberIsUsedAgain(t *testing.T) {
	for name, lock := range map[string]script{"plain": plainLock(), "reentrant": reentrant(plainLock())} {
		h := lock.history("A acquire [0,1]\nB acquire [10,]" + probeText)
		again := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.OK }) + 1
		twice := slices.Clone(h.Events[again-2 : again])
		for i := range twice {
			twice[i].Time, twice[i].Start, twice[i].End = twice[i].Time+2*ms, 0, 0
		}
		h.Events = slices.Insert(h.Events, again, twice...)
		v := Judge(h, Options{})
		if v.Outcome != Inconclusive || !strings.Contains(strings.Join(v.Reasons, "\n"),
			"1 event that make no sense") && !strings.Contains(strings.Join(v.Reasons, "\n"), "make no sense") {
			t.Errorf("%s: %v %q", name, v.Outcome, v.Reasons)
		}
	}
}

// TestEdgesOfDamage: events that make no sense are counted, each of them.
func TestEdgesOfDamage(t *testing.T) {
	for name, add := range map[string]history.Event{
		"an op that is open already": {Type: history.Invoke, Kind: history.Read, Op: 3,
			Grant: 1, Client: 1, Time: at(3.5)},
		"the end of an absurd client": {Type: history.Exit, Client: -3, Time: at(3.5), Start: at(3.5)},
		"a ledger entry of an absurd key": {Type: history.Ledger, Kind: history.Write, Key: -1,
			Op: 3, Grant: 1, Seq: 1, Time: at(3.5)},
		"a ledger entry of an absurd key under a known grant": {Type: history.Ledger, Kind: history.Write, Key: -1,
			Op: 4, Grant: 1, Seq: 1, Time: at(3.5)},
		"a ledger entry of another kind": {Type: history.Ledger, Kind: history.Write, Op: 3,
			Grant: 1, Seq: 1, Time: at(3.5)},
		"a completion that came already": {Type: history.OK, Kind: history.Acquire, Op: 1,
			Grant: 1, Client: 1, Time: at(3.5)},
	} {
		h := fencedLock().history(healthy)
		open := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.Invoke && e.Op == 3 })
		h.Events = slices.Insert(h.Events, open+1, add)
		v := Judge(h, Options{})
		if v.Outcome != Inconclusive || !strings.Contains(strings.Join(v.Reasons, "\n"),
			"1 event that make no sense") && !strings.Contains(strings.Join(v.Reasons, "\n"), "make no sense") {
			t.Errorf("%s: %v %q", name, v.Outcome, v.Reasons)
		}
	}
	text := ""
	for k := range 7 {
		text += fmt.Sprintf("A acquire [%d,%d] key=k%d\nA release [%d,%d] key=k%d\n", 10*k, 10*k+1, k, 10*k+2, 10*k+3, k)
	}
	v := plainLock().judge(t, text+"mark final [900]")
	if why := v.Property(StuckLock).Why; !strings.Contains(why, "k2 was not probed; key 3 was not probed; and 3 more") {
		t.Errorf("of seven keys that nobody probed: %s", why)
	}
}

// TestEdgesOfOps: what the completion of an op under a hold tells.
func TestEdgesOfOps(t *testing.T) {
	lock := plainLock()
	const again = "A acquire [0,1]\nA write [2,]\nA release [5,6]\nA release [7,8] notheld\n"
	const probed = "mark final [3000]\nQ acquire [5000,6100] busy"
	run(t, []propertyCase{
		{"nobody knows whether it closed", StuckLock, lock, "A acquire [0,1]\nA close [10,11] info\n" + probed,
			Inconclusive, 0, "", "somebody could still hold it"},
		{"it closed", StuckLock, lock, "A acquire [0,1]\nA close [10,11]\n" + probed, Violated, 1, KindNeverExpired, ""},
		{"given back twice, and another one holds it", StuckLock, lock, again + "B acquire [10,11]\n" + probed,
			Inconclusive, 0, "", "somebody could still hold it"},
		{"a renewal that failed extends nothing", MutualExclusion, lock,
			"A acquire [0,1]\nA renew [400,401] fail\nB acquire [600,601]\nB release [610,611]" + probeText, Pass, 0, "", ""},
		{"a renewal that did not", MutualExclusion, lock,
			"A acquire [0,1]\nA renew [400,401]\nB acquire [600,601]\nB release [610,611]" + probeText, Violated, 1,
			KindGrantedWhileValid, ""},
		{"a renewal of its other grant, where grants are their own", StolenRelease, lock.with(func(h *history.Header) { h.Translated = true }), `
		G=A acquire [0,1]
		H=A acquire [10,11]
		A renew   [400,401] g=H
		A release [405,406] g=H
		B acquire [510,511]
		A release [601,602] g=G
		C acquire [603,604] first=603
		C release [700,701]
		B release [702,703] notheld` + probeText, Violated, 1, "", ""},
	})
	v := lock.judge(t, again+probed)
	if r := v.Property(StuckLock); r.Count != 1 || r.Violations[0].Pattern != PatternReleaseLost {
		t.Errorf("given back, and then there was nothing left to give back: %+v", r)
	}

	double := func(name, text, want string) {
		t.Helper()
		hasPattern(t, name, lock, MutualExclusion, text, want)
	}
	double("an op of unknown fate was under way for nobody knows how long",
		"fault partition [4,19] on=A links\n"+strings.Replace(wentOn, "A read    [2,3]", "A read [2,30] info", 1), PatternWorkedPast)
	double("of two ops that took as long, the first began in a cut",
		"fault partition [4,30] on=A links\n"+strings.Replace(wentOn, "A read    [2,3]",
			"A renew [20,320] fail\nA renew [330,630] fail", 1),
		PatternCutOff)

	unsure := func(e *history.Event) {
		if e.Type == history.Info {
			e.NotHeld = true
		}
	}
	const beside = "\nB acquire [30,31]\nB release [40,41]" + probeText
	holdsTo(t, "no longer held, it says, though nobody knows when it was asked",
		lock.changed("A acquire [0,1]\nA held [10,11] info"+beside, unsure), MutualExclusion, 1)
	// A release of unknown fate ends no hold, whatever it says: A's write is no stray.
	h := lock.changed("A acquire [0,1]\nA release [10,11] info\nA write [20,21]\nA release [22,23]"+probeText, unsure)
	if v := Judge(h, Options{}); v.Outcome != Pass {
		t.Errorf("a release of unknown fate: %v, %q", v.Outcome, v.Reasons)
	}
}

// TestOpsThatMakeNoSense are counted, each of them.
func TestOpsThatMakeNoSense(t *testing.T) {
	for name, change := range map[string]func(*history.Event){
		"no number":       func(e *history.Event) { e.Op = 0 },
		"a negative one":  func(e *history.Event) { e.Op = -1 },
		"no such key":     func(e *history.Event) { e.Key = -1 },
		"too great a key": func(e *history.Event) { e.Key = maxKeys },
		"no such client":  func(e *history.Event) { e.Client = -1 },
		"too many":        func(e *history.Event) { e.Client = maxClients },
	} {
		h := plainLock().history("A acquire [0,1]\nA release [2,3]\nB acquire [4,5]\nB release [6,7]" + probeText)
		for i := range h.Events {
			// its invocation and its completion
			if e := &h.Events[i]; e.Op == 3 && e.Kind == history.Acquire {
				change(e)
			}
		}
		if v := Judge(h, Options{}); !strings.Contains(strings.Join(v.Reasons, "\n"), "2 events that make no sense") {
			t.Errorf("%s: %q", name, v.Reasons)
		}
	}
	h := plainLock().history("A acquire [0,1]\nA write [2,3]\nA release [4,5]" + probeText)
	answer := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.OK && e.Kind == history.Write })
	h.Events = slices.Insert(h.Events, answer, h.Events[answer]) // the ledger has yet to tell of it
	if v := Judge(h, Options{}); !strings.Contains(strings.Join(v.Reasons, "\n"), "1 event that make no sense") {
		t.Errorf("a second answer: %q", v.Reasons)
	}
}
