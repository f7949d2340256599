package checker

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Histories of every kind there is, drawn at random: what the random tests
// compare with an oracle, and everything that no oracle judges: deaths, closes,
// probes, stalls, two keys at once, leases that were over on arrival.

// anyHistory draws the claims of a lock and a history.
func anyHistory(seed uint64) (script, string) {
	rng := rand.New(rand.NewPCG(seed, 6))
	lock := randomLock(rng)
	c, h := &lock.header.Claims, &lock.header
	c.Permits = [...]int{1, 1, 1, 1, 2, 3, 0}[rng.IntN(7)]
	c.Reentrant, c.NoExpiry = rng.IntN(6) == 0, rng.IntN(8) == 0
	if rng.IntN(3) == 0 {
		c.LostGrace = 5 * ms
	}
	h.Workload = [...]string{"", "", workloadPayment, workloadLeader, workloadQueue}[rng.IntN(5)]
	h.Guard = [...]string{"", guardNone}[rng.IntN(2)]
	h.Clients, h.Stall = [...]int{8, 1, 0}[rng.IntN(3)], 2*ms
	if rng.IntN(4) == 0 {
		h.Bound = int64(1+rng.IntN(12)) * ms
	}
	if rng.IntN(4) == 0 {
		h.Needs = history.Needs{Grants: rng.IntN(6), Handovers: rng.IntN(3), Bites: rng.IntN(2)}
	}
	lock.cut, lock.noLedger = rng.IntN(10) == 0, rng.IntN(12) == 0
	h.Translated = rng.IntN(15) == 0
	g := &generator{rng: rng, keys: 1 + rng.IntN(3), store: rng.IntN(4) > 0, fault: rng.IntN(2) == 0, wild: rng.IntN(2) == 0}
	g.script(1 + rng.IntN(4))
	if rng.IntN(3) == 0 {
		h.Nodes = [...]int{1, 3, 5}[rng.IntN(3)]
		for range 1 + rng.IntN(3) {
			g.trouble()
		}
	}
	for range rng.IntN(6) {
		[...]func(){g.pair, g.death, g.disturbance, g.lateGrant, g.cycle, g.cycle, g.turns, g.stolen}[rng.IntN(8)]()
	}
	if rng.IntN(3) > 0 {
		g.probes()
	}
	if rng.IntN(8) == 0 {
		g.passed()
	}
	return lock, strings.Join(g.lines, "\n")
}

// when draws an interval of at most so many ms.
func (g *generator) when(long int) (from, to int) {
	from = g.rng.IntN(60)
	return from, from + 1 + g.rng.IntN(long)
}

func (g *generator) letter() string { return string(rune('A' + g.rng.IntN(6))) }

// death ends a client, or closes it.
func (g *generator) death() {
	from, to := g.when(8)
	switch who := g.letter(); g.rng.IntN(4) {
	case 0:
		g.add("%s close [%d,%d]", who, from, to)
	case 1:
		g.add("%s exit [%d]", who, to)
	case 2:
		g.add("kill %s [%d,%d]\n%s exit [%d]", who, from, to, who, to)
	default:
		g.add("kill %s [%d,%d]\n%s exit [%d] proc=%d\n%s acquire [%d,%d] proc=33 tok=%d", who, from, to, who, to,
			clientNumber(who), who, to+1, to+2+g.rng.IntN(5), 1+g.rng.IntN(20))
	}
}

func (g *generator) disturbance() {
	from, to := g.when(30)
	kind := [...]string{"stall", "stall", "delay", "pause", "kill", "service"}[g.rng.IntN(6)]
	switch g.rng.IntN(8) {
	case 0:
		g.add("%s %s [%d,]", kind, g.letter(), from)
	case 1:
		g.add("%s %s [%d,%d] +miss", kind, g.letter(), from, to)
	default:
		g.add("%s %s [%d,%d] +bite", kind, g.letter(), from, to)
	}
}

// trouble is an injected fault of any kind, wherever it may lie.
func (g *generator) trouble() {
	from, to := g.when(40)
	pick := func(list ...string) string { return list[g.rng.IntN(len(list))] }
	who := g.letter()
	switch g.rng.IntN(4) {
	case 0:
		g.add("fault %s [%d,%d] on=service hosts=%d target=%s",
			pick(faultPause, faultPartition, faultCrash, faultCrash, faultFailover, "delay", "clock-jump"), from, to, 1+g.rng.IntN(3),
			pick("node", targetPrimary, targetService))
	case 1:
		g.add("fault %s [%d,%d] on=store:%s", pick(faultPartition, faultReset), from, to, who)
	case 2:
		g.add("fault %s [%d,%d] on=%s links", pick(faultPartition, faultReset, faultCut, "delay"), from, to, who)
	default:
		g.add("fault %s [%d,%d] on=%s %s", pick(faultPause, faultStall, faultThrottle, faultRenewerStall,
			faultExpireSession, "clock-rate"), from, to, who, pick("", "", "aside"))
	}
}

// lateGrant is an acquire that may return when its lease is over, and what its client does with it.
func (g *generator) lateGrant() {
	from, to := g.when(45)
	who := g.letter()
	g.add("%s acquire [%d,%d] attempt=%d valid=%d tok=%d enq=%d", who, from, to, from+g.rng.IntN(to-from),
		g.rng.IntN(30)-8, 1+g.rng.IntN(20), from+g.rng.IntN(5))
	if g.rng.IntN(2) == 0 {
		until := to + 1 + g.rng.IntN(40)
		g.add("%s renew [%d,%d] attempt=%d valid=%d", who, to+1, until, to+1+g.rng.IntN(until-to), g.rng.IntN(30)-8)
		to = until
	}
	if g.rng.IntN(2) == 0 {
		g.add("%s write [%d,%d] value=%d %s", who, to+1, to+2, g.rng.IntN(3),
			[...]string{"", "conflict", "refused", "atomic"}[g.rng.IntN(4)])
	}
	if g.rng.IntN(2) == 0 {
		g.add("%s release [%d,%d] %s", who, to+3, to+4, [...]string{"", "info", "fail", "notheld"}[g.rng.IntN(4)])
	}
}

// pair is one client under another one's lease, with a stale write or renewal at its end.
func (g *generator) pair() {
	t := g.rng.IntN(30)
	late := t + 15 + g.rng.IntN(25)
	g.add("G=G acquire [%d,%d] tok=%d", t, t+1, 1+t/3)
	g.add("G read [%d,%d]", t+2, t+3)
	g.add("H acquire [%d,%d] tok=%d", t+3+g.rng.IntN(25), t+29, 2+t/3)
	g.add("H read [%d,%d]\nH write [%d,%d] value=1", t+30, t+31, t+32, t+33)
	g.add("G %s [%d,%d] value=1 g=G", [...]string{"write", "write", "renew", "held", "release", "lost"}[g.rng.IntN(6)],
		late, late+1+g.rng.IntN(4))
	g.add("H write [%d,%d] value=2\nH release [%d,%d]", t+44, t+45, t+46, t+47)
}

// cycle is clients who each have a key and ask for the next one's.
func (g *generator) cycle() {
	n, t := 2+g.rng.IntN(2), g.rng.IntN(30)
	for i := range n {
		who, from := string(rune('J'+i)), t+g.rng.IntN(6)
		g.add("%s acquire [%d,%d] key=k%d tok=%d", who, from, from+1, i, 1+t)
		until := from + 4 + g.rng.IntN(25)
		g.add("%s acquire [%d,%d] key=k%d %s", who, from+2, until, (i+1)%n, [...]string{"busy", "busy", "busy", "", "info"}[g.rng.IntN(5)])
		switch g.rng.IntN(4) {
		case 0:
			g.add("%s lost [%d] key=k%d", who, until-2, i)
		case 1:
			g.add("%s release [%d,%d] key=k%d", who, until-1+g.rng.IntN(3), until+3, i)
		}
	}
}

// turns are short grants of two clients in turn, while a third one waits.
func (g *generator) turns() {
	t, n := g.rng.IntN(10), 9+g.rng.IntN(4)
	for i := range n {
		at := t + 2 + 3*i
		g.add("%c acquire [%d,%d] tok=%d enq=%d\n%c release [%d,%d]", 'L'+i%2, at, at+1, 1+at/3, at, 'L'+i%2, at+1, at+2)
	}
	g.add("N acquire [%d,%d] enq=%d %s", t, t+2+3*n+g.rng.IntN(4), t+1, [...]string{"", "busy", "info"}[g.rng.IntN(3)])
}

// stolen is a release that comes too late, and a grant soon after it.
func (g *generator) stolen() {
	t := g.rng.IntN(20)
	late := t + 23 + g.rng.IntN(8)
	g.add("L=L acquire [%d,%d] tok=%d", t, t+1, 1+t/3)
	if g.rng.IntN(3) == 0 {
		g.add("L %s [%d,%d] g=L", [...]string{"renew", "renew", "lost"}[g.rng.IntN(3)], t+2+g.rng.IntN(10), t+13)
	}
	g.add("M acquire [%d,%d] tok=%d", late-3+g.rng.IntN(3), late, 2+t/3)
	g.add("L release [%d,%d] g=L %s", late+1, late+2, [...]string{"", "", "notheld", "info", "fail"}[g.rng.IntN(5)])
	from := late + 2 + g.rng.IntN(3)
	g.add("N acquire [%d,%d] first=%d tok=%d\nN release [%d,%d]", from, from+2, from+g.rng.IntN(3), 3+t/3, from+4, from+5)
	g.add("M release [%d,%d]", from+g.rng.IntN(8), from+9)
}

// passed is a release before all else, and a client that asks alone after it.
func (g *generator) passed() {
	to := -90 + g.rng.IntN(20)
	g.add("E acquire [-100,-99] key=k2\nE release [-98,-97] key=k2\nF acquire [-95,%d] key=k2\nF release [%d,%d] key=k2", to, to+1, to+2)
}

func (g *generator) probes() {
	answer := func() string { return [...]string{"busy", "busy", "", "", "info", "fail"}[g.rng.IntN(6)] }
	if g.rng.IntN(3) > 0 {
		g.add("mark probe [100]\nP acquire [101,%d] %s", 102+g.rng.IntN(900), answer())
	}
	if g.rng.IntN(2) == 0 {
		g.add("A exit [1050]\nB exit [1050]\nP exit [1051]")
	}
	if g.rng.IntN(3) > 0 {
		from := 1100 + g.rng.IntN(10)
		g.add("mark final [1099]\nQ acquire [%d,%d] %s", from, from+1+g.rng.IntN(900), answer())
		if g.rng.IntN(2) == 0 {
			g.add("Q acquire [%d,%d] key=k1 %s", from, from+1+g.rng.IntN(900), answer())
		}
	}
}

const anyFile = "testdata/random.golden"

// TestVerdictsOnAnyHistory holds the verdicts on 1,500 histories to those that
// were kept, all but their words. It says nothing about what is right, as the
// simulation and the oracles do; it sees to it that nothing changes unnoticed.
// After a change that is meant: go test ./checker -run . -update
func TestVerdictsOnAnyHistory(t *testing.T) {
	const n = 1500
	var out strings.Builder
	kept, err := os.ReadFile(anyFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	lines := strings.Split(string(kept), "\n")
	wrong, seen := 0, map[string]int{}
	for seed := range uint64(n) {
		lock, text := anyHistory(seed)
		told := map[string]int{}
		v := Judge(lock.history(text), Options{Keep: 3, OnViolation: func(v Violation) { told[v.Property]++ }})
		for i := range v.Properties {
			r := &v.Properties[i]
			if r.Why == "" && (r.Outcome == Inconclusive || r.Outcome == NotJudged) ||
				len(r.Violations) != min(3, r.Count) || r.Count == 0 && r.Kinds != nil {
				t.Errorf("history %d: %+v", seed, r)
			}
			r.Why = ""
			if told[r.Name] > 0 && r.Outcome == NotJudged || told[r.Name] == 0 && r.Count > 0 {
				t.Errorf("history %d: %s %v ×%d, and told of %d", seed, r.Name, r.Outcome, r.Count, told[r.Name])
			}
			seen[fmt.Sprint(r.Name, " ", r.Outcome)]++
			for j := range r.Violations {
				r.Violations[j].Text = ""
			}
		}
		v.Reasons = nil
		sum := fnv.New64a()
		fmt.Fprint(sum, written(v), told)
		line := fmt.Sprintf("%d %016x", seed, sum.Sum64())
		fmt.Fprintln(&out, line)
		if !*update && (int(seed) >= len(lines) || lines[seed] != line) {
			if wrong++; wrong <= 2 {
				t.Errorf("the verdict on history %d is not the one that was kept in %s:\n%s\n%+v\n%s", seed, anyFile,
					written(v), lock.header, text)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d verdicts of %d are not those in %s", wrong, n, anyFile)
	}
	for _, name := range ofLocks() { // none of them is of workload stampede or transaction
		if name != Herd && name != StaleRead && (seen[name+" violated"] < 5 || seen[name+" pass"] == 0 && name != StuckLock) {
			t.Errorf("the histories are too much alike: %s: %v", name, seen)
		}
	}
	t.Logf("%v", seen)
	if *update {
		if err := os.WriteFile(anyFile, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyFaultsElsewhereChangeNothing: the judge forgets old faults when there
// are many; never one that somebody may still ask for.
func TestManyFaultsElsewhereChangeNothing(t *testing.T) {
	for seed := range uint64(80) {
		lock, text := anyHistory(seed)
		h := lock.history(text)
		want := written(Judge(h, Options{}))
		rng := rand.New(rand.NewPCG(seed, 7))
		place := rng.IntN(len(h.Events))
		s := New(h.Header, h.Keys, Options{})
		for i := range h.Events {
			if i == place {
				addFaultsElsewhere(s, h.Events[i].Time)
			}
			s.Add(&h.Events[i])
		}
		v := s.Finish(h.Truncated)
		v.Stats.Faults = slices.DeleteFunc(v.Stats.Faults, func(f FaultStats) bool { return f.Kind == "elsewhere" })
		if got := written(v); got != want {
			t.Fatalf("history %d, faults before event %d:\n%s\nwant\n%s\n%s", seed, place, got, want, text)
		}
		if n := len(s.faults.clientSpans(90)); n > 1000 {
			t.Fatalf("%d faults that are long over are remembered", n)
		}
	}
}

// addFaultsElsewhere adds as many faults, long over and of a client that does
// nothing, as make the judge forget some.
func addFaultsElsewhere(s *Sweep, now int64) {
	for n := range 2500 {
		f := history.FaultInfo{ID: 10_000 + n, Kind: "elsewhere", Phase: "begin", Injected: true, Clients: []int32{90}, From: 1, To: 1}
		end := f
		end.Phase, end.Bit = "end", true
		s.Add(&history.Event{Type: history.Fault, Time: now, Fault: &f})
		// it was over by then, however late this is told
		s.Add(&history.Event{Type: history.Fault, Time: min(now, 1), Fault: &end})
	}
}
