package checker

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/oracle"
)

// holdsAlone is a history without the claims by which more than its holds is judged.
func holdsAlone(h *history.History) *history.History {
	bare := *h
	bare.Header.Claims.Validity, bare.Header.Claims.Token, bare.Header.Claims.Fair = "", "none", false
	return &bare
}

// TestOracleInWindows: on long histories, cut into windows wherever nothing is
// held, Porcupine finds on each key what the sweep finds.
func TestOracleInWindows(t *testing.T) {
	agree := map[bool]int{}
	for seed := range uint64(60) {
		h, _ := runWorld(worldConfig{clients: 4, pauses: seed%2 == 0, slowWrites: seed%3 == 0,
			service: service{early: seed%5 == 4, session: seed%4 == 3}}, seed)
		h = holdsAlone(h)
		v := Judge(h, Options{Keep: 100_000})
		broken := map[string]bool{}
		for _, found := range v.Properties[mutualExclusion.place].Violations {
			broken[found.Key] = true
		}
		for _, o := range oracle.Windows(h, oracle.Limits{Window: 20, Time: 20 * time.Second}) {
			name := h.Keys[o.Key]
			switch {
			case len(o.Undecided) > 0:
				t.Fatalf("seed %d: Porcupine did not decide %s: %+v", seed, name, o)
			case len(o.Broken) > 0 && !broken[name], len(o.Broken) == 0 && broken[name] && o.Covered():
				t.Fatalf("seed %d, %s: broken by the sweep %v, by Porcupine %+v", seed, name, broken[name], o)
			case o.Holds > 20 && o.Windows < 2:
				t.Fatalf("seed %d, %s: %d holds in %d windows", seed, name, o.Holds, o.Windows)
			}
			agree[broken[name]]++
		}
	}
	t.Logf("agreed on %d keys that are fine and %d that are not", agree[false], agree[true])
	if agree[true] == 0 || agree[false] == 0 {
		t.Fatal("the histories are too much alike to compare")
	}
}

// TestOracleSaysWhatItDidNotCover: where holds overlap without end a window is
// cut through them, and that is told.
func TestOracleSaysWhatItDidNotCover(t *testing.T) {
	lock := permits(noClaims(plainLock()), 2)
	h := lock.history(`
		A1=A acquire [0,1]
		A renew [10,11] g=A1
		B1=B acquire [5,6]
		B renew [20,21] g=B1
		A2=A acquire [12,13]
		A renew [30,31] g=A2
		B2=B acquire [22,23]
		B renew [40,41] g=B2
		C acquire [50,51] info`)
	o := oracle.Windows(h, oracle.Limits{Window: 2, Time: time.Second})[0]
	if o.Holds != 4 || o.Unsure != 1 || o.Windows != 2 || len(o.Cuts) != 1 || o.Covered() || len(o.Broken) > 0 {
		t.Fatalf("%+v", o)
	}
	h.Header.Claims.Permits = 1
	if o := oracle.Windows(h, oracle.DefaultLimits)[0]; o.Windows != 1 || !o.Covered() || len(o.Broken) != 1 {
		t.Fatalf("%+v", o)
	}
}
