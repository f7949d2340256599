package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Histories at the edges that are left (see edges_test.go): events that no script
// can write, for the most part, since a harness writes them only on a bad day.

// changed is the history that a text describes, each of its events changed.
func (s script) changed(text string, change func(*history.Event)) *history.History {
	h := s.history(text)
	for i := range h.Events {
		change(&h.Events[i])
	}
	return h
}

// until is the history that a text describes, cut off behind an instant.
func (s script) until(text string, t float64) *history.History {
	h := s.history(text)
	for i := range h.Events {
		if h.Events[i].Time > at(t) {
			h.Events, h.Truncated = h.Events[:i], true
			break
		}
	}
	return h
}

// foundIn is what is found of a property.
func foundIn(h *history.History, property string) *PropertyResult {
	v := Judge(h, Options{})
	return v.Property(property)
}

// holdsTo checks how often a history violates a property.
func holdsTo(t *testing.T, name string, h *history.History, property string, want int) {
	t.Helper()
	if r := foundIn(h, property); r.Count != want {
		t.Errorf("%s: %s is violated %d times, want %d: %+v", name, property, r.Count, want, r)
	}
}

// TestFaultsOnNobody: a fault whose victim no history can have strikes nobody,
// one that touched a promise is not noted aside as well, and a client may have
// the number 0, which for a fault means nobody.
func TestFaultsOnNobody(t *testing.T) {
	struck := func(victim int32) func(*history.Event) {
		return func(e *history.Event) {
			if e.Type == history.Fault {
				e.Client = victim
			}
		}
	}
	const alone, elsewhere = "fault pause [4,705] on=A aside\n" + wentOn + probeText,
		"fault pause [4,705] on=service hosts=1\n" + wentOn + probeText
	for name, x := range map[string]struct {
		h    *history.History
		want string
	}{
		"on the holder":                {plainLock().changed(alone, struck(1)), PatternPaused},
		"on nobody":                    {plainLock().changed(alone, struck(0)), PatternWorkedPast},
		"on a number below any":        {plainLock().changed(alone, struck(-1)), PatternWorkedPast},
		"on a number beyond any":       {plainLock().changed(alone, struck(maxClients)), PatternWorkedPast},
		"on a server":                  {plainLock().changed(elsewhere, struck(1)), PatternWorkedPast},
		"on its process, for too long": {plainLock().history("fault pause [4,216.1] on=A\n" + wentOn + probeText), PatternPaused},
		// not for twice as long
		"on its process": {plainLock().history("fault pause [4,150] on=A\n" + wentOn + probeText), PatternWorkedPast},
		"on nobody, beside client 0": {plainLock().changed(alone, func(e *history.Event) {
			if e.Client == 1 {
				e.Client = 0
			}
		}), PatternWorkedPast},
	} {
		r := foundIn(x.h, MutualExclusion)
		if r.Count != 1 || r.Violations[0].Pattern != x.want {
			t.Errorf("%s: %+v, want %s", name, r, x.want)
		}
	}
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
