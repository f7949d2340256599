package reporttest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

const Ms = int64(time.Millisecond)

// Sim describes a synthetic run: clients that take turns on one key, some of
// them frozen between read and write. The verdicts are filled in by hand, by
// what the simulation knows; the checker has no part in these tests.
type Sim struct {
	Clients  int
	Duration int64
	Tokens   bool
	Fenced   bool
	Freezes  int // how many holders are frozen, for 900 ms each
	Think    int64
}

// simOp is one op of the simulation, before the store has decided about it.
type simOp struct {
	kind             history.Kind
	client           int32
	start, end       int64
	id, grant, token int64
	refused, notHeld bool
	version, replace int64
	value            int64
}

// simGrant is what the simulation knows of a grant.
type simGrant struct {
	acquire *simOp
	read    *simOp
	write   *simOp
	release *simOp
	frozen  bool
	thaw    int64
	from    int64
}

// Run simulates, and returns the history and its verdict.
func (c Sim) Run() (*history.History, checker.Verdict) {
	ops, grants := c.schedule()
	c.decide(ops)
	h := c.history(ops, grants)
	return h, c.verdict(ops, grants)
}

func (c Sim) schedule() ([]*simOp, []*simGrant) {
	rng := rand.New(rand.NewPCG(1, 2))
	if c.Think == 0 {
		c.Think = 20 * Ms
	}
	ready := make([]int64, c.Clients)
	for i := range ready {
		ready[i] = 40*Ms + int64(i)*7*Ms
	}
	var ops []*simOp
	var grants []*simGrant
	next := int64(0)
	add := func(o simOp) *simOp {
		next++
		o.id = next
		ops = append(ops, &o)
		return &o
	}
	free, frozen, nextFreeze := int64(0), 0, 400*Ms
	for {
		who := slices.Index(ready, slices.Min(ready))
		start := ready[who]
		got := max(start, free) + Ms/2 + rng.Int64N(Ms)
		if got > c.Duration {
			break
		}
		g := &simGrant{acquire: add(simOp{kind: history.Acquire, client: int32(who + 1), start: start, end: got})}
		g.acquire.grant = g.acquire.id
		if c.Tokens {
			g.acquire.token = int64(len(grants) + 1)
		}
		grants = append(grants, g)
		under := func(k history.Kind, start, end int64) *simOp {
			return add(simOp{kind: k, client: g.acquire.client, start: start, end: end, grant: g.acquire.id,
				token: g.acquire.token})
		}
		g.read = under(history.Read, got+Ms/5, got+Ms)
		wrote := got + c.Think/4 + rng.Int64N(c.Think)
		end := wrote + Ms
		if frozen < c.Freezes && got > nextFreeze && got < c.Duration-1500*Ms {
			frozen++
			g.frozen, g.from = true, got+2*Ms
			g.thaw = g.from + 900*Ms + rng.Int64N(20*Ms)
			wrote, end, nextFreeze = g.thaw+Ms/3, g.thaw+2*Ms, g.thaw+300*Ms
		}
		g.write = under(history.Write, wrote, wrote+Ms)
		g.release = under(history.Release, end, end+Ms/2)
		g.release.notHeld = g.frozen
		free = end + Ms/4
		if g.frozen {
			free = got + 500*Ms
		}
		ready[who] = end + 5*Ms + rng.Int64N(25*Ms)
	}
	return ops, grants
}

// decide lets the store take or refuse reads and writes, in the order of their starts.
func (c Sim) decide(ops []*simOp) {
	slices.SortStableFunc(ops, func(a, b *simOp) int { return cmp.Compare(a.start, b.start) })
	version, value, fence := int64(0), int64(0), int64(0)
	seen := map[int64]int64{} // the value that each grant read
	for _, o := range ops {
		switch o.kind {
		case history.Read:
			o.version, o.value = version, value
			seen[o.grant] = value
			fence = max(fence, o.token)
		case history.Write:
			o.value = seen[o.grant] + 1
			if c.Fenced && o.token < fence {
				o.refused = true
				continue
			}
			fence = max(fence, o.token)
			o.replace = version
			version++
			value = o.value
			o.version = version
		}
	}
}

// history writes the events down.
func (c Sim) history(ops []*simOp, grants []*simGrant) *history.History {
	h := &history.History{Keys: []string{"k0"}, Header: history.Header{Format: history.FormatVersion, Seed: 7,
		Lock: "redis-setnx", Service: "redis",
		Workload: "counter", Guard: "none", Fault: "none", Clients: c.Clients, TTL: 500 * Ms, Duration: c.Duration,
		Claims: history.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release"}, Permits: 1},
		Store:  history.Store{Engine: "sqlite", Fenced: c.Fenced, FenceReads: c.Fenced},
		Needs:  history.Needs{Grants: 20, Handovers: 5},
		Versions: []history.Part{{Name: "lockchaos", Version: "0.1.0"}, {Name: "redis-server", Version: "7.0.15"},
			{Name: "sqlite", Version: "3.50.4"}, {Name: "linux", Version: "6.18.0"}}}}
	if c.Tokens {
		h.Header.Lock, h.Header.Claims.Token = "redis-setnx-fenced", "fencing"
	}
	var events []history.Event
	add := func(e history.Event) { events = append(events, e) }
	add(history.Event{Time: 30 * Ms, Type: history.Mark, Text: history.PhaseRun})
	for _, o := range ops {
		e := history.Event{Op: o.id, Grant: o.grant, Kind: o.kind, Client: o.client, Process: o.client,
			Token: history.NonzeroToken(o.token)}
		in := e
		in.Type, in.Time = history.Invoke, o.start-Ms/20
		add(in)
		out := e
		out.Type, out.Time, out.Start, out.End = history.OK, o.end+Ms/20, o.start, o.end
		out.Version, out.Replaced, out.Value, out.Refused, out.NotHeld = o.version, o.replace, o.value, o.refused,
			o.notHeld
		out.Attempt = o.end - Ms/2
		if o.refused || o.notHeld {
			out.Type, out.Attempt = history.Fail, 0
		}
		add(out)
	}
	id := 0
	for _, g := range grants {
		if !g.frozen {
			continue
		}
		id++
		h.Header.Fault = "pause-holder"
		h.Header.Faults = []history.PlannedFault{{Kind: "pause", Target: "holder", When: "between-read-and-write",
			Text: PlannedPause}}
		f := history.FaultInfo{ID: id, Plan: 1, Kind: "pause", Phase: "begin", Target: "holder",
			When: "between-read-and-write", Clients: []int32{g.acquire.client},
			Holding: g.acquire.id, Injected: true}
		begin := f
		add(history.Event{Time: g.from, Type: history.Fault, Fault: &begin})
		f.Phase, f.From, f.To, f.Bit = "end", g.from, g.thaw, true
		f.Evidence = frozen(g.thaw - g.from)
		add(history.Event{Time: g.thaw + Ms/10, Type: history.Fault, Fault: &f})
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	seq := int64(0)
	for _, o := range ops {
		if o.kind == history.Read || o.kind == history.Write {
			seq++
			events = append(events, history.Event{Time: o.start + Ms/3, Type: history.Ledger, Kind: o.kind, Op: o.id,
				Grant: o.grant, Client: o.client, Token: history.NonzeroToken(o.token),
				Seq: seq, Version: o.version, Replaced: o.replace, Value: o.value, Refused: o.refused})
		}
	}
	end := c.Duration + 100*Ms
	h.Events = append(events, history.Event{Time: end, Type: history.End})
	return h
}

// PlannedPause is the plan's words for the pauses.
const PlannedPause = "for 900ms..920ms, after 400ms, every 300ms"

// frozen is the proof of a pause.
func frozen(ns int64) string { return fmt.Sprintf("state T on 9 of 9 threads, %s", phrase.Span(ns)) }

// verdict says what a checker would say, from what the simulation knows.
func (c Sim) verdict(ops []*simOp, grants []*simGrant) checker.Verdict {
	v := checker.Verdict{Outcome: checker.Pass}
	v.Stats.Grants, v.Stats.Ops, v.Stats.Handovers = int64(len(grants)), int64(len(ops)), int64(len(grants)-1)
	v.Stats.AcquireP50, v.Stats.AcquireP99 = 41*time.Millisecond, 1020*time.Millisecond
	byVersion := map[int64]*simOp{}
	for _, o := range ops {
		if o.kind == history.Write && o.refused {
			v.Stats.Refused++
		} else if o.kind == history.Write {
			v.Stats.Accepted++
			byVersion[o.version] = o
		}
	}
	mutex, fence, lost := checker.PropertyResult{Name: checker.MutualExclusion},
		checker.PropertyResult{Name: checker.UnfencedWrite}, checker.PropertyResult{Name: checker.LostUpdate}
	pauses := checker.FaultStats{Plan: 1, Planned: PlannedPause, Target: "holder", Kind: "pause",
		When: "between-read-and-write", Injected: true, Shortest: 901 * time.Millisecond,
		Longest: 919 * time.Millisecond}
	for _, a := range grants {
		if !a.frozen {
			continue
		}
		pauses.Begun++
		pauses.Evidence = cmp.Or(pauses.Evidence, frozen(a.thaw-a.from))
		mutex.Violations = append(mutex.Violations, a.overlaps(grants, pauses.Begun)...)
		if !a.write.refused {
			v.Stats.Stale++
			victim := byVersion[a.write.replace]
			b := grants[slices.IndexFunc(grants, func(g *simGrant) bool { return g.acquire.id == victim.grant })]
			fence.Violations = append(fence.Violations, a.staleWrite(b, victim, pauses.Begun, checker.UnfencedWrite, "stale",
				fmt.Sprintf("the store took version %d of client %d behind version %d of client %d", a.write.version,
					a.acquire.client, victim.version, victim.client)))
			lost.Violations = append(lost.Violations, a.staleWrite(b, victim, pauses.Begun, checker.LostUpdate, "",
				fmt.Sprintf("client %d read version %d and replaced version %d, which client %d had written since",
					a.acquire.client, a.read.version, victim.version, victim.client)))
		}
	}
	pauses.Bit, pauses.MetHolder = pauses.Begun, pauses.Begun
	if c.Freezes > 0 {
		v.Stats.Faults, v.Stats.Bites = []checker.FaultStats{pauses}, pauses.MetHolder
	}
	tokens := checker.PropertyResult{Name: checker.TokenOrder, Outcome: checker.NotJudged,
		Why: "this lock issues no fencing token"}
	if c.Tokens {
		tokens = checker.PropertyResult{Name: checker.TokenOrder, Outcome: checker.Pass}
	}
	stuck := checker.PropertyResult{Name: checker.StuckLock, Outcome: checker.Pass,
		Why: "a fresh client acquired k0 within 210 ms"}
	v.Properties = []checker.PropertyResult{mutex, fence, lost, tokens, stuck}
	for i := range v.Properties[:3] {
		countViolations(&v, &v.Properties[i])
	}
	return v
}

// countViolations counts the violations of a property.
func countViolations(v *checker.Verdict, p *checker.PropertyResult) {
	p.Count, p.Outcome = len(p.Violations), checker.Pass
	if p.Count == 0 {
		return
	}
	if p.Name == checker.MutualExclusion {
		p.Kinds = map[string]int{checker.KindLeaseOverrun: p.Count}
	}
	p.Outcome, v.Outcome = checker.Violated, checker.Violated
	v.Severity = max(v.Severity, p.Violations[0].Severity)
}

func (g *simGrant) ref() *checker.GrantRef {
	return &checker.GrantRef{Grant: g.acquire.id, Client: g.acquire.client, Token: history.NonzeroToken(g.acquire.token),
		Acquired: g.acquire.end, LastAct: g.release.start,
		Promise: g.acquire.end + 498*Ms}
}

// overlaps are the double-holds of a grant that went on after a freeze.
func (g *simGrant) overlaps(grants []*simGrant, fault int) (all []checker.Violation) {
	severity := checker.Corrupting
	if g.write.refused {
		severity = checker.Contained
	}
	for _, b := range grants {
		if b == g || b.acquire.end < g.acquire.end || b.acquire.end > g.write.start {
			continue
		}
		to := min(g.write.start, b.release.start)
		all = append(all, checker.Violation{Property: checker.MutualExclusion, Kind: "lease-overrun",
			Severity: severity, Key: "k0",
			At: g.write.start, From: b.acquire.end, To: to, A: g.ref(), B: b.ref(),
			Ops: []int64{g.acquire.id, b.acquire.id, g.write.id}, Faults: []int{fault},
			Text: fmt.Sprintf("client %d and client %d both held k0 from %s to %s", g.acquire.client, b.acquire.client,
				phrase.At(b.acquire.end), phrase.At(to))})
	}
	return all
}

// staleWrite is what the late write of a grant did to b's, the victim.
func (g *simGrant) staleWrite(b *simGrant, victim *simOp, fault int, property, kind, text string) checker.Violation {
	return checker.Violation{Property: property, Kind: kind, Severity: checker.Corrupting, Key: "k0", At: g.write.end,
		A: g.ref(), B: b.ref(), Ops: []int64{g.read.id, victim.id, g.write.id}, Faults: []int{fault}, Text: text}
}
