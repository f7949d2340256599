package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEdgesOfPairs: two holds whose order is not known, and two grants just
// before a history is cut.
func TestEdgesOfPairs(t *testing.T) {
	unordered := func(a, b string) string {
		return "A acquire [0,10] valid=12\nB acquire [5,12] valid=6\n" + a + " A [20,700]\n" + b + ` B [20,700]
		B write   [702,703]
		A write   [704,705]
		B write   [706,707]
		A release [710,711]
		B release [710,711]` + probeText
	}
	oneOf := func(fault string) string {
		return strings.Replace(unordered(fault, "stall"), "stall B [20,700]\n", "", 1)
	}
	run(t, []propertyCase{
		{"a stall explains the one", MutualExclusion, library(plainLock()), unordered("stall", "pause"), Inconclusive,
			0, "", "A stall of this machine"},
		{"a stall explains the other", MutualExclusion, library(plainLock()), unordered("pause", "stall"), Inconclusive,
			0, "", "A stall of this machine"},
		{"a stall explains it in one order", MutualExclusion, noClaims(plainLock()), oneOf("stall"), Inconclusive, 0,
			"", "A stall of this machine"},
		{"a fault explains it in one order", MutualExclusion, noClaims(plainLock()), oneOf("pause"), Violated, 1, KindLeaseOverrun, ""},
		{"a stall explains neither", MutualExclusion, library(plainLock()), unordered("pause", "pause"), Violated, 1, KindLeaseOverrun, ""},
	})
	for name, x := range map[string]struct {
		lock  script
		text  string
		until string
		count int
	}{
		"long enough before the cut": {plainLock(), "A acquire [0,1]\nB acquire [2,3]", "253", 1},
		"a little less":              {plainLock(), "A acquire [0,1]\nB acquire [2,3]", "252.9", 0},
		"the first by token, long enough before the cut": {fencedLock(),
			"pause A [1,9]\nA acquire [0,10] tok=1\nB acquire [2,3] tok=2", "260", 1},
		"the first by token, a little less": {fencedLock(),
			"pause A [1,9]\nA acquire [0,10] tok=1\nB acquire [2,3] tok=2", "259.9", 0},
		"the second by token, long enough before the cut": {fencedLock(), "A acquire [0,10] tok=2\nB acquire [2,3] tok=1", "260", 1},
	} {
		h := untilCut(x.lock).history(x.text + "\nC acquire [20," + x.until + "] busy key=k1")
		h.Events = h.Events[:len(h.Events)-1]
		if v := Judge(h, Options{}); v.Property(MutualExclusion).Count != x.count {
			t.Errorf("%s: %+v", name, v.Property(MutualExclusion))
		}
	}
}

func TestEdgesOfKinds(t *testing.T) {
	late := func(act float64, faults string) string {
		return strings.NewReplacer("T0", inScript(act-60), "T1", inScript(act-59), "T2", inScript(act), "T3", inScript(act+1)).Replace(`
		A acquire [0,1]
		B acquire [T0,T1]
		A write [T2,T3] refused
		B write [930,931]
		B release [940,941]
		`) + faults + probeText
	}
	deafLease := plainLock().with(func(h *history.Header) { h.Guard = guardNone })
	told := func(faults string) string {
		return "A acquire [0,1]\nA lost [701]\nB acquire [702,703]\nA write [900,901] refused\nB write [910,911]\nB release [912,913]\n" + faults + probeText
	}
	run(t, []propertyCase{
		{"stopped for just the whole promise, and stalled besides", MutualExclusion, plainLock(),
			late(701, "pause A [10,508]\nstall A [10,700]"), Violated, 1, KindLeaseOverrun, ""},
		{"stopped for a little less, and stalled besides", MutualExclusion, plainLock(),
			late(701, "pause A [10,507.9]\nstall A [10,700]"), Inconclusive, 0, "", "stall"},
		{"a session whose client was stopped and stalled", MutualExclusion, session(plainLock()),
			late(701, "pause A [10,20]\nstall A [10,700]\nA release [945,946] notheld"), Violated, 1, KindLeaseOverrun, ""},
		{"nothing promised, stopped and stalled", MutualExclusion, noClaims(plainLock()),
			late(701, "pause A [10,20]\nstall A [10,700]"), Violated, 1, KindLeaseOverrun, ""},
		{"nothing promised, and stalled", MutualExclusion, noClaims(plainLock()), late(701, "stall A [10,700]"),
			Inconclusive, 0, "", "stall"},
		{"told of the loss, stopped for a moment and stalled", MutualExclusion, deafLease,
			told("pause A [4,6]\nstall A [10,700]"), Violated, 1, KindLeaseOverrun, ""},
		{"the service stalled", MutualExclusion, plainLock(), late(701, "service x [10,600] +own"), Inconclusive, 0, "", "stall"},
		{"just as late without the stall", MutualExclusion, plainLock(), late(748, "stall A [10,160]"), Violated, 1, KindLeaseOverrun, ""},
		{"a little less late", MutualExclusion, plainLock(), late(747.9, "stall A [10,160]"), Inconclusive, 0, "", "stall"},
		{"a stall before its session began", MutualExclusion, deafLock(),
			strings.Replace(told("stall C [210,300]"), "[0,1]", "[400,401]", 1), Violated, 1, KindLeaseOverrun, ""},
		{"a stall that is noticed just after the loss", MutualExclusion, deafLock(), told("stall C [751,760]"),
			Inconclusive, 0, "", "stall"},
		{"a stall that comes after the loss", MutualExclusion, deafLock(), told("stall C [752,760]"), Violated, 1, KindLeaseOverrun, ""},
		{"a stall of the service just after the loss", MutualExclusion, deafLock(), told("service x [751,760] +own"),
			Inconclusive, 0, "", "stall"},
		{"a stall of the service after the loss", MutualExclusion, deafLock(), told("service x [752,760] +own"),
			Violated, 1, KindLeaseOverrun, ""},
	})
}
