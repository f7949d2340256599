package checker

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// verdictOf judges a history and returns the verdict, and the violations in the
// order in which they were told. Records that would be used again go to retire.
func verdictOf(t *testing.T, h *history.History, retire func(*grant, *op)) string {
	t.Helper()
	told := ""
	s := New(h.Header, h.Keys, Options{OnViolation: func(v Violation) { told += v.Text + "\n" }})
	s.records.retire = retire
	for i := range h.Events {
		s.Add(&h.Events[i])
	}
	v, err := json.Marshal(s.Finish(false))
	if err != nil {
		t.Fatal(err)
	}
	if *nothing != (page{number: nothing.number}) {
		t.Fatal("something was removed that was not there")
	}
	return string(v) + "\n" + told
}

// keepAll leaves a record as it is, for good.
func keepAll(*grant, *op) {}

// scramble leaves nothing of a record that would be used again.
func scramble(g *grant, o *op) {
	if g != nil {
		*g = grant{id: -1, token: 1 << 40, key: g.key, client: -7, process: -7, end: -1 << 40,
			begin: -1 << 40, earliest: 1 << 40, last: 1 << 50, promise: 1 << 50,
			withdrawn: 1 << 50, nacts: 1}
	} else {
		*o = op{id: -1, inv: 1 << 50, start: -1 << 50, key: -1, client: -7, process: -7}
	}
}

// looksBack reports whether anything looks at a record that would have been used
// again: then the verdict changes with what is left of it.
func looksBack(t *testing.T, h *history.History) bool {
	t.Helper()
	want := verdictOf(t, h, keepAll)
	return verdictOf(t, h, scramble) != want || verdictOf(t, h, nil) != want
}

// TestUsedAgainChangesNothing: that records are used again is seen in no
// verdict, whatever the lock claims and whatever was found about it. Every
// hand-written history is held to the same (script.judge).
func TestUsedAgainChangesNothing(t *testing.T) {
	found := 0
	for seed := range uint64(rounds(4_000)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		lock := randomLock(rng)
		switch seed % 6 {
		case 1:
			lock = permits(lock, 2+rng.IntN(2))
		case 2:
			lock.header.Claims.Reentrant = true
		case 3:
			lock.header.Workload = [...]string{workloadPayment, workloadLeader, workloadQueue}[rng.IntN(3)]
		case 4:
			lock.header.Claims.Permits = rng.IntN(2)
		}
		g := &generator{rng: rng, keys: 1 + rng.IntN(3), store: rng.IntN(5) > 0, fault: true, wild: rng.IntN(2) == 0}
		lines := g.script(2 + rng.IntN(6))
		differ := func(lines []string) bool { return looksBack(t, lock.history(strings.Join(lines, "\n"))) }
		if differ(lines) {
			t.Fatalf("seed %d, claims %+v:\n%s", seed, lock.header.Claims, strings.Join(shrink(lines, differ), "\n"))
		}
	}
	for seed := range uint64(40) {
		h, _ := runWorld(worldConfig{clients: 4, pauses: true, slowWrites: seed%2 == 0, fenced: seed%3 == 0,
			service: service{early: seed%5 == 0, blindDelete: seed%5 == 1, resets: seed%5 == 2, session: seed%5 == 3}}, seed)
		found += strings.Count(verdictOf(t, h, keepAll), "\n")
		if looksBack(t, h) {
			t.Fatalf("world %d", seed)
		}
	}
	if found < 100 {
		t.Fatalf("only %d findings looked at grants", found)
	}
}

// TestRecordsAreUsedAgain: the judge of a long history makes no new record for
// each op and grant, and a test can take all that it would use again.
func TestRecordsAreUsedAgain(t *testing.T) {
	const keys, clients = 2, 4
	l := contendedLoop(keys, clients, 40)
	s := New(loopHeader(keys, clients), nil, Options{})
	round := func() {
		for i := range l.events {
			s.Add(&l.events[i])
		}
		l.next()
	}
	s.records.newOp(&l.events[0])
	s.records.newGrant()
	if o, g := unusedOps(s), unusedGrants(s); o != opBlock-1 || g != grantBlock-1 {
		t.Errorf("%d and %d records are left of the first blocks of %d and %d", o, g, opBlock, grantBlock)
	}
	if s.records.newGrant(); unusedGrants(s) != grantBlock-2 {
		t.Errorf("after two grants %d records are left of a block of %d", unusedGrants(s), grantBlock)
	}
	s = New(loopHeader(keys, clients), nil, Options{})
	round()
	ops, grants := unusedOps(s)+openOps(s), unusedGrants(s)+s.records.live
	if made := testing.AllocsPerRun(5, round); made > 40 { // some lists may grow
		t.Errorf("%.0f allocations for %d events that are like those before", made, len(l.events))
	}
	if o, g := unusedOps(s)+openOps(s), unusedGrants(s)+s.records.live; o > ops+opBlock || g > grants+grantBlock ||
		g < grantBlock || o < opBlock {
		t.Errorf("%d records of ops and %d of grants; before it was %d and %d", o, g, ops, grants)
	}
	s = New(loopHeader(keys, clients), nil, Options{})
	taken := [2]int{}
	s.records.retire = func(g *grant, o *op) {
		if g != nil {
			taken[0]++
		}
		if o != nil {
			taken[1]++
		}
	}
	round()
	if acquires := keys * 40; taken[0] < acquires-2*clients || taken[1] != 4*acquires ||
		unusedGrants(s) >= grantBlock || unusedOps(s) >= opBlock {
		t.Errorf("%d grants and %d ops were taken of %d and %d", taken[0], taken[1], acquires, 4*acquires)
	}
}

// TestUsedAgainWithoutItsFootprints: what a hold did to its second protected
// key is not taken for what a later one did, whose record is the same.
func TestUsedAgainWithoutItsFootprints(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		read := "%[1]c read [%[4]d,%[5]d] key=k2\n"
		if i >= 20 {
			read = "" // its write is a blind one
		}
		fmt.Fprintf(&text, "%[1]c acquire [%[2]d,%[3]d]\n%[1]c read [%[3]d,%[4]d] key=k1\n"+read+
			"%[1]c write [%[5]d,%[6]d] key=k2\n%[1]c release [%[6]d,%[7]d]\n",
			'A'+rune(i%4), 10*i, 10*i+1, 10*i+2, 10*i+3, 10*i+4, 10*i+5)
	}
	v := plainLock().judge(t, text.String()+"F=F acquire [3000,3001]")
	if r := v.Property(LostUpdate); r.Count != 0 || v.Stats.Accepted != 40 {
		t.Errorf("%+v", r)
	}
}

// TestFootprintsAreForgotten: what holds did to their second protected keys is
// forgotten with them, also when violations were found of all of them.
func TestFootprintsAreForgotten(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		at := 1000 * i
		fmt.Fprintf(&text, "A acquire [%d,%d]\nB acquire [%[3]d,%[4]d]\n", at, at+1, at+2, at+3)
		for j, who := range "AB" {
			from := at + 10 + 10*j
			fmt.Fprintf(&text, "%c write [%d,%d] key=k1\n%[1]c write [%[4]d,%[5]d] key=k2\n%[1]c release [%[6]d,%[7]d]\n", who, from, from+1, from+2, from+3, from+40, from+41)
		}
	}
	lock := plainLock()
	lock.interleave = true
	h := lock.history(text.String())
	s := New(h.Header, h.Keys, Options{})
	most := 0
	for i := range h.Events {
		s.Add(&h.Events[i])
		most = max(most, len(s.records.footprints))
	}
	if v := s.Finish(false); most < 2 || most > 20 || v.Properties[mutualExclusion.place].Count != 100 ||
		v.Properties[unfencedWrite.place].Count != 0 {
		t.Errorf("the footprints of up to %d holds were kept, %d double-holds, %d unfenced writes", most,
			v.Properties[mutualExclusion.place].Count, v.Properties[unfencedWrite.place].Count)
	}
}

// unusedGrants counts the records of grants that are there and in no use.
func unusedGrants(s *Sweep) int { return len(s.records.spareGrants) + len(s.records.freshGrants) }

// unusedOps counts the records of ops that are there and in no use.
func unusedOps(s *Sweep) int { return len(s.records.spareOps) }

// openOps counts the records of ops that are in use.
func openOps(s *Sweep) (n int) {
	s.records.eachOpen(func(*op) { n++ })
	return n
}
