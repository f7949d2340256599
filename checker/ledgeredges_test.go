package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEdgesOfTheLedger: what a ledger must have before its silence means anything.
func TestEdgesOfTheLedger(t *testing.T) {
	const text = `
		A acquire [0,1]
		A read    [2,3]
		A write   [4,5]
		A read    [6,7]
		A write   [8,9]
		A release [10,11]`
	drop := func(h *history.History, gone func(history.Event) bool) { h.Events = slices.DeleteFunc(h.Events, gone) }
	entryOf := func(op int64) func(history.Event) bool {
		return func(e history.Event) bool { return e.Type == history.Ledger && e.Op == op }
	}
	marks := func(e history.Event) bool { return e.Type == history.Watermark }
	markedAt := func(h *history.History, t int64) {
		for i := range h.Events {
			if h.Events[i].Type == history.Watermark {
				h.Events[i].Start = t
			}
		}
	}
	for name, x := range map[string]struct {
		text   string
		change func(*history.History)
		says   string // why lost-update is inconclusive; empty: it passes
	}{
		"whole":                       {text, func(*history.History) {}, ""},
		"the last write is not in it": {text, func(h *history.History) { drop(h, entryOf(5)) }, "the store answered 1 op that"},
		"the last read is not in it": {strings.Replace(text, "A write   [8,9]", "", 1),
			func(h *history.History) { drop(h, entryOf(4)) }, "the store answered 1 op that"},
		"two are not in it": {text,
			func(h *history.History) { drop(h, entryOf(5)); drop(h, entryOf(4)) }, "the store answered 2 ops that"},
		"what failed need not be in it": {text + "\nA read [6.5,6.6] fail", func(*history.History) {}, ""},
		"nobody knows of one, nor how far": {strings.Replace(text, "[8,9]", "[8,]", 1),
			func(h *history.History) { drop(h, marks) }, "the fate of 1 op is open"},
		"nor of a read": {strings.Replace(strings.Replace(text, "[6,7]", "[6,]", 1),
			"A write   [8,9]", "", 1), func(h *history.History) { drop(h, marks) }, "the fate of 1 op is open"},
		"one timed out, and nobody knows": {strings.Replace(text, "[8,9]", "[8,9] info", 1),
			func(h *history.History) { drop(h, marks) }, "the fate of 1 op is open"},
		"nobody knows of one, but how far": {strings.Replace(text, "[8,9]", "[8,]", 1), func(*history.History) {}, ""},
		"just as far": {strings.Replace(text, "[8,9]", "[8,]", 1),
			func(h *history.History) { markedAt(h, at(8)) }, ""},
		"a little less": {strings.Replace(text, "[8,9]", "[8,]", 1),
			func(h *history.History) { markedAt(h, at(8)-1) }, "the fate of 1 op is open"},
		"it has what never was answered": {strings.Replace(text, "[8,9]", "[8,] @8.5", 1),
			func(h *history.History) { drop(h, marks) }, ""},
		"not a lock's op": {text + "\nB acquire [20,]\nC renew [8.5,] g=none\nD held [8.6,]",
			func(h *history.History) { drop(h, marks) }, ""},
		"one is missing in the midst of it": {text, func(h *history.History) { drop(h, entryOf(3)) }, "the store answered 1 op that"},
		"a gap, and every op is in it": {strings.Replace(text, "[8,9]", "[8,9] @8.5,8.6", 1),
			func(h *history.History) { h.Events = slices.Delete(h.Events, len(h.Events)-3, len(h.Events)-2) }, ""},
		"there is one, though none was told": {text, func(h *history.History) { h.Header.Store = history.Store{} },
			"The ledger has 4 entries"},
	} {
		h := plainLock().history(x.text + "\n" + probeText)
		x.change(h)
		v := Judge(h, Options{})
		r := v.Property(LostUpdate)
		if want := map[bool]Outcome{true: Pass, false: Inconclusive}[x.says == ""]; r.Outcome != want || !strings.Contains(r.Why, x.says) {
			t.Errorf("%s: %v (%s), want %v (%s)", name, r.Outcome, r.Why, want, x.says)
		}
	}
}

// TestHoldsThatWriteToSeveralKeys: what a hold read and wrote is kept apart by key.
func TestHoldsThatWriteToSeveralKeys(t *testing.T) {
	run(t, []propertyCase{
		{"each key has a version of its own", LostUpdate, plainLock(), `
		C=C acquire [-100,-99]
		C write   [-98,-97] g=C
		C write   [-96,-95] g=C
		C release [-94,-93] g=C
		G=A acquire [0,1]
		A read    [2,3] key=k2 g=G
		A read    [4,5] key=k1 g=G
		A read    [6,7] key=k0 g=G
		pause A   [10,700]
		H=B acquire [600,601]
		B write   [602,603] key=k1 g=H
		B write   [604,605] key=k2 g=H
		A write   [701,702] key=k1 g=G
		A write   [703,704] key=k2 g=G
		A write   [705,706] key=k0 g=G
		B release [710,711] g=H` + probeText, Violated, 2, "", "read version 0 of k1"},
		{"a hold may go on where another one wrote elsewhere", UnfencedWrite, noClaims(plainLock()), `
		G=A acquire [0,10]
		H=B acquire [0,10]
		A write   [11,12] key=k1 g=G
		B write   [13,14] key=k2 g=H
		A write   [15,16] key=k1 g=G
		B write   [17,18] key=k2 g=H
		A release [50,51] g=G
		B release [50,51] g=H` + probeText, Pass, 0, "", ""},
		{"no protected resource, no effects", DuplicateEffect,
			workload(plainLock(), "payment").with(func(h *history.Header) { h.Store = history.Store{} }), "A acquire [0,1]" + probeText,
			NotJudged, 0, "", "no protected resource"},
		{"an act as the loss is told", MutualExclusion, grace(session(plainLock())), `
		A acquire [0,1]
		pause A   [2,620]
		B acquire [600,601]
		B release [960,961]
		A lost    [850]
		A write   [850,851] refused` + probeText, Violated, 1, KindLeaseOverrun, ""},
		{"lost before it was given back", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A lost    [100]
		A release [300,]
		B acquire [200,201]
		B release [400,401]` + probeText, Pass, 0, "", ""},
	})
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

// TestEdgesOfEffects: the same request taken twice is no second effect, and how
// a second one came about.
func TestEdgesOfEffects(t *testing.T) {
	pay := func(s script) script { return workload(s, workloadPayment) }
	undeclared := pay(noClaims(plainLock())).with(func(h *history.Header) { h.Store = history.Store{} })
	charged := "A acquire [0,1]\nB acquire [600,601] first=600\nB write [605,606] value=1\nB release [610,611]\n"
	run(t, []propertyCase{
		{"in flight, under another lock", DuplicateEffect, pay(noClaims(plainLock())), `
		G=A acquire [0,1] key=k1
		H=B acquire [600,601] first=600 key=k2
		B write   [605,606] value=1 g=H
		A write   [590,711] @710 value=1 g=G` + probeText, Violated, 1, KindInFlight, "had sent its write at 1.590 s"},
		{"only the tokens tell who was late", DuplicateEffect, pay(noClaims(fencedLock())), `
		A acquire [0,10] tok=1
		B acquire [0,10] tok=2
		B write   [11,12] value=1
		A write   [13,14] value=1`, Violated, 1, KindStale, "client 1 began its write at 1.013 s"},
		{"never reported", DuplicateEffect, pay(plainLock()),
			charged + "A write [740,] @750 value=1\nA exit [800]" + probeText, Violated, 1, KindStale,
			"client 1 began its write at 1.740 s"},
		{"asked in time, begun too late", DuplicateEffect, pay(plainLock()),
			charged + "A write [400,760] start=740 @750 value=1" + probeText, Violated, 1, KindStale,
			"client 1 began its write at 1.740 s"},
	})
	for text, want := range map[string]int{
		"A acquire [0,1]\nA write [2,3] value=1\nA release [8,9]\nB acquire [10,11]\nB write [12,50] @20,30 value=1\nB release [60,61]": 1,
		"A acquire [0,1]\nA write [2,9] @3,4 value=1\nA release [40,41]":                                                                0,
	} {
		for _, lock := range [2]script{pay(noClaims(plainLock())), undeclared} {
			lock.interleave = true
			v := Judge(lock.history(text+probeText), Options{})
			if r := v.Property(DuplicateEffect); r.Count != want {
				t.Errorf("taken twice: %+v, want %d\n%s", r, want, text)
			}
		}
	}
	v := noClaims(plainLock()).judge(t, `
		A acquire [0,1]
		A read    [2,3]
		A read    [10,11]
		B acquire [12,13]
		A read    [14,15]
		A write   [50,] @60,61,62
		B write   [70,71]
		A exit    [100]`)
	if r := v.Property(MutualExclusion); r.Count != 1 || !slices.Contains(r.Violations[0].Ops, 3) {
		t.Errorf("a write that was taken three times is one act: %+v", r)
	}
}
