package netfault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawHosts draws some hosts, not in order.
func drawHosts(t *rapid.T, least int) []string {
	var hosts []string
	for i := range rapid.IntRange(least, 9).Draw(t, "hosts") {
		hosts = append(hosts, fmt.Sprint("n", i))
	}
	return rapid.Permutation(hosts).Draw(t, "order")
}

// sees returns the hosts that one can talk to in both directions, itself included, sorted.
func sees(host string, hosts []string, cuts []Cut) []string {
	var seen []string
	for _, other := range hosts {
		if !slices.Contains(cuts, Cut{host, other}) && !slices.Contains(cuts, Cut{other, host}) {
			seen = append(seen, other)
		}
	}
	slices.Sort(seen)
	return seen
}

var shapes = map[string]Shape{
	"isolate one": IsolateOne, "halves": Halves, "majority and minority": MajorityMinority, "majorities ring": MajoritiesRing,
	"bridge": Bridge, "one way": OneWayOne,
}

// All shapes: cuts of the given hosts, sorted, each once, none from a host to itself; the same for
// the same seed and any order of the hosts' names where the shape does not choose by position.
func TestShapesAreFunctions(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				hosts, seed := drawHosts(t, 0), rapid.Uint64().Draw(t, "seed")
				given := slices.Clone(hosts)
				cuts := shape(hosts, rand.New(rand.NewPCG(seed, 0)))
				if !slices.Equal(hosts, given) {
					t.Fatal("the shape has changed the hosts")
				}
				if again := shape(hosts, rand.New(rand.NewPCG(seed, 0))); !slices.Equal(cuts, again) {
					t.Fatalf("%v, then %v", cuts, again)
				}
				if !slices.Equal(normal(slices.Clone(cuts)), cuts) {
					t.Fatalf("not sorted, or twice: %v", cuts)
				}
				for _, c := range cuts {
					if c.From == c.To || !slices.Contains(hosts, c.From) || !slices.Contains(hosts, c.To) {
						t.Fatalf("cut %v of %v", c, hosts)
					}
					if name != "one way" && !slices.Contains(cuts, Cut{c.To, c.From}) {
						t.Fatalf("%v is cut in one direction only: %v", c, cuts)
					}
				}
				if len(hosts) >= 3 && len(cuts) == 0 {
					t.Fatalf("no cut of %v", hosts)
				}
			})
		})
	}
}

func check(t *testing.T, least int, shape Shape, holds func(t *rapid.T, hosts []string, cuts []Cut)) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, least)
		holds(t, hosts, shape(hosts, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))))
	})
}

// sizes returns how many hosts each host sees, sorted.
func sizes(hosts []string, cuts []Cut) (all []int) {
	for _, h := range hosts {
		all = append(all, len(sees(h, hosts, cuts)))
	}
	slices.Sort(all)
	return all
}

func TestIsolateOne(t *testing.T) {
	check(t, 2, IsolateOne, func(t *rapid.T, hosts []string, cuts []Cut) {
		n := len(hosts)
		want := append([]int{1}, slices.Repeat([]int{n - 1}, n-1)...)
		slices.Sort(want)
		if got := sizes(hosts, cuts); !slices.Equal(got, want) {
			t.Fatalf("they see %v hosts", got)
		}
	})
}

// sides: everyone sees exactly its own side.
func checkSides(t *rapid.T, hosts []string, cuts []Cut, smaller int) {
	want := append(slices.Repeat([]int{smaller}, smaller), slices.Repeat([]int{len(hosts) - smaller}, len(hosts)-smaller)...)
	if got := sizes(hosts, cuts); !slices.Equal(got, want) {
		t.Fatalf("they see %v hosts, want %v", got, want)
	}
	for _, a := range hosts {
		for _, b := range sees(a, hosts, cuts) {
			if !slices.Equal(sees(a, hosts, cuts), sees(b, hosts, cuts)) {
				t.Fatalf("%s and %s see each other, but not the same hosts", a, b)
			}
		}
	}
}

func TestHalves(t *testing.T) {
	check(t, 2, Halves, func(t *rapid.T, hosts []string, cuts []Cut) { checkSides(t, hosts, cuts, len(hosts)/2) })
}

func TestMajorityMinority(t *testing.T) {
	check(t, 3, MajorityMinority, func(t *rapid.T, hosts []string, cuts []Cut) {
		smaller := sizes(hosts, cuts)[0]
		if 2*(len(hosts)-smaller) <= len(hosts) {
			t.Fatalf("%d of %d is no minority", smaller, len(hosts))
		}
		checkSides(t, hosts, cuts, smaller)
	})
}

func TestMajoritiesRing(t *testing.T) {
	check(t, 3, MajoritiesRing, func(t *rapid.T, hosts []string, cuts []Cut) {
		seen := map[string]string{}
		for _, h := range hosts {
			s := sees(h, hosts, cuts)
			if 2*len(s) <= len(hosts) {
				t.Fatalf("%s sees %v, no majority of %d", h, s, len(hosts))
			}
			if other := seen[fmt.Sprint(s)]; other != "" && len(hosts) > 3 {
				t.Fatalf("%s and %s see the same hosts: %v", h, other, s)
			}
			seen[fmt.Sprint(s)] = h
		}
	})
}

func TestBridge(t *testing.T) {
	check(t, 3, Bridge, func(t *rapid.T, hosts []string, cuts []Cut) {
		var bridge string
		for _, h := range hosts {
			if len(sees(h, hosts, cuts)) == len(hosts) {
				if bridge != "" {
					t.Fatalf("%s and %s both see everyone", bridge, h)
				}
				bridge = h
			}
		}
		if bridge == "" {
			t.Fatal("nobody sees everyone")
		}
		checkSides(t, slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == bridge }), cuts, (len(hosts)-1)/2)
	})
}

func TestOneWayOne(t *testing.T) {
	check(t, 2, OneWayOne, func(t *rapid.T, hosts []string, cuts []Cut) {
		if len(cuts) != len(hosts)-1 {
			t.Fatalf("%d cuts", len(cuts))
		}
		for _, c := range cuts {
			if c.From != cuts[0].From {
				t.Fatalf("%s and %s are mute", c.From, cuts[0].From)
			}
		}
	})
}

func TestClientShapes(t *testing.T) {
	nodes := []string{"n1", "n2", "n3", "n4", "n5"}
	if got := FromAll("c", nodes); len(got) != 10 || len(sees("n1", nodes, got)) != 5 {
		t.Errorf("from all: %v", got)
	}
	for k, want := range map[int]int{-1: 0, 0: 0, 2: 2, 5: 5, 9: 5} {
		got := FromSome("c", nodes, k, seeded())
		if len(got) != 2*want || want > 0 && !slices.Contains(got, Cut{got[len(got)-1].To, "c"}) &&
			!slices.Contains(got, Cut{"c", got[len(got)-1].From}) {
			t.Errorf("from %d: %v", k, got)
		}
	}
	if got := Between([]string{"a", "x"}, []string{"x", "b"}); len(got) != 2 {
		t.Errorf("a host on both sides must see everyone: %v", got)
	}
	if got := OneWay([]string{"a"}, []string{"b", "b"}); len(got) != 1 {
		t.Errorf("a cut named twice: %v", got)
	}
}
