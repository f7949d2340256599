package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// forgetful judges a history and forgets old faults after every event, as often as can be.
func forgetful(h *history.History) Verdict {
	s := New(h.Header, h.Keys, Options{})
	for i := range h.Events {
		s.Add(&h.Events[i])
		s.faults.trim(s.oldestWanted())
	}
	return s.Finish(h.Truncated)
}

// withoutFaults is a verdict that does not list the faults beside its violations: an
// effect, or the greatest token, is remembered for longer than what befell its grant.
func withoutFaults(v Verdict) Verdict {
	for i := range v.Properties {
		for j := range v.Properties[i].Violations {
			v.Properties[i].Violations[j].Faults = nil
		}
	}
	return v
}

// sinceThen puts what a history begins with and what it ends with so far apart
// that the faults at its beginning are old by then.
const sinceThen = `
		C acquire [2200,2201] tok=3
		C release [2202,2203]
		C acquire [2210,2211] tok=4
		C release [2212,2213]`

// TestOldFaultsAreForgottenUnseen: no fault is forgotten as long as somebody may still ask for it.
// Each violation here has one in its evidence that was over for long when the later grant was made.
func TestOldFaultsAreForgottenUnseen(t *testing.T) {
	paid := func(s script) script { return workload(s, workloadPayment) }
	const first, done = "A acquire [0,1] tok=1\npause A [10,20]\n", "\nA release [2030,2031]\nB release [2032,2033]" + sinceThen
	for name, x := range map[string]struct {
		lock     script
		text     string
		property string
	}{
		"a double-hold, the earlier one given back first": {noClaims(plainLock()), first + `
		B acquire [1990,1991]
		B write   [2000,2001]
		A write   [2010,2011]
		B write   [2020,2021]` + done, MutualExclusion},
		"a double-hold, the later one given back first": {noClaims(plainLock()), first + `
		B acquire [1990,1991]
		B write   [2000,2001]
		A write   [2010,2011]
		A write   [2020,2021]
		B release [2022,2023]
		A release [2030,2031]` + sinceThen, MutualExclusion},
		"a hold beside two": {permits(noClaims(plainLock()), 2), first + `
		D acquire [1980,1981]
		B acquire [1990,1991]
		B write   [2000,2001]
		D write   [2010,2011]
		A write   [2010,2011]
		D release [2012,2013]` + done, MutualExclusion},
		"a grant confirmed too late, given back first": {confirms(plainLock(), "renew"), first + `
		B acquire [1990,1991]
		A renew   [2010,2011]` + done, Continuity},
		"a grant confirmed too late, given back last": {confirms(plainLock(), "renew"), first + `
		B acquire [1990,1991]
		A renew   [2010,2011]
		B release [2022,2023]
		A release [2030,2031]` + sinceThen, Continuity},
		"an order charged twice, by the later one last": {paid(plainLock()), first + `
		A write   [30,31]
		B acquire [1990,1991]
		B write   [2000,2001]` + done, DuplicateEffect},
		"an order charged twice, by the earlier one last": {paid(plainLock()), first + `
		B acquire [1990,1991]
		B write   [2000,2001]
		A write   [2010,2011]` + done, DuplicateEffect},
		"an order charged twice, and the later one first by number": {paid(noClaims(plainLock())), first + `
		B acquire [1990,1991]
		B write   [2000,2001]
		A write   [2010,2011]
		B release [2020,2021]
		A release [2030,2031]` + sinceThen, DuplicateEffect},
		"a late write": {plainLock(), first + `
		B acquire [1990,1991]
		B write   [2000,2001]
		A write   [2010,2011]` + done, UnfencedWrite},
		"a lost update": {plainLock(), first + `
		A read    [30,31]
		B acquire [1990,1991]
		B write   [2000,2001]
		A write   [2010,2011]` + done, LostUpdate},
		"a release of another's grant": {plainLock(), first + `
		B acquire [1990,1991]
		A release [1995,1996]
		D acquire [2000,2001]
		D release [2010,2011]
		B release [2030,2031]` + sinceThen, StolenRelease},
		"a token that was overtaken": {fencedLock(), `
		B acquire [0,1001] tok=3
		pause B   [20,30]
		A acquire [990,2000] tok=2
		B release [2010,2011]
		A release [2030,2031]` + strings.NewReplacer("tok=3", "tok=5", "tok=4", "tok=6").Replace(sinceThen), TokenOrder},
		"a circle, but one had been stopped a TTL before": {noClaims(claim(plainLock(), func(c *history.Claims) { c.NoExpiry = true })), `
		A acquire [0,1] key=k0
		B acquire [1500,1501] key=k1
		pause A   [1000,1012]
		A acquire [1510,1910] busy key=k1
		B acquire [1510,1910] busy key=k0
		A release [1911,1912] key=k0
		B release [1911,1912] key=k1` + sinceThen, ""},
		"a key that was busy for long enough, had the machine not stood still": {plainLock(), `
		A acquire [0,1]
		A release [2,3]
		stall B   [100,700]
		mark probe [1490]
		P acquire [1500,1590] busy`, ""},
		"the same, and another key was given back later": {plainLock(), `
		A acquire [0,1]
		A release [2,3]
		stall B   [100,700]
		C acquire [1400,1401] key=k1
		C release [1410,1411] key=k1
		mark probe [1490]
		P acquire [1500,1590] busy`, ""},
		"a double-hold, with a younger one on another key": {noClaims(plainLock()), first + `
		C acquire [1500,1501] key=k1
		D acquire [1500,1501] key=k1
		C write   [1510,1511] key=k1
		D write   [1512,1513] key=k1
		C release [1520,1521] key=k1
		D release [1520,1521] key=k1
		B acquire [1990,1991]
		B write   [2000,2001]
		A write   [2010,2011]
		B write   [2020,2021]` + done, Continuity},
		"a waiter that was stopped long before it was overtaken": {fair(noClaims(plainLock())), `
		A acquire [2,1500] enq=3 first=1400
		pause A   [10,20]
		B acquire [800,1600] run=800,1300 enq=801
		B release [1700,1701]
		A release [1710,1711]` + sinceThen, ""},
		"a waiter that was stopped long before it was overtaken, and gave it back first": {fair(noClaims(plainLock())), `
		A acquire [2,1500] enq=3 first=1400
		pause A   [10,20]
		A release [1510,1511]
		B acquire [800,1600] run=800,1300 enq=801
		B release [1700,1701]` + sinceThen, ""},
		"a grant that was dead on arrival": {plainLock(), `
		pause B   [10,20]
		B acquire [0,1900] attempt=1000
		B release [1910,1911]` + sinceThen, DeadGrant},
	} {
		for _, interleave := range [2]bool{false, true} {
			x.lock.interleave = interleave
			h := x.lock.history(x.text + probeText)
			v := Judge(h, Options{})
			if got, want := written(forgetful(h)), written(v); got != want {
				t.Errorf("%s: forgetful\n%s\nwant\n%s", name, got, want)
			}
			if x.property != "" && (v.Property(x.property).Count == 0 || len(v.Property(x.property).Violations[0].Faults) == 0) {
				t.Errorf("%s: there is no fault to forget in\n%s", name, written(v))
			}
		}
	}
	for seed := range uint64(rounds(2_000)) {
		lock, text := anyHistory(seed)
		h := lock.history(text)
		if got, want := written(withoutFaults(forgetful(h))), written(withoutFaults(Judge(h, Options{}))); got != want {
			t.Fatalf("history %d: forgetful\n%s\nwant\n%s\n%s", seed, got, want, text)
		}
	}
}
