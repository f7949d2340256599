package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

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
