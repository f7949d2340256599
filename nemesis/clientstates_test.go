package nemesis

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Who is meant, in a scene of five clients: 1 and 2 hold a and b, 4, 3 and 5
// wait for a, b and a, in this order.
func TestClientsAreChosenFromTheScene(t *testing.T) {
	holders := []Holding{{1, 10, "a"}, {2, 11, "b"}, {1, 12, "c"}}
	waiters := []Waiting{{4, "a"}, {3, "b"}, {5, "a"}}
	all := []int32{1, 2, 3, 4, 5}
	for _, c := range []struct {
		name   string
		target Target
		free   []int32
		at     Step
		want   string
	}{
		{"holder at its step", Holder, all, Step{BeforeWrite, 2, 11, "b"}, "[{2 11}]"},
		{"holder in another's grip", Holder, []int32{1, 3}, Step{BeforeWrite, 2, 11, "b"}, "[]"},
		{"holder, acquiring", Holder, all, Step{Acquiring, 3, 0, "b"}, "[{3 0}]"},
		{"the only free holder", Holder, []int32{2, 3, 4}, Step{Moment: Random}, "[{2 11}]"},
		{"holder of a grant", Holder, all, Step{Moment: Random, Grant: 12}, "[{1 12}]"},
		{"holder of a grant that is over", Holder, []int32{1}, Step{Moment: Random, Grant: 9}, "[{1 10}]"},
		{"nobody holds", Holder, []int32{3, 4, 5}, Step{Moment: Random}, "[]"},
		{"next after a", NextWaiter, all, Step{BeforeRelease, 1, 10, "a"}, "[{4 0}]"},
		{"next after b", NextWaiter, all, Step{BeforeRelease, 2, 11, "b"}, "[{3 0}]"},
		{"next after c", NextWaiter, all, Step{BeforeRelease, 1, 12, "c"}, "[]"},
		{"next of all", NextWaiter, all, Step{Moment: Random}, "[{4 0}]"},
		{"next in another's grip", NextWaiter, []int32{1, 2, 3, 5}, Step{Moment: Random}, "[]"},
		{"all", AllClients, all, Step{Moment: Random}, "[{1 10} {2 11} {3 0} {4 0} {5 0}]"},
		{"all that are free", AllClients, []int32{2, 5}, Step{AfterGrant, 1, 10, "a"}, "[{2 11} {5 0}]"},
		{"the only free one", RandomClient, []int32{5}, Step{Moment: Random}, "[{5 0}]"},
		{"none is free", RandomClient, nil, Step{Moment: Random}, "[]"},
		{"nodes", "redis-1", all, Step{Moment: Random}, "[]"},
	} {
		s := ClientStates{Free: c.free, Holders: holders, Waiters: waiters}
		if got := fmt.Sprint(c.target.Clients(s, c.at, rand.New(rand.NewPCG(1, 2)))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A waiter is next only where another holds what it waits for: one that
// acquires a free key waits for nobody.
func TestNobodyIsNextForAFreeKey(t *testing.T) {
	s := ClientStates{Free: []int32{1, 2}, Holders: []Holding{{1, 10, "a"}}, Waiters: []Waiting{{2, "b"}, {1, "a"}}}
	if got := NextWaiter.Clients(s, Step{Moment: Random}, nil); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestEveryClientIsDrawn(t *testing.T) {
	s := ClientStates{Free: []int32{1, 2, 3, 4}, Holders: []Holding{{1, 10, "a"}, {3, 11, "b"}, {3, 12, "c"}}}
	for target, want := range map[Target]int{RandomClient: 4, Holder: 2} {
		seen := map[int32]int{}
		for i := range uint64(200) {
			v := target.Clients(s, Step{Moment: Random}, rand.New(rand.NewPCG(3, i)))
			seen[v[0].Client]++
		}
		if len(seen) != want {
			t.Errorf("%s: %v", target, seen)
		}
		for c, n := range seen {
			if n < 200/want/2 {
				t.Errorf("%s: client %d was drawn %d times: %v", target, c, n, seen)
			}
		}
	}
}
