package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestWhatIsNotToldIsNotJudged: where a history says that it can't tell of a
// property, nothing of it is counted, told live, or weighs on the severity.
func TestWhatIsNotToldIsNotJudged(t *testing.T) {
	stale := fencedLock().with(func(h *history.Header) { h.Claims.Confirms = []string{"renew"} })
	text := stalled("pause") + strings.ReplaceAll(strings.ReplaceAll(handedOver, "A acq", "C acq"), "B acq", "D acq") +
		"C renew [900,901]\nC acquire [950,960] tok=1\nC release [970,971]"
	told := map[string]int{}
	judge := func(lock script) Verdict {
		clear(told)
		return Judge(lock.history(text), Options{OnViolation: func(v Violation) { told[v.Property]++ }})
	}
	all := []string{MutualExclusion, UnfencedWrite, LostUpdate, TokenOrder, Continuity}
	if judge(stale); len(told) != len(all) {
		t.Fatalf("told of %v, want %q", told, all)
	}
	for _, property := range all {
		v := judge(stale.with(func(h *history.Header) { h.Untold = map[string]string{property: "It is not told."} }))
		if r := v.Property(property); told[property] > 0 || r.Outcome != NotJudged || r.Why != "It is not told." {
			t.Errorf("%s: %v (%s), told %d times", property, r.Outcome, r.Why, told[property])
		}
		for _, g := range v.Patterns {
			if g.Of(property) > 0 {
				t.Errorf("%s: counted as %s", property, g.Pattern)
			}
		}
	}
	v := judge(stale.with(func(h *history.Header) {
		h.Untold = map[string]string{UnfencedWrite: "It is not told.", LostUpdate: "It is not told."}
	}))
	if v.Severity == Corrupting {
		t.Error("corrupting, by what is not told")
	}
}

// TestWhatACutLeavesOpen: who was granted a key inside a promise is not known
// until what withdrew it would have been recorded.
func TestWhatACutLeavesOpen(t *testing.T) {
	for cut, want := range map[float64]int{640: 0, 900: 1} {
		h := confirms(plainLock(), "renew").until(strings.Replace(stolen, "C release [700,701]", "D acquire [899,900] key=k1", 1), cut)
		holdsTo(t, fmt.Sprintf("cut at %v", cut), h, StolenRelease, want)
	}
}

// TestKeepsTheFirst: room for one violation is not taken by what is none, or
// stands only by tokens that broke their order.
func TestKeepsTheFirst(t *testing.T) {
	for name, x := range map[string]struct {
		lock script
		text string
	}{
		"a stall explains the first": {fencedLock(), strings.NewReplacer("A acquire [0,1]", "A acquire [0,1] tok=1", "B acquire [600,601]", "B acquire [600,601] tok=2", probeText, "").Replace(stalled("stall")) + `
		C acquire [2000,2001] tok=3
		D acquire [2100,2101] tok=4
		D release [2102,2103]`},
		"the tokens of the first break": {noClaims(fencedLock()), `
		pause A   [1,699]
		A acquire [0,700] tok=33
		A write   [701,702] refused
		B acquire [600,601] tok=34
		B release [650,651]
		C acquire [1000,1001] tok=1
		D acquire [1100,1101] key=k1 tok=1
		E acquire [1102,1103] key=k1 tok=2
		D write   [1110,1111] key=k1
		E write   [1112,1113] key=k1
		D write   [1114,1115] key=k1`},
	} {
		v := Judge(x.lock.history(x.text), Options{Keep: 1})
		if r := v.Property(MutualExclusion); r.Count != 1 || len(r.Violations) != 1 {
			t.Errorf("%s: %d double-holds, %d kept", name, r.Count, len(r.Violations))
		}
	}
	h := cut(plainLock()).history("A acquire [0,1]\npause A [2,]")
	if v := Judge(h, Options{}); len(v.Reasons) != 1 {
		t.Errorf("a fault that is cut off: %q", v.Reasons)
	}
}

// TestAFindingKeepsItsFaults: those that touched either of two grants are
// named, however many came since it was found.
func TestAFindingKeepsItsFaults(t *testing.T) {
	free, quiet := permits(noClaims(plainLock()), 0), confirms(noClaims(plainLock()))
	for name, x := range map[string]struct {
		lock           script
		property, text string
	}{
		"the one who lost another's update": {free, LostUpdate, `
			A acquire [0,1]
			A read    [2,3]
			pause A   [10,20]
			B acquire [2000,2001]
			B write   [2004,2005]
			B release [2006,2007]
			A write   [2100,2101]
			A release [2110,2111]`},
		"the one whose update was lost": {free, LostUpdate, `
			A acquire [0,1]
			pause A   [10,20]
			B acquire [2000,2001]
			B read    [2002,2003]
			A write   [2004,2005]
			A release [2006,2007]
			B write   [2100,2101]
			B release [2110,2111]`},
		"the one whose write came late": {quiet, UnfencedWrite, `
			A acquire [0,1]
			pause A   [10,20]
			A write   [1990,2100] @2050
			A release [2101,2102]
			B acquire [2000,2001] first=2000
			B write   [2010,2011]
			B release [2110,2111]`},
		"the one whose write came between": {quiet, UnfencedWrite, `
			pause A   [10,20]
			A acquire [0,2000]
			A write   [2001,2020] @2012
			A release [2101,2102]
			B acquire [1990,2005]
			B write   [2009,2011] @2010
			B write   [2013,2015] @2014
			B release [2110,2111]`},
		"the one whose tick came late": {workload(free, workloadLeader), DuplicateEffect, `
			A acquire [0,1]
			pause A   [10,20]
			B acquire [2000,2001]
			B write   [2004,2005] value=1
			B release [2006,2007]
			A write   [2100,2101] value=1
			A release [2110,2111]`},
		"the one whose tick came early": {workload(free, workloadLeader), DuplicateEffect, `
			A acquire [0,1]
			pause A   [10,20]
			B acquire [2000,2001]
			A write   [2004,2005] value=1
			A release [2006,2007]
			B write   [2100,2101] value=1
			B release [2110,2111]`},
		"the one who was granted it, by the tokens alone": {confirms(noClaims(fencedLock()), "held"), Continuity, `
			pause B   [10,20]
			B acquire [0,2001] tok=2
			A acquire [1990,2000] tok=1
			A held    [2050,2051]
			A release [2101,2102] notheld
			B release [2110,2111]`},
		"the one who was confirmed": {confirms(quiet, "held"), Continuity, `
			A acquire [0,1]
			pause A   [10,20]
			B acquire [2000,2001] first=2000
			A held    [2050,2051]
			A release [2101,2102] notheld
			B release [2110,2111]`},
	} {
		text := x.text
		// so that the key's summaries point to others
		for i, who := range [...]string{"C", "D", "E"} {
			at := 2120 + 10*i
			text += fmt.Sprintf("\n%s acquire [%d,%d] first=%d\n%s write [%d,%d] value=%d\n%s release [%d,%d]", who, at,
				at+1, at, who, at+2, at+3, 5+i, who, at+4, at+5)
		}
		h := x.lock.history(text)
		if looksBack(t, h) {
			t.Errorf("%s: a record was used again too early", name)
		}
		s := New(h.Header, h.Keys, Options{})
		last := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.Watermark })
		for i := range h.Events {
			if i == last {
				addFaultsElsewhere(s, at(2150))
			}
			s.Add(&h.Events[i])
		}
		v := s.Finish(false)
		if r := v.Property(x.property); r.Count != 1 || len(r.Violations[0].Faults) != 1 || v.Property(MutualExclusion).Count > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
