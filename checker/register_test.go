package checker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/oracle"
)

// randomOps draws what clients saw of a register: half of the time what a
// register answered that has one defect at most, else anything.
func randomOps(rng *rand.Rand, r oracle.Register) []oracle.StoreOp {
	var ops []oracle.StoreOp
	var version, holder int64
	var fence history.Token
	now, honest := int64(0), rng.IntN(4) > 0
	for i := range 2 + rng.IntN(7) {
		now += int64(rng.IntN(4))
		grant := int64(1 + rng.IntN(3))
		o := oracle.StoreOp{Op: int64(i + 1), Grant: grant, Token: history.TokenOf(grant + int64(rng.IntN(5)/4)), Write: rng.IntN(5) > 1,
			Call: now - int64(rng.IntN(4)), Return: now + int64(rng.IntN(4))}
		passes := !r.Fenced || o.Token > fence || o.Token == fence && (grant == holder || r.AcceptsEqual)
		if rng.IntN(12) == 0 {
			passes = !passes
		}
		happens := true
		if o.Maybe = rng.IntN(5) == 0; o.Maybe {
			o.Return, happens = math.MaxInt64, rng.IntN(2) == 0
		}
		switch {
		case !happens:
		case o.Write && !passes:
			o.Refused = !o.Maybe
		case o.Write && rng.IntN(10) == 0:
			o.Conflict = !o.Maybe
		default:
			if o.Write {
				version++
			}
			if r.Fenced && (o.Write || r.FenceReads) && o.Token > fence {
				fence, holder = o.Token, grant
			}
		}
		if o.Version = version; o.Maybe || o.Refused || o.Conflict {
			o.Version = 0
		}
		if !honest && rng.IntN(4) == 0 {
			o.Version = max(0, o.Version+int64(rng.IntN(3)-1))
		}
		ops = append(ops, o)
	}
	return ops
}

// bruteRegister tries the orders of the ops that certainly happened, with any
// of the others before each.
type bruteRegister struct {
	oracle.Register
	ops  []oracle.StoreOp
	done []bool
}

func (b *bruteRegister) possible(version int64, fence history.Token, holder int64) bool {
	last, left := int64(math.MaxInt64), false
	for i, o := range b.ops {
		if !b.done[i] && !o.Maybe {
			last, left = min(last, o.Return), true
		}
	}
	if !left {
		return true
	}
	for i, o := range b.ops {
		if b.done[i] || o.Call > last {
			continue
		}
		v, f, h := version, fence, holder
		if (o.Write && !o.Refused && !o.Conflict || !o.Write && b.FenceReads) && b.Fenced && o.Token > fence {
			f, h = o.Token, o.Grant
		}
		lets := !b.Fenced || o.Token > fence || o.Token == fence && (b.AcceptsEqual || o.Grant == holder)
		switch {
		case o.Refused && lets && !b.Guarded, o.Conflict && !lets, o.Write && !o.Refused && !o.Conflict && !lets:
			continue
		case o.Write && !o.Refused && !o.Conflict:
			v++
		}
		if !o.Maybe && !o.Refused && !o.Conflict && o.Version != v {
			continue
		}
		b.done[i] = true
		if b.possible(v, f, h) {
			return true
		}
		b.done[i] = false
	}
	return false
}

// TestRegisterAgreesWithBruteForce holds the model of the store to an enumeration of orders.
func TestRegisterAgreesWithBruteForce(t *testing.T) {
	seen, n := map[bool]int{}, rounds(3_000)
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 12))
		r := oracle.Register{Fenced: rng.IntN(3) > 0, FenceReads: rng.IntN(2) == 0, AcceptsEqual: rng.IntN(4) == 0,
			Guarded: rng.IntN(8) == 0}
		ops := randomOps(rng, r)
		judged := func(ops []oracle.StoreOp) (porc, brute bool) {
			b := bruteRegister{r, ops, make([]bool, len(ops))}
			return r.Linearizable(ops, oracleLimit) == porcupine.Ok, b.possible(0, 0, 0)
		}
		differ := func(ops []oracle.StoreOp) bool { porc, brute := judged(ops); return porc != brute }
		if differ(ops) {
			var out strings.Builder
			for _, o := range shrink(ops, differ) {
				fmt.Fprintf(&out, "%+v\n", o)
			}
			porc, brute := judged(ops)
			t.Fatalf("seed %d, %+v: by Porcupine %v, by brute force %v\n%s", seed, r, porc, brute, out.String())
		}
		porc, _ := judged(ops)
		seen[porc]++
	}
	t.Logf("agreed on %d that are a register's and %d that are not", seen[true], seen[false])
	if seen[true] < n/10 || seen[false] < n/10 {
		t.Fatal("they are too much alike to compare")
	}
}

// TestStoreAnswersAsRegister: what clients of a simulated store saw is a register's, in
// windows of any size; a version that was never written, read by one of them, is found.
func TestStoreAnswersAsRegister(t *testing.T) {
	ops, broken := 0, 0
	for seed := range uint64(40) {
		h, _ := runWorld(worldConfig{clients: 4, pauses: seed%2 == 0, slowWrites: seed%3 == 0, fenced: seed%4 == 0}, seed)
		for _, o := range oracle.StoreWindows(h, oracle.Limits{Window: 10 + int(seed), Time: 20 * time.Second}) {
			ops += o.Ops
			if len(o.Broken) > 0 {
				t.Fatalf("seed %d: %+v", seed, o)
			}
		}
		for i := len(h.Events) - 1; i >= 0; i-- {
			if e := &h.Events[i]; e.Kind.String() == "read" && e.Type.String() == "ok" {
				e.Version++
				break
			}
		}
		for _, o := range oracle.StoreWindows(h, oracle.DefaultLimits) {
			broken += len(o.Broken)
		}
	}
	if ops < 1000 || broken < 20 {
		t.Fatalf("%d ops, %d broken", ops, broken)
	}
}
