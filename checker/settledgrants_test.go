package checker

import (
	"math/rand/v2"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestSettledGrants compares the queue of what is over with a plain list of it, and its
// summaries with what they sum up.
func TestSettledGrants(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 12))
		p, all, gone := &settledGrants{spare: &settledBlocks{}}, []*grant(nil), 0
		for range 300 {
			if rng.IntN(5) > 0 {
				g := &grant{client: rng.Int32N(3), token: history.Token(max(0, rng.Int64N(44)-3)),
					start: rng.Int64N(1000), earliest: rng.Int64N(1000), mode: history.Mode(rng.IntN(3)),
					end: rng.Int64N(1000), last: rng.Int64N(1000)}
				p.push(g)
				all = append(all, g)
			} else if n := min(rng.IntN(2*settledBlockSize), p.to-p.from); n > 0 {
				for range n {
					// as prune does
					p.gone.top, p.gone.reader = p.at(p.from).top, p.at(p.from).reader
					p.from++
				}
				gone += n
				p.tidy()
			}
			isThe(t, p, all[gone:], all)
		}
		if len(p.blocks) > (len(all)-gone)/settledBlockSize+2 {
			t.Fatalf("seed %d: %d blocks for %d entries", seed, len(p.blocks), len(all)-gone)
		}
	}
}

// reach is the greatest bound of grants, and the greatest end of an acquire.
func reach(list []*grant) (bound, end int64) {
	for _, x := range list {
		bound, end = max(bound, x.bound()), max(end, x.end, x.start)
	}
	return bound, end
}

// summaryOf is what an entry says of grants, as far as it is about when they
// asked, may have been granted, and wrote.
func summaryOf(list []*grant) (e settledEntry) {
	for _, x := range list {
		e.asked, e.earliest = max(e.asked, x.start), max(e.earliest, x.earliest)
		if x.mode != history.ModeRead {
			e.writers = max(e.writers, x.bound())
		}
	}
	return e
}

// isThe fails the test if the queue does not have the grants of the list, or
// does not sum up what there was.
func isThe(t *testing.T, p *settledGrants, list, all []*grant) {
	t.Helper()
	i := 0
	for g := range p.all() {
		if i >= len(list) || list[i] != g {
			t.Fatalf("entry %d of %d is another one", i, len(list))
		}
		entry := p.at(p.from + i)
		i++
		bound, end := reach(list[:i])
		if most, last := reach(all); entry.bound < bound || entry.latest < end || entry.bound > most || entry.latest > last {
			t.Fatalf("entry %d: bound %d, latest %d; want %d to %d and %d to %d", i, entry.bound, entry.latest, bound, most, end, last)
		}
		before, most := summaryOf(list[:i]), summaryOf(all)
		if got := *entry; got.asked < before.asked || got.earliest < before.earliest || got.writers < before.writers ||
			got.asked > most.asked || got.earliest > most.earliest || got.writers > most.writers {
			t.Fatalf("entry %d: %+v; want from %+v to %+v", i, got, before, most)
		}
		isTop(t, i, entry.top, all[:len(all)-len(list)+i], false)
		isTop(t, i, entry.reader, all[:len(all)-len(list)+i], true)
	}
	if i != len(list) {
		t.Fatalf("%d entries of %d", i, len(list))
	}
}

// isTop fails the test if a summary is not of the greatest token of readers, or of all others.
func isTop(t *testing.T, entry int, got topToken, list []*grant, readers bool) {
	t.Helper()
	top, clients := history.Token(0), map[int32]bool{}
	for _, x := range list {
		if !x.token.Given() || (x.mode == history.ModeRead) != readers {
			continue
		}
		if x.token > top {
			top, clients = x.token, map[int32]bool{}
		}
		if x.token == top {
			clients[x.client] = true
		}
	}
	if !top.Given() && got.g != nil || top.Given() && (got.g == nil || got.g.token != top) || (got.twin != nil) != (len(clients) > 1) {
		t.Fatalf("entry %d, readers %v: %+v; want token %d of %d clients", entry, readers, got, top, len(clients))
	}
}
