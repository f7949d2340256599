package nemesis

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAimStrikesAtItsMomentOnly(t *testing.T) {
	for _, target := range []Target{Holder, "redis-1", majority} {
		for _, when := range Moments() {
			for _, at := range Moments() {
				for _, grant := range []int64{0, 7} {
					want := when == at && when != Random && (grant == 0) == (at == Acquiring)
					if got := (Aim{Target: target, When: when}).Strikes(Step{Moment: at, Client: 1, Grant: grant}); got != want {
						t.Errorf("aim at %s, step %s under grant %d: %v, want %v", when, at, grant, got, want)
					}
				}
			}
		}
	}
}

var five = []string{"n1", "n2", "n3", "n4", "n5"}

// What leaves a majority is a minority, and one node more is a majority,
// whatever the number of nodes.
func TestMinorityAndMajorityAreOneNodeApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 3; n <= 9; n++ {
		all := slices.Repeat([]string{"x"}, n)
		for i := range all {
			all[i] += string(rune('a' + i))
		}
		few, err := minority.Nodes(all, rng)
		if err != nil {
			t.Fatal(err)
		}
		many, err := majority.Nodes(all, rng)
		if err != nil {
			t.Fatal(err)
		}
		if 2*len(many) <= n || 2*(n-len(few)) <= n || 2*(len(many)-1) > n || 2*(n-len(few)-1) > n {
			t.Errorf("of %d nodes %v are a minority, %v a majority", n, few, many)
		}
	}
}

func TestTargetsAreDrawnFromTheNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range 300 {
		got, err := Target("nodes:2").Nodes(five, rng)
		if err != nil || len(got) != 2 || !slices.IsSorted(got) || got[0] == got[1] {
			t.Fatalf("%v, %v", got, err)
		}
		for _, n := range got {
			seen[n]++
		}
	}
	if len(seen) != len(five) {
		t.Errorf("never drawn: %v", seen)
	}
	if got, err := Target("n4").Nodes(five, rng); err != nil || !slices.Equal(got, []string{"n4"}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Target("n5,n2").Nodes(five, rng); err != nil || !slices.Equal(got, []string{"n2", "n5"}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Target("n5,n9").Nodes(five, rng); err == nil {
		t.Errorf("%v", got)
	}
}

func TestCheckRefusesWhatCannotBe(t *testing.T) {
	for _, c := range []struct {
		kind   string
		target Target
		when   Moment
		nodes  []string
		want   string // "": it can be
	}{
		{KindPause, Holder, BeforeWrite, five, ""},
		{KindKill, Holder, Acquiring, five, ""},
		{KindPause, "n2", Random, five, ""},
		{KindPause, majority, Acquiring, five, ""},
		{KindPause, majority, Random, five[:1], ""},
		{KindPause, minority, Random, five[:1], "0 of 1 nodes"},
		{KindPause, "nodes:6", Random, five, "6 of 5 nodes"},
		{KindPause, "nodes:0", Random, five, "0 of 5 nodes"},
		{KindPause, "nodes:-1", Random, five, "-1 of 5 nodes"},
		{KindPause, "n9", Random, five, `unknown target "n9"`},
		{KindPause, "n2", BeforeWrite, five, ""},
		{KindPause, NextWaiter, BeforeRelease, five, ""},
		{KindPause, NextWaiter, Acquiring, five, "acquires already"},
		{KindKill, AllClients, Random, five, ""},
		{KindPause, RandomClient, WhileRenewing, five, ""},
		{KindKill, "n2", Random, five, "strikes clients only"},
		{"hug", Holder, Random, five, `unknown fault "hug"`},
	} {
		err := Check(Spec{Kind: c.kind, Aim: Aim{c.target, c.when}}, Setting{Nodes: c.nodes})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s at %s: %v, want %q", c.kind, c.target, c.when, err, c.want)
		}
	}
}

// Every order of magnitude is drawn about as often as any other, and none lies outside.
func TestDelayIsDrawnOverEveryOrderOfMagnitude(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const longest = 2 * time.Second // five orders of magnitude
	var decades [5]int
	for range 5000 {
		d := Delay(rng, longest)
		if d < shortestDelay || d > longest {
			t.Fatalf("drew %v", d)
		}
		i := 0
		for at := 10 * shortestDelay; i < 4 && d >= at; at *= 10 {
			i++
		}
		decades[i]++
	}
	for i, n := range decades {
		if n < 800 || n > 1200 {
			t.Errorf("decade %d was drawn %d times of 5000: %v", i, n, decades)
		}
	}
}
