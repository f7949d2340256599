package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// writer of random scripts: small histories with every answer an op can get, on
// few instants, so that stamps often coincide.
type generator struct {
	rng     *rand.Rand
	lines   []string
	keys    int
	store   bool
	fault   bool
	token   int
	wild    bool // tokens and first attempts make no sense
	readers bool // acquires have modes
	several int  // up to how many permits acquires ask for
	shared  bool // any lock may protect any key
}

// script returns the lines of a random history. Lines can be dropped one by
// one: what is left is a history too.
func (g *generator) script(clients int) []string {
	for c := range clients {
		g.client(string(rune('A' + c)))
	}
	if g.fault {
		for range g.rng.IntN(3) {
			from := g.rng.IntN(60)
			who := [...]string{"pause A", "pause B", "service x"}[g.rng.IntN(3)]
			g.add("%s [%d,%d]", who, from, from+1+g.rng.IntN(20))
		}
	}
	return g.lines
}

func (g *generator) add(format string, args ...any) {
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

// interval draws an op's invocation and completion, and stamps inside; t moves to its end.
func (g *generator) interval(t *int, long int) string {
	*t += g.rng.IntN(4)
	inv := *t
	*t += 1 + g.rng.IntN(long)
	start := inv + g.rng.IntN(*t-inv+1)
	end := start + g.rng.IntN(*t-start+1)
	if g.rng.IntN(8) == 0 {
		return fmt.Sprintf("[%d,%d] blind", inv, *t)
	}
	return fmt.Sprintf("[%d,%d] run=%d,%d", inv, *t, start, end)
}

func (g *generator) client(name string) {
	t := g.rng.IntN(30)
	for round := range 1 + g.rng.IntN(3) {
		key := g.rng.IntN(g.keys)
		grant := fmt.Sprintf("%s%d", name, round)
		when := g.interval(&t, 12)
		switch g.rng.IntN(8) {
		case 0:
			g.add("%s=%s acquire %s key=k%d info%s", grant, name, when, key, g.mode())
			continue
		case 1:
			g.add("%s=%s acquire %s key=k%d busy", grant, name, when, key)
			continue
		}
		g.add("%s=%s acquire %s key=k%d%s%s", grant, name, when, key, g.grantExtras(t), g.mode())
		for range g.rng.IntN(4) {
			g.act(name, grant, key, &t)
		}
		g.release(name, grant, key, &t)
	}
}

func (g *generator) grantExtras(t int) string {
	if g.token++; g.rng.IntN(4) == 0 && g.wild {
		return fmt.Sprintf(" tok=%d valid=%d first=%d", 1+g.rng.IntN(6), g.rng.IntN(40), max(0, t-g.rng.IntN(15)))
	}
	// Tokens that mostly rise with time.
	return fmt.Sprintf(" tok=%d valid=20 first=%d enq=%d", 1+t/3+g.rng.IntN(2), max(0, t-g.rng.IntN(12)), max(0, t-g.rng.IntN(12)))
}

func (g *generator) act(name, grant string, key int, t *int) {
	kind := "renew"
	if g.store {
		kind = [...]string{"renew", "read", "write", "write"}[g.rng.IntN(4)]
	}
	if g.rng.IntN(6) == 0 {
		kind = "held"
	}
	lockOp := kind == "renew" || kind == "held"
	when := g.interval(t, 6)
	applied := ""
	if !lockOp && g.shared {
		key = g.rng.IntN(g.keys)
	}
	if !lockOp {
		applied = fmt.Sprintf("@%d", *t-g.rng.IntN(2))
		if g.rng.IntN(10) == 0 {
			applied = fmt.Sprintf("@%d,%d", *t, *t+g.rng.IntN(10))
		}
	}
	answer := ""
	switch g.rng.IntN(10) {
	case 0:
		answer, applied = "declined", ""
	case 1:
		answer = "refused"
		if lockOp {
			answer = "notheld"
		} else if kind == "read" {
			answer, applied = "fail", ""
		}
	case 2:
		answer, when = "info", fmt.Sprintf("[%d,%d]", max(0, *t-1), *t+1)
		*t++
		if g.rng.IntN(2) == 0 {
			applied = ""
		}
	}
	if lockOp {
		applied = ""
	}
	g.add("%s %s %s key=k%d g=%s %s %s", name, kind, when, key, grant, answer, applied)
}

func (g *generator) release(name, grant string, key int, t *int) {
	when := g.interval(t, 6)
	switch g.rng.IntN(8) {
	case 0:
		return
	case 1:
		g.add("%s release %s key=k%d g=%s info", name, when, key, grant)
	case 2:
		g.add("%s release %s key=k%d g=%s notheld", name, when, key, grant)
	case 3:
		g.add("%s lost [%d] key=k%d g=%s", name, *t, key, grant)
	default:
		g.add("%s release %s key=k%d g=%s", name, when, key, grant)
	}
}

// shrink drops lines, or whatever a history is made of, as long as the failure stays.
func shrink[T any](lines []T, fails func([]T) bool) []T {
	for again := true; again; {
		again = false
		for i := range lines {
			if fewer := slices.Delete(slices.Clone(lines), i, i+1); fails(fewer) {
				lines, again = fewer, true
				break
			}
		}
	}
	return lines
}

// randomLock draws the claims of a lock whose TTL fits the generator's instants.
func randomLock(rng *rand.Rand) script {
	s := plainLock()
	s.header.TTL = 20 * ms
	s.interleave = rng.IntN(2) == 0
	c := &s.header.Claims
	c.Validity = [...]string{"", "library", "from_invocation", "session"}[rng.IntN(4)]
	c.Token = [...]string{"none", "fencing", "fencing"}[rng.IntN(3)]
	c.Confirms = [...][]string{nil, {"release"}, {"renew", "release", "held"}}[rng.IntN(3)]
	c.Fair = rng.IntN(2) == 0
	return s
}

// TestSweepAgreesWithSlowChecker judges random histories with the sweep and
// with the slow checker, and compares the counts.
func TestSweepAgreesWithSlowChecker(t *testing.T) {
	n := rounds(30_000)
	var seen slowResult
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		lock := randomLock(rng)
		g := &generator{rng: rng, keys: 1 + rng.IntN(2), store: true, fault: true, wild: rng.IntN(2) == 0, shared: seed%3 == 0}
		lines := g.script(2 + rng.IntN(3))
		fails := func(lines []string) bool {
			want, got := bothCounts(lock, lines)
			return want != got
		}
		want, got := bothCounts(lock, lines)
		seen.add(want)
		if want != got {
			lines = shrink(lines, fails)
			want, got := bothCounts(lock, lines)
			t.Fatalf("seed %d: the slow checker counts %+v, the sweep %+v\nclaims %+v\n%s", seed, want, got,
				lock.header.Claims, strings.Join(lines, "\n"))
		}
	}
	if !seen.complete() {
		t.Fatalf("the histories violate too little to compare: %+v", seen)
	}
	t.Logf("%d histories, with %+v", n, seen)
}

// TestSweepAgreesWithSlowCheckerOnKinds does the same for reader-writer and reentrant locks.
func TestSweepAgreesWithSlowCheckerOnKinds(t *testing.T) {
	var seen slowResult
	for seed := range rounds(3_000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 14))
		lock := randomLock(rng)
		g := &generator{rng: rng, keys: 1 + seed/6%2, store: true, fault: true, wild: rng.IntN(2) == 0, shared: true}
		lock.header.Claims.ReadWrite, lock.header.Claims.Reentrant = seed%3 > 0, seed%3 < 2
		if g.readers = seed%3 > 0; lock.header.Claims.Reentrant {
			lock.header.Claims.Validity = "" // promises of nested grants are told by hand
			nestedClients(g)
		}
		lines := g.script(3 * (seed % 3 / 2))
		want, got := bothCounts(lock, lines)
		seen.add(want)
		if want != got {
			few, file := shrunk(t, lock, lines, func(h *history.History) bool { want, got := countsOf(h); return want != got })
			want, got := bothCounts(lock, few)
			t.Fatalf("seed %d: the slow checker counts %+v, the sweep %+v\nclaims %+v\n%s\nas a history file:\n%s",
				seed, want, got, lock.header.Claims, strings.Join(few, "\n"), file)
		}
	}
	t.Logf("%+v", seen)
	if !seen.complete() {
		t.Fatalf("the histories violate too little to compare: %+v", seen)
	}
}

func bothCounts(lock script, lines []string) (want, got slowResult) {
	return countsOf(lock.history(strings.Join(lines, "\n")))
}

func countsOf(h *history.History) (want, got slowResult) {
	want = newSlow(h).judge()
	s := New(h.Header, h.Keys, Options{Keep: 1})
	for i := range h.Events {
		s.Add(&h.Events[i])
	}
	v := s.Finish(false)
	if s.ledger.orphans > 0 && v.Outcome != Pass {
		// The store applied a request once more when its grant was long over:
		// the sweep has let go of it, and says so.
		want.unfenced, want.lost = v.Properties[unfencedWrite.place].Count, v.Properties[lostUpdate.place].Count
	}
	return want, slowResult{v.Properties[mutualExclusion.place].Count, v.Properties[unfencedWrite.place].Count,
		v.Properties[lostUpdate.place].Count, v.Properties[tokenOrder.place].Count,
		v.Properties[continuity.place].Count, v.Properties[fifo.place].Count}
}

func crowdsOf(h *history.History) (want, got int) {
	return newSlow(h).crowds(), Judge(h, Options{Keep: 1}).Properties[mutualExclusion.place].Count
}

// TestSemaphoreAgreesWithSlowChecker does the same for keys with more than one permit.
func TestSemaphoreAgreesWithSlowChecker(t *testing.T) {
	found, n := 0, rounds(8_000)
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		lock := permits(randomLock(rng), 2+rng.IntN(4)/2)
		if seed%3 == 0 {
			lock = claim(lock, func(c *history.Claims) { c.PerAcquire = c.Permits })
		}
		if seed%4 == 0 {
			lock = noClaims(lock)
		}
		g := &generator{rng: rng, keys: 1 + rng.IntN(4)/3, store: rng.IntN(2) == 0, fault: rng.IntN(2) == 0,
			wild: rng.IntN(2) == 0, several: lock.header.Claims.PerAcquire}
		lines := g.script(3 + rng.IntN(4))
		fails := func(lines []string) bool {
			want, got := crowdsOf(lock.history(strings.Join(lines, "\n")))
			return want != got
		}
		want, got := crowdsOf(lock.history(strings.Join(lines, "\n")))
		found += want
		if want != got {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(shrink(lines, fails), "\n"))
		}
	}
	t.Logf("%d histories, %d times one too many", n, found)
	if found == 0 {
		t.Fatal("no history had one holder too many")
	}
}
