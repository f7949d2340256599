package scenarios

import (
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// What no lease prevents is met. A defect that is certain, what nothing
// explains, and what is inconclusive as a whole are not.
func TestInherent(t *testing.T) {
	lease := Nature{Permits: 1, WallClock: true}
	frozen := []Fault{{Kind: "pause", Target: "holder"}}
	seen := func(outcome string, kinds ...string) []Observed {
		return []Observed{{checker.MutualExclusion, outcome, kinds}, {checker.LostUpdate, outcome, nil},
			{checker.TokenOrder, "pass", nil}, {checker.Continuity, "pass", nil}}
	}
	with := func(all []Observed, property, outcome string) []Observed {
		for i := range all {
			if all[i].Property == property {
				all[i].Outcome = outcome
			}
		}
		return all
	}
	for _, c := range []struct {
		name    string
		faults  []Fault
		store   string
		all     []Observed
		verdict string
		want    bool
	}{
		{"nothing", frozen, "unfenced", seen("pass"), "pass", true},
		{"a holder that is late", frozen, "unfenced", seen("violated", "lease-overrun"), "violated", true},
		{"at a fenced store the harm is a defect", frozen, "fenced", seen("violated", "lease-overrun"), "violated", false},
		{"without a fault", nil, "unfenced", seen("violated", "lease-overrun"), "violated", false},
		{"granted while valid", frozen, "unfenced", seen("violated", "granted-while-valid", "lease-overrun"), "violated", false},
		{"granted while valid, a clock being wrong", []Fault{{Kind: "clock-jump", Target: "node", Clock: "wall"}},
			"unfenced", seen("violated", "granted-while-valid"), "violated", false},
		{"told too late", frozen, "unfenced", seen("violated", "late-notice"), "violated", false},
		{"nothing explains it", frozen, "unfenced", seen("violated", "lease-overrun", "unexplained"), "violated", false},
		{"tokens out of order", frozen, "unfenced", with(seen("pass"), checker.TokenOrder, "violated"), "violated", false},
		{"a false confirmation", []Fault{{Kind: "crash-restart", Target: "node", Data: "lost"}}, "unfenced",
			with(seen("pass"), checker.Continuity, "violated"), "violated", false},
		{"inconclusive", frozen, "unfenced", with(seen("pass"), checker.MutualExclusion, "inconclusive"), "inconclusive", false},
		{"inconclusive in what is allowed", frozen, "unfenced", with(seen("pass"), checker.LostUpdate, "inconclusive"),
			"inconclusive", false},
	} {
		e := lease.Inherent(Store{Kind: c.store}, c.faults)
		all := e.Compare(c.all, "")
		if got := e.Met(all, c.verdict); got != c.want {
			t.Errorf("%s: met is %v: %+v", c.name, got, all)
		}
		for _, one := range all {
			if one.Inherent != (one.Met && one.Got == "violated") {
				t.Errorf("%s: %+v", c.name, one)
			}
		}
	}
}

// TestDeadGrants: what lets a grant be dead when it comes, lets in the second
// holder, too, and what does not, does not.
func TestDeadGrants(t *testing.T) {
	dead := Observed{checker.MutualExclusion, "violated", []string{checker.KindGrantedDead, checker.KindLeaseOverrun}}
	late := []Fault{{Kind: "hold", Target: "holder"}}
	for _, c := range []struct {
		lock    Nature
		allowed bool
	}{
		{Nature{Permits: 1}, true},
		{Nature{Permits: 1, Library: true}, false},
		{Nature{Permits: 1, Session: true}, false},
	} {
		for _, e := range []Expect{c.lock.Inherent(Store{Kind: "unfenced"}, late), c.lock.Examined(Store{Kind: "unfenced"}, late)} {
			alone := Observed{Property: checker.DeadGrant, Outcome: "violated"}
			if all := e.Compare([]Observed{dead, alone}, ""); all[0].Met != c.allowed || all[1].Met != c.allowed {
				t.Errorf("%+v: %+v", c.lock, all)
			}
		}
	}
}
