package checker

import (
	"fmt"
	"strings"
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

// TestEdgesOfStaleWrites: what is known of a write that came too late, and of the acts beside it.
func TestEdgesOfStaleWrites(t *testing.T) {
	lock := plainLock()
	const later = "B acquire [600,601]\nB write [602,603]\n"
	const slow = "A acquire [0,1]\nstall A [2,302]\n" + later + "A write [700,701]\n"
	overran := func(fault, acts string) string {
		return fault + "\nA acquire [0,1]\nA read [410,411]\nB acquire [610,611]\n" + acts +
			"B write [1350,1351]\nB release [1360,1361]" + probeText
	}
	// too many to know whether it acted in between
	many := strings.Repeat("A write [700,701] refused\n", keptActs+2) + "A write [1500,1501] refused\n"
	run(t, []propertyCase{
		{"invoked as the other one was granted it, and never answered", UnfencedWrite, lock,
			"A acquire [0,1]\n" + later + "A write [601,] @604", Violated, 1, "", ""},
		{"a stall explains the write", UnfencedWrite, lock, slow, Inconclusive, 0, "", "A stall of this machine"},
		{"a stall explains the write, and not what it did next", UnfencedWrite, lock, slow + "A read [920,921]",
			Violated, 1, KindStale, ""},
		{"a library that did not say how long its lease is good", MutualExclusion, library(lock), wentOn + probeText,
			Violated, 1, KindLeaseOverrun, "outlived its lease of 0.500 s"},
		{"two stalls, and the longer one came first", MutualExclusion, lock,
			overran("stall A [2,402]\nstall A [503,603]", "A write [700,701] refused\nA write [1300,1301] refused\n"),
			Violated, 1, KindLeaseOverrun,
			"was starved by this machine for 0.400 s"},
		{"a connection was lost, and nobody injected it", MutualExclusion, lock,
			overran("fault reset [650,650] on=A links +own", many), Violated, 1, KindLeaseOverrun,
			"lost its connection, outlived"},
	})
	// B's token, and no clock, tells that it held the key before its late
	// reply: A acted in between, and not after.
	hasPattern(t, "it did not act once the other one had its answer", library(untold(fencedLock(), TokenOrder)), MutualExclusion, `
		A acquire [0,1] tok=1 valid=500
		A read    [2,3]
		B acquire [600,900] tok=2 valid=1
		C acquire [650,701] tok=3 valid=1
		A read    [800,801]
		B read    [910,911]
		B release [920,921]`, PatternWorkedPast)
}

// TestAFaultWhoseEndIsNotMeasured lasted until its end was told.
func TestAFaultWhoseEndIsNotMeasured(t *testing.T) {
	h := plainLock().changed("pause A [4,705]\n"+wentOn+probeText, func(e *history.Event) {
		if e.Type == history.Fault {
			e.Fault.To = 0
		}
	})
	if r := foundIn(h, MutualExclusion); r.Count != 1 || !strings.Contains(r.Violations[0].Text, "was frozen for 0.701 s") {
		t.Errorf("%+v", r)
	}
}

// TestHoldersThatExcludeEachOther: D's session says nothing for the time in
// which C was granted the semaphore, but C's does for that in which D was.
func TestHoldersThatExcludeEachOther(t *testing.T) {
	run(t, []propertyCase{{"by the promise of the earlier one alone", MutualExclusion, permits(confirms(session(plainLock())), 2), `
		C acquire [0,1]
		pause D   [0.5,905]
		D acquire [900,1501]
		B acquire [1495,1502]
		B release [1510,1511]
		C release [1510,1511]
		D release [1512,1513]` + probeText, Violated, 1, KindGrantedWhileValid, ""}})
}

// TestWhatACutLeavesOpen: who was granted a key inside a promise is not known
// until what withdrew it would have been recorded.
func TestWhatACutLeavesOpen(t *testing.T) {
	for cut, want := range map[float64]int{640: 0, 900: 1} {
		h := confirms(plainLock(), "renew").until(strings.Replace(stolen, "C release [700,701]", "D acquire [899,900] key=k1", 1), cut)
		holdsTo(t, fmt.Sprintf("cut at %v", cut), h, StolenRelease, want)
	}
}

// TestWhoWasToldNo: one client that was told no makes a ghost, whoever else was not.
func TestWhoWasToldNo(t *testing.T) {
	run(t, []propertyCase{{"told no was only the first", StuckLock, plainLock(), `
		A acquire [0,1]
		A release [2,3]
		B acquire [5,6] busy
		C acquire [10,11]
		C release [12,13]
		mark probe [1000]
		P acquire [4000,4500] busy
		P exit    [4600]
		mark final [4700]
		Q acquire [8000,8500]`, Violated, 1, KindGhost, ""}})
}

// TestEffectsOutlastTheirGrants: who did a thing first is known when it is done again,
// however long ago that was; and one request is one, how often it is carried out.
func TestEffectsOutlastTheirGrants(t *testing.T) {
	var text strings.Builder
	for i := range 12 {
		from := 700 * i
		fmt.Fprintf(&text, "%c acquire [%d,%d]\n%[1]c write [%[4]d,%[5]d] value=%[6]d\n%[1]c release [%[7]d,%[8]d]\n",
			'A'+rune(i%6), from, from+1, from+10, from+11, 1+i%11, from+20, from+21)
	}
	v := workload(plainLock(), workloadLeader).judge(t, text.String())
	if r := v.Property(DuplicateEffect); r.Count != 1 || r.Violations[0].A.Client != 1 || r.Violations[0].B.Client != 6 {
		t.Errorf("tick 1 ran twice: %+v", r)
	}
	h := workload(plainLock(), workloadPayment).with(func(h *history.Header) { h.Store = history.Store{} }).history("A acquire [0,1]\nA write [2,5] @3,4 value=1")
	holdsTo(t, "one request, carried out twice, in a ledger that nobody announced", h, DuplicateEffect, 0)
}

// TestRoomIsGivenBack: what the judge keeps does not grow with the history
// where nothing is written and nobody knows who has a key, either.
func TestRoomIsGivenBack(t *testing.T) {
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "%c acquire [%d,%d]\n%[1]c release [%[4]d,%[5]d]\n", 'A'+rune(i%8), 10*i, 10*i+1, 10*i+15, 10*i+16)
	}
	h := confirms(noClaims(plainLock())).history(text.String()) // of which nothing can be found
	s, records := New(h.Header, h.Keys, Options{}), map[*grant]bool{}
	for i := range h.Events {
		s.Add(&h.Events[i])
		s.records.numbers.each(func(p *page) {
			for _, g := range p.grants {
				if g != nil {
					records[g] = true
				}
			}
		})
	}
	if len(records) > 2*recordBlock {
		t.Errorf("%d records for 400 grants, of which two at a time overlap", len(records))
	}

	text.Reset()
	text.WriteString("A acquire [0,1] info\n")
	for i := range 3000 { // a fault is spread twice
		fmt.Fprintf(&text, "stall B [%d,%d]\n", 10*i+2, 10*i+3)
	}
	text.WriteString("B acquire [30000,30001]")
	h = plainLock().history(text.String())
	s = New(h.Header, h.Keys, Options{})
	for i := range h.Events {
		s.Add(&h.Events[i])
	}
	if n := len(s.faults.clientSpans(2)); n > 2500 {
		t.Errorf("%d stalls are remembered of a machine on which nobody knows who has the key", n)
	}
}
