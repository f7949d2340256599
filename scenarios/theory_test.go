package scenarios

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
)

// What theory allows, by the lock's nature, the store and the faults; nothing else.
func TestTheory(t *testing.T) {
	const ms = Duration(time.Millisecond)
	pause := Fault{Kind: "pause", Target: "holder", For: 900 * ms}
	kill := Fault{Kind: "kill", Target: "holder"}
	nodeClock := Fault{Kind: "clock-jump", Target: "nodes:1", Clock: "wall"}
	clientClock := Fault{Kind: "clock-rate", Target: "all-clients", Clock: "mono"}
	lost := Fault{Kind: "crash-restart", Target: "nodes:1", Data: "lost"}
	nodePause := Fault{Kind: "pause", Target: "minority"}
	expire := Fault{Kind: "expire-session", Target: "holder"}
	redis := Nature{Permits: 1, WallClock: true}
	redlock := Nature{Permits: 1, WallClock: true, Library: true}
	etcd := Nature{Permits: 1}
	advisory := Nature{Permits: 1, NoExpiry: true, Session: true}
	eternal := Nature{Permits: 1, NoExpiry: true}
	failover := Nature{Permits: 1, WallClock: true, Forgets: true}
	open, fenced, guarded := Store{Kind: storeUnfenced}, Store{Kind: storeFenced}, Store{Kind: storeGuarded}
	for _, c := range []struct {
		name   string
		nature Nature
		store  Store
		faults []Fault
		// what each property is expected to be; "": to pass, or not to be judged
		exclusion, write, order, dead, stuck string
	}{
		{"a dead client writes nothing", redis, open, []Fault{kill}, "", "", "", "", ""},
		{"a frozen one is late", redis, open, []Fault{pause, kill}, overrunOutcome, anyOutcome, "", anyOutcome, ""},
		{"a fence contains it", redis, fenced, []Fault{pause}, overrunOutcome, "", "", anyOutcome, ""},
		{"so does a guard", etcd, guarded, []Fault{pause}, overrunOutcome, "", "", anyOutcome, ""},
		{"a clock of the service ends grants", redis, open, []Fault{nodeClock}, anyOutcome, anyOutcome, "", anyOutcome, anyOutcome},
		{"where it goes by its wall clock", etcd, open, []Fault{nodeClock}, overrunOutcome, anyOutcome, "", anyOutcome, ""},
		{"a client's clock is the validity's", redlock, open, []Fault{clientClock}, anyOutcome, anyOutcome, "", "", ""},
		{"and not the TTL's", redis, open, []Fault{clientClock}, overrunOutcome, anyOutcome, "", anyOutcome, ""},
		{"lost keys, lost tokens", redis, fenced, []Fault{lost}, anyOutcome, anyOutcome, anyOutcome, anyOutcome, ""},
		{"a replica may be behind", failover, open, []Fault{nodePause}, anyOutcome, anyOutcome, anyOutcome, anyOutcome, ""},
		{"five do not replicate", redlock, open, []Fault{nodePause}, overrunOutcome, anyOutcome, "", "", ""},
		{"what does not expire is not late", advisory, open, []Fault{pause}, "", "", "", "", ""},
		{"unless its session is ended", advisory, open, []Fault{expire}, overrunOutcome, anyOutcome, "", "", ""},
		{"its service may have missed the end of a connection", advisory, open, []Fault{nodePause}, "", "", "", "", anyOutcome},
		{"what nobody ends is stuck with the dead", eternal, open, []Fault{kill}, "", "", "", "", ""},
		{"no lock, no late holder", Nature{NoExpiry: true}, open, []Fault{pause}, "", "", "", anyOutcome, ""},
	} {
		e := c.nature.Expected(c.store, c.faults)
		for property, want := range map[string]string{checker.MutualExclusion: c.exclusion,
			checker.UnfencedWrite: c.write, checker.LostUpdate: c.write, checker.TokenOrder: c.order,
			checker.DeadGrant: c.dead, checker.DeadRenewal: c.dead,
			checker.StuckLock: c.stuck} {
			if got := e.Properties[property]; got != want {
				t.Errorf("%s: %s: %q, want %q", c.name, property, got, want)
			}
		}
		if e.Why == "" || e.Properties["stolen-release"] != "" {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

// What is inherent to leases is met by late holders and nothing else; a defect among them is seen.
func TestLeaseOverrunOutcome(t *testing.T) {
	e := Expect{Properties: map[string]string{checker.MutualExclusion: overrunOutcome}}
	for _, c := range []struct {
		outcome string
		kinds   []string
		want    bool
	}{
		{"pass", nil, true}, {"not judged", nil, true}, {"inconclusive", nil, false},
		{"violated", []string{"lease-overrun"}, true}, {"violated", []string{"lease-overrun", "unexplained"}, true},
		{"violated", []string{"granted-while-valid", "lease-overrun"}, false},
		{"violated", []string{"late-notice"}, false}, {"violated", nil, false},
	} {
		if got := Met(e.Compare([]Observed{{Property: checker.MutualExclusion, Outcome: c.outcome, Kinds: c.kinds}}, "")); got != c.want {
			t.Errorf("%s %v: %v", c.outcome, c.kinds, got)
		}
	}
	// Whose affair a kind is depends on the property: a kind that is inherent
	// to double-holds excuses no other violation.
	for _, kind := range checker.Named(checker.MutualExclusion).Kinds {
		inherent := (&checker.Violation{Property: checker.MutualExclusion, Kind: kind}).Blame() == checker.Inherent
		if got := (Expect{Inherent: true}).overrun(Observed{checker.MutualExclusion, "violated", []string{kind}}); got != inherent {
			t.Errorf("%s: strictly no more than an overrun is %v", kind, got)
		}
		if (Expect{}).overrun(Observed{checker.StuckLock, "violated", []string{kind}}) {
			t.Errorf("%s excuses a stuck lock", kind)
		}
	}
}

// A control may be expected to be caught by the kind of its double-holds.
func TestLateNoticeOutcome(t *testing.T) {
	e := Expect{Properties: map[string]string{checker.MutualExclusion: lateOutcome}}
	for _, c := range []struct {
		outcome string
		kinds   []string
		want    bool
	}{
		{"pass", nil, false}, {"inconclusive", []string{"late-notice"}, false}, {"violated", []string{"lease-overrun"}, false},
		{"violated", []string{"late-notice"}, true}, {"violated", []string{"late-notice", "lease-overrun"}, true},
	} {
		if got := Met(e.Compare([]Observed{{Property: checker.MutualExclusion, Outcome: c.outcome, Kinds: c.kinds}}, "")); got != c.want {
			t.Errorf("%s %v: %v", c.outcome, c.kinds, got)
		}
	}
	if word := e.Word(); word != wordViolated {
		t.Errorf("in a word: %s", word)
	}
}

// TestChanceExcusesNoFairLock: a lock that claims to grant in order lets nobody wait for long.
func TestChanceExcusesNoFairLock(t *testing.T) {
	for want, n := range map[string]Nature{anyOutcome: {Permits: 1}, "": {Permits: 1, Fair: true}} {
		if got := n.Expected(Store{}, nil).Properties[checker.Starvation]; got != want {
			t.Errorf("fair: %v: %q, want %q", n.Fair, got, want)
		}
	}
}

// TestUnbrokenExpectsNothingMore: a plan of somebody else's may name what a lock relies on, and
// expect nothing of it.
func TestUnbrokenExpectsNothingMore(t *testing.T) {
	e := Expect{Relied: []string{checker.MutualExclusion, checker.Continuity}}.Unbroken()
	if len(e.Relied) != 0 || len(e.Properties) != 1 || e.Properties[checker.MutualExclusion] == "" {
		t.Errorf("%+v", e)
	}
}
