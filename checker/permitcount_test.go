package checker

import (
	"math/rand/v2"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestPermitCount compares the tree with a plain list of the same times.
func TestPermitCount(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 22))
		var c permitCount
		var all [][3]int64
		since, now := int64(0), int64(0)
		for range 200 {
			now += rng.Int64N(4)
			from := max(since, now-rng.Int64N(10))
			to := from + rng.Int64N(10)
			takes := 1 + rng.IntN(3)
			c.add(from, to, uint8(takes))
			all = append(all, [3]int64{from, max(to, from+1), int64(takes)})
			if rng.IntN(5) == 0 {
				since = max(since, now-15)
				c.forget(since)
			}
			most := 0
			for at := since; at <= now+12; at++ {
				n, begins := 0, false
				for _, x := range all {
					if x[0] <= at && at < x[1] {
						n += int(x[2])
					}
					begins = begins || x[0] == at
				}
				if begins {
					most = max(most, n)
				}
				if got, known := c.at(at); got != n || !known {
					t.Fatalf("seed %d: at %d there are %d (known: %v), want %d", seed, at, got, known, n)
				}
			}
			if got := c.most(); got < most {
				t.Fatalf("seed %d: %d at the most, want %d", seed, got, most)
			}
		}
		if len(c.steps) > 200 {
			t.Fatalf("seed %d: %d steps are remembered", seed, len(c.steps))
		}
	}
}

// TestPermitsOfEqualStamps counts the comparisons that crowds of semaphores take
// whose stamps are equal: they may grow with the square of the grants, since
// each of them is beside each other one, and no faster.
func TestPermitsOfEqualStamps(t *testing.T) {
	for _, x := range []struct {
		name     string
		validity string
		permits  func(n int) int
		acts     bool
		same     bool   // all are of few clients, whose grants do not exclude each other
		fault    string // before, on the service
		want     func(n int) int
	}{
		{"half of them hold too much", validityInvocation, func(n int) int { return n / 2 }, true, false, "",
			func(n int) int { return n / 2 }},
		{"half of them were promised to others", validityInvocation, func(n int) int { return n / 2 }, false, false, "",
			func(n int) int { return n / 2 }},
		{"sessions", validitySession, func(n int) int { return n / 2 }, false, false, "", func(n int) int { return n / 2 }},
		{"there is room for all", validityInvocation, func(n int) int { return n }, true, false, "", func(int) int { return 0 }},
		{"few clients", validityInvocation, func(n int) int { return n / 2 }, false, true, "", func(int) int { return 0 }},
		{"sessions, after a short stall", validitySession, func(n int) int { return n / 2 }, false, false, "stall",
			func(n int) int { return n / 2 }},
		{"sessions that a fault may have ended", validitySession, func(n int) int { return n / 2 }, false, false,
			"pause", func(int) int { return 0 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			steps := map[int]int{}
			for _, n := range []int{200, 400, 800} {
				h := crowdOfEqualStamps(n, x.acts, x.same, x.fault)
				h.Header.Claims.Permits, h.Header.Claims.Validity, h.Header.Translated = x.permits(n), x.validity, x.same
				s := New(h.Header, h.Keys, Options{})
				for i := range h.Events {
					s.Add(&h.Events[i])
				}
				v := s.Finish(false)
				steps[n] = s.figures.compared
				if got := v.Property(MutualExclusion).Count; got != x.want(n) {
					t.Errorf("%d grants: %d too many, want %d", n, got, x.want(n))
				}
			}
			t.Logf("%v", steps)
			for n := 400; n <= 800; n *= 2 {
				if steps[n] > 6*steps[n/2] || steps[n] > 40*n*n {
					t.Errorf("%d grants took %d comparisons, half as many %d", n, steps[n], steps[n/2])
				}
			}
		})
	}
}

// crowdOfEqualStamps has n grants of one key, all made at one instant and given back at another.
func crowdOfEqualStamps(n int, acts, same bool, fault string) *history.History {
	tp := newTape(1, n)
	tp.header.Claims.Token, tp.header.TTL, tp.header.Translated = "none", 1_000_000_000, same
	if !acts {
		tp.header.Claims.Confirms = nil // then a release is no act
	}
	client := func(i int) int32 {
		if same {
			return int32(i%10 + 1)
		}
		return int32(i + 1)
	}
	add := func(at int64, typ history.Type, kind history.Kind, i int, op, grant int64) {
		e := history.Event{Type: typ, Kind: kind, Op: op, Grant: grant, Client: client(i), Process: client(i), Time: at}
		if typ == history.OK {
			e.Start, e.End = at-10, at-5
		}
		tp.events = append(tp.events, e)
	}
	if fault != "" {
		f := history.FaultInfo{ID: 1, Kind: fault, Phase: "begin", Service: true, Injected: fault != "stall", Bit: true}
		tp.events = append(tp.events, history.Event{Type: history.Fault, Time: 500, Fault: &f})
		end := f
		end.Phase, end.From, end.To = "end", 500, 600
		tp.events = append(tp.events, history.Event{Type: history.Fault, Time: 600, Fault: &end})
	}
	for phase, kind := range []history.Kind{history.Acquire, history.Read, history.Release} {
		if kind == history.Read && !acts {
			continue
		}
		at := int64(1000 + 1000*phase)
		for _, typ := range []history.Type{history.Invoke, history.OK} {
			for i := range n {
				op := int64(phase*n + i + 1)
				add(at, typ, kind, i, op, int64(i+1))
			}
			at += 100
		}
	}
	tp.events = append(tp.events, history.Event{Type: history.Mark, Text: "end", Time: 10_000_000_000})
	return &history.History{Header: tp.header, Keys: tp.keys, Events: tp.events}
}
