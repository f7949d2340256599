package checker

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/internal/oracle"
)

const oracleLimit = 20 * time.Second

// TestFencedHoldsAgreeWithPorcupine does the same with rising tokens:
// linearizable iff no later grant has a smaller or an equal token and no act
// under a smaller token starts after an acquire with a greater one ended.
func TestFencedHoldsAgreeWithPorcupine(t *testing.T) {
	agree := map[bool]int{}
	for seed := range 2_000 {
		rng := rand.New(rand.NewPCG(uint64(seed), 4))
		lock := noClaims(fencedLock())
		g := &generator{rng: rng, keys: 1, store: rng.IntN(2) == 0, wild: rng.IntN(4) == 0}
		lines := g.script(2 + rng.IntN(2))
		differs := func(lines []string) bool {
			h := lock.history(strings.Join(lines, "\n"))
			strict := oracle.LockOf(&lock.header)
			strict.Idle = true
			fine := strict.Linearizable(oracle.Holds(h)[0], oracleLimit) == porcupine.Ok
			doubleHold := Judge(h, Options{Keep: 1}).Properties[mutualExclusion.place].Count > 0
			return fencedByDefinition(newSlow(h)) != fine || doubleHold && fine
		}
		if differs(lines) {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(shrink(lines, differs), "\n"))
		}
		agree[fencedByDefinition(newSlow(lock.history(strings.Join(lines, "\n"))))]++
	}
	t.Logf("agreed on %d histories that are fine and %d that are not", agree[true], agree[false])
	if agree[true] == 0 || agree[false] == 0 {
		t.Fatal("the histories are too much alike to compare")
	}
}

// fencedByDefinition is the right-hand side of the equivalence.
func fencedByDefinition(s *slow) bool {
	for _, g := range s.grants {
		for _, x := range s.grants {
			switch {
			case x == g:
			case g.token == x.token && g.client != x.client, g.token < x.token && g.earliest > x.end,
				g.token < x.token && g.acts > 0 && g.last > x.end:
				return false
			}
		}
	}
	return true
}

// TestOracleForcesNothingOpen holds the reduction to its most delicate promise.
func TestOracleForcesNothingOpen(t *testing.T) {
	for name, text := range map[string]string{
		"an acquire of unknown fate": `
			A acquire [0,5] info
			B acquire [6,7]
			B renew   [8,9]
			B renew   [20,21]`,
		"a release of unknown fate": `
			A acquire [0,1]
			A renew   [2,3]
			A release [4,5] info
			B acquire [6,7]
			B renew   [8,9]`,
		"an acquire that never completed": `
			A acquire [0,]
			B acquire [6,7]
			B renew   [8,9]`,
	} {
		h := noClaims(plainLock()).history(text)
		if got := (oracle.Lock{Permits: 1}).Linearizable(oracle.Holds(h)[0], oracleLimit); got != porcupine.Ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}
