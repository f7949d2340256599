package checker

import (
	"testing"
)

// simulated sums up the verdicts on many runs of one world.
type simulated struct {
	counts map[string]int
	kinds  map[string]int
	worst  Severity
}

func simulate(t *testing.T, c worldConfig, runs int) simulated {
	t.Helper()
	sum := simulated{counts: map[string]int{}, kinds: map[string]int{}}
	for seed := range runs {
		h, w := runWorld(c, uint64(seed))
		v := Judge(h, Options{Keep: 1000})
		for _, reason := range v.Reasons {
			t.Fatalf("seed %d: %s", seed, reason)
		}
		if v.Stats.Grants < 10 {
			t.Fatalf("seed %d: only %d grants", seed, v.Stats.Grants)
		}
		for _, r := range v.Properties {
			sum.counts[r.Name] += r.Count
			for _, violation := range r.Violations {
				sum.kinds[violation.Kind]++
				if r.Name == MutualExclusion && !w.confirms(violation) {
					t.Errorf("seed %d: a false alarm: %s", seed, violation.Text)
				}
			}
		}
		sum.worst = max(sum.worst, v.Severity)
	}
	return sum
}

// confirms tells whether a double-hold is true: the two grants, from the service's own instant to the client's last act, overlap, or the
// later one was made while the service owed the key to the earlier one.
func (w *world) confirms(v Violation) bool {
	a, b := w.grants[v.A.Grant], w.grants[v.B.Grant]
	if v.Kind == KindGrantedWhileValid {
		return w.early || w.blindDelete || w.resets
	}
	return a.granted < b.lastAct && b.granted < a.lastAct
}

const worldRuns = 60

// TestCorrectLocksAreNotAccused: what is inherent to leases is found and named so; nothing else is.
func TestCorrectLocksAreNotAccused(t *testing.T) {
	for _, session := range []bool{false, true} {
		base := worldConfig{clients: 4, service: service{session: session}}

		calm := simulate(t, base, worldRuns)
		for name, n := range calm.counts {
			if n > 0 {
				t.Errorf("session %v, no faults: %d × %s", session, n, name)
			}
		}

		base.pauses, base.slowThinker = true, session
		open := simulate(t, base, worldRuns)
		if open.counts[MutualExclusion] == 0 || open.counts[UnfencedWrite] == 0 || open.counts[LostUpdate] == 0 || open.worst != Corrupting {
			t.Errorf("session %v, pauses, unfenced: %+v", session, open)
		}

		base.fenced, base.fenceReads, base.slowWrites = true, true, true
		fenced := simulate(t, base, worldRuns)
		if fenced.counts[UnfencedWrite]+fenced.counts[LostUpdate] > 0 || fenced.worst != Contained {
			t.Errorf("session %v, pauses, fenced: %+v", session, fenced)
		}
		for _, sum := range []simulated{open, fenced} {
			if sum.counts[TokenOrder]+sum.counts[StuckLock]+sum.counts[Continuity]+sum.counts[DeadGrant]+sum.counts[StolenRelease]+sum.kinds[KindGrantedWhileValid]+sum.kinds[KindLateNotice]+sum.kinds[KindUnexplained] > 0 {
				t.Errorf("session %v: a correct lock is accused: %+v", session, sum)
			}
		}
	}
}

// TestSlowWritesAreInFlight: without pauses, only writes that stay long in the network do harm, and only a fence helps.
func TestSlowWritesAreInFlight(t *testing.T) {
	sum := simulate(t, worldConfig{clients: 4, slowWrites: true}, worldRuns)
	if sum.kinds[KindInFlight] == 0 || sum.kinds[KindStale] > 0 {
		t.Errorf("%+v", sum)
	}
}

// TestSeededDefectsAreFound: each broken lock or fence, by the property and the kind that it breaks.
func TestSeededDefectsAreFound(t *testing.T) {
	for name, x := range map[string]struct {
		world    worldConfig
		property string
		kind     string
	}{
		"leases run out early":            {worldConfig{service: service{early: true}, pauses: true}, MutualExclusion, KindGrantedWhileValid},
		"sessions run out early":          {worldConfig{service: service{early: true, session: true}, pauses: true}, MutualExclusion, KindGrantedWhileValid},
		"a release deletes any grant":     {worldConfig{service: service{blindDelete: true}, pauses: true}, MutualExclusion, KindGrantedWhileValid},
		"a release steals the next one's": {worldConfig{service: service{blindDelete: true}, pauses: true}, StolenRelease, ""},
		"the tokens start again":          {worldConfig{service: service{resets: true}}, TokenOrder, ""},
		"a release frees nothing":         {worldConfig{service: service{sticky: true}}, StuckLock, ""},
		"nobody is told of a loss":        {worldConfig{service: service{session: true, silent: true}, pauses: true, slowThinker: true}, MutualExclusion, KindLateNotice},
		"the fence lets reads pass":       {worldConfig{fenced: true, pauses: true, slowWrites: true}, LostUpdate, ""},
	} {
		x.world.clients = 4
		sum := simulated{counts: map[string]int{}, kinds: map[string]int{}}
		for seed := range worldRuns {
			h, _ := runWorld(x.world, uint64(seed))
			for _, r := range Judge(h, Options{Keep: 1000}).Properties {
				sum.counts[r.Name] += r.Count
				for _, violation := range r.Violations {
					sum.kinds[r.Name+" "+violation.Kind]++
				}
			}
		}
		if sum.counts[x.property] == 0 || x.kind != "" && sum.kinds[x.property+" "+x.kind] == 0 {
			t.Errorf("%s: no %s of kind %q in %d runs: %+v", name, x.property, x.kind, worldRuns, sum)
		}
		t.Logf("%s: %v", name, sum.counts)
	}
}
