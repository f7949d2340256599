package checker

import (
	"math/rand/v2"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestDirectory compares what is found by its number with Go's maps, for
// numbers that lie close together, far apart, and in one another's way.
func TestDirectory(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 11))
		stride := [...]int64{1, 2, 32, pageSize * pagesLately, 1 << 40}[rng.IntN(5)]
		s := New(history.Header{}, nil, Options{})
		ops, grants := map[int64]*op{}, map[int64]*grant{}
		for range 600 {
			key := 1 + stride*rng.Int64N(int64(40+rng.IntN(300)))
			switch rng.IntN(3) {
			case 0:
				if o := s.records.newOp(&history.Event{Op: key}); (o == nil) != (ops[key] != nil) {
					t.Fatalf("seed %d: op %d was added: %v", seed, key, o != nil)
				} else if o != nil {
					ops[key] = o
				}
			case 1: // granted
				if o := ops[key]; o != nil {
					g := &grant{id: key}
					if s.records.numbers.page(pageOf(key)).hold(g) != (grants[key] == nil) {
						t.Fatalf("seed %d: grant %d was added where there was one, or was not", seed, key)
					} else if grants[key] == nil {
						grants[key] = g
					}
				}
			case 2: // one of them is over
				if o := ops[key]; o != nil && rng.IntN(2) == 0 {
					s.records.free(o)
					delete(ops, key)
				} else if g := grants[key]; g != nil {
					s.records.numbers.drop(g)
					delete(grants, key)
				}
			}
			if p := s.records.numbers.page(pageOf(key)); p.op(key) != ops[key] || p.grant(key) != grants[key] {
				t.Fatalf("seed %d: number %d is lost or was not removed", seed, key)
			}
		}
		holdsExactly(t, s, ops, grants)
	}
	for _, key := range []int64{0, -1, -pageSize, -1 << 63, 1<<63 - 1} {
		s := New(history.Header{}, nil, Options{})
		for op := range int64(2 * pageSize) {
			s.records.newOp(&history.Event{Op: op + 1})
		}
		if p := s.records.numbers.page(pageOf(key)); p.op(key) != nil || p.grant(key) != nil {
			t.Errorf("there is something of number %d", key)
		}
	}
}

// holdsExactly fails the test if a judge's page table has anything else, or
// keeps empty pages beyond those met lately.
func holdsExactly(t *testing.T, s *Sweep, ops map[int64]*op, grants map[int64]*grant) {
	t.Helper()
	s.records.eachOpen(func(o *op) {
		if ops[o.id] != o {
			t.Fatalf("it has op %d", o.id)
		}
	})
	if n := openOps(s); n != len(ops) {
		t.Fatalf("%d ops of %d", n, len(ops))
	}
	for id, g := range grants {
		if s.records.numbers.page(pageOf(id)).grant(id) != g {
			t.Fatalf("grant %d is lost", id)
		}
	}
	for number, p := range s.records.numbers.pages {
		if p.number != number || p.nops+p.ngrants == 0 || s.records.numbers.lately[number%pagesLately] == p {
			t.Fatalf("page %d is put away as %d with %d ops and %d grants", p.number, number, p.nops, p.ngrants)
		}
	}
}

// TestPagesAreUsedAgain: a long history needs no more pages than lie between what is open.
func TestPagesAreUsedAgain(t *testing.T) {
	s := New(history.Header{}, nil, Options{})
	first := s.records.newOp(&history.Event{Op: 1})
	op, g := int64(1), &grant{}
	walk := func() {
		for range 4 * pageSize {
			op++
			o := s.records.newOp(&history.Event{Op: op})
			g.id = op
			s.records.numbers.page(pageOf(op)).hold(g)
			s.records.free(o)
			s.records.numbers.drop(g)
		}
	}
	for range pagesLately {
		walk()
	}
	if made := testing.AllocsPerRun(20, walk); made > 0 {
		t.Errorf("%.0f allocations for %d ops that are like those before", made, 4*pageSize)
	}
	if s.records.numbers.page(pageOf(1)).op(1) != first || openOps(s) != 1 {
		t.Error("the op that stays open is lost")
	}
	if s.records.free(first); len(s.records.numbers.pages) != 0 || openOps(s) != 0 {
		t.Errorf("%d pages are kept for nothing", len(s.records.numbers.pages))
	}
}
