package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// Finish ends the sweep and returns the verdict. truncated tells that the history was cut: what it shows for certain stands, and nothing
// passes.
func (s *Sweep) Finish(truncated bool) Verdict {
	s.cut = truncated
	for _, k := range s.keys {
		for len(k.open) > 0 {
			g := k.open[0]
			s.end(g, forever)
			g.open = 0
			s.settle(g)
		}
	}
	s.decide(forever)
	s.judgeHerd()
	s.nameGhosts()
	s.eachOpen(func(o *op) {
		switch {
		case !o.done:
			s.stats.Indefinite++
		case o.definite: // all that an op which was answered can still wait for is its entry
			s.ledger.missing++
		}
	})
	s.stats.AcquireP50, s.stats.AcquireP99 = s.times[timeWait].quantile(0.50), s.times[timeWait].quantile(0.99)
	s.stats.Timings, s.stats.Overlapped = s.timings(), rateOf(s.overlappedGrants(), s.stats.Grants)
	s.stats.Faults, s.stats.Bites = s.faultStats, s.biteCount
	v := Verdict{Truncated: s.cut, Reasons: s.reasons()}
	general := len(v.Reasons) > 0
	for p := range propertyCount {
		r := s.result(p, general)
		if r.Outcome == Inconclusive && r.Why != "" && !general {
			v.Reasons = append(v.Reasons, r.Name+": "+r.Why)
		}
		v.Properties = append(v.Properties, r)
	}
	s.stats.Stale = int64(v.Properties[unfencedWrite].Count)
	v.Stats = s.stats
	for _, k := range s.keys {
		v.Severity = max(v.Severity, k.tally[s.reading(k)].severity)
	}
	v.Outcome = overall(v)
	v.Patterns = s.patternGroups()
	return v
}

// overall is the outcome of the whole: a certain violation stands; a pass needs that every property that was judged passed.
func overall(v Verdict) Outcome {
	passed := 0
	outcome := Pass
	for _, r := range v.Properties {
		switch r.Outcome {
		case Violated:
			return Violated
		case Inconclusive:
			outcome = Inconclusive
		case Pass:
			passed++
		}
	}
	if len(v.Reasons) > 0 || passed == 0 {
		return Inconclusive
	}
	return outcome
}

// result judges one property. general tells that the run as a whole proves nothing by what it does not show.
func (s *Sweep) result(p int, general bool) PropertyResult {
	r := PropertyResult{Name: propertyNames[p]}
	if why := s.notJudged(p); why != "" {
		r.Outcome, r.Why = NotJudged, why
		return r
	}
	r.Count, r.Violations = s.gather(p)
	if p == mutualExclusion && r.Count > 0 {
		r.Kinds = s.kindsOf()
	}
	outcome, why := s.shownAbsent(p)
	doubt := s.header.Doubts[r.Name]
	r.Why = why
	switch {
	case r.Count > 0:
		r.Outcome, r.Why = Violated, doubt
	case doubt != "":
		r.Outcome, r.Why = Inconclusive, doubt
	case outcome == Inconclusive:
		r.Outcome = Inconclusive
	case general:
		r.Outcome, r.Why = Inconclusive, "Nothing was found, but the run does not prove that there is nothing: see the reasons."
	default:
		r.Outcome = Pass
	}
	return r
}

// notJudged says why a property is not judged at all; empty when it is.
func (s *Sweep) notJudged(p int) string {
	if why := s.notClaimed(p); why != "" {
		return why
	}
	store := s.header.Store.Engine != "" || s.ledger.entries > 0
	switch {
	case (p == unfencedWrite || p == lostUpdate || p == duplicateEffect) && !store:
		return "The run had no protected resource."
	case p == continuity && s.judged.asked == 0:
		return "No client asked the lock whether it still held."
	case p == deadlock && !s.judged.crossing:
		return "No client asked for a key while it had another."
	}
	return ""
}

// shownAbsent says whether what was recorded could show that a property holds, where no violation was found.
func (s *Sweep) shownAbsent(p int) (Outcome, string) {
	excused := 0 // what would have been violations, but for a stall that alone explains them
	for _, k := range s.keys {
		excused += k.tally[s.reading(k)].stallOnly[p]
	}
	switch p {
	case stuckLock:
		return s.stuckOutcome()
	case unfencedWrite, lostUpdate, duplicateEffect:
		if why := s.ledgerShort(); why != "" {
			return Inconclusive, why
		}
	case tokenOrder:
		if !s.tokensSeen {
			return Inconclusive, "No grant carried a token, although the lock declares fencing tokens."
		}
	case continuity:
		if s.judged.confirmations == 0 {
			return Inconclusive, "No answer confirmed a hold."
		}
	case deadGrant:
		if s.judged.leases == 0 {
			return Inconclusive, "No grant told when the attempt that succeeded began."
		}
		if excused > 0 {
			return Inconclusive, fmt.Sprintf("%s only after the lease, which a stall of this machine alone explains, not an injected fault.",
				count(excused, "acquire returned", "acquires returned"))
		}
	case fifo:
		if s.judged.enqueued == 0 {
			return Inconclusive, "No grant told when its waiter was enqueued, although the lock declares to be fair."
		}
	case herd:
		return s.herdOutcome()
	}
	if excused > 0 {
		return Inconclusive, fmt.Sprintf("A stall of this machine, not an injected fault, is all that explains %s.", count(excused, "conflict", "conflicts"))
	}
	return Pass, ""
}

// eachOpen calls f for every op that is not finished.
func (s *Sweep) eachOpen(f func(*op)) {
	s.numbers.each(func(p *page) { p.each(f) })
}

// ledgerShort says what the ledger lacks; empty when it is whole.
func (s *Sweep) ledgerShort() string {
	l := &s.ledger
	open := 0
	s.eachOpen(func(o *op) {
		if (o.kind == history.Read || o.kind == history.Write) && !o.ledgered {
			open++
		}
	})
	switch {
	case l.entries == 0 && (l.expected || open > 0):
		return "The store's ledger is missing from the history."
	case l.missing > 0:
		return fmt.Sprintf("The ledger does not reach the end: the store answered %s that it does not have.", count(int(l.missing), "op", "ops"))
	case open > 0 && l.mark < l.lastInvoked:
		return fmt.Sprintf("The ledger does not reach the end, so the fate of %s is open.", count(open, "op", "ops"))
	case l.holes > 0:
		return fmt.Sprintf("The ledger has %s in its numbering.", count(int(l.holes), "gap", "gaps"))
	case l.orphans > 0:
		return fmt.Sprintf("The ledger has %s under grants that the history does not know, or that were long over.",
			count(int(l.orphans), "entry", "entries"))
	}
	return ""
}

// reasons says in full sentences why the run as a whole proves nothing by what it does not show.
func (s *Sweep) reasons() []string {
	var why []string
	add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	needs := s.header.Needs
	if s.cut {
		add("The history is truncated: it has no end.")
	}
	for _, name := range s.toothless {
		add("Nothing proves that the injected fault took effect: %s.", name)
	}
	if n := s.unended(); n > 0 && !s.cut {
		add("%s never ended in the history, so nothing proves that it took effect.", count(n, "An injected fault", "injected faults"))
	}
	if s.stats.Grants < int64(needs.Grants) {
		add("The run made %d grants; a pass needs %d.", s.stats.Grants, needs.Grants)
	}
	if s.stats.Handovers < int64(needs.Handovers) {
		add("Contended hand-overs in the run: %d; a pass needs %d.", s.stats.Handovers, needs.Handovers)
	}
	if s.biteCount < needs.Bites {
		add("The injected faults met a holder %d times; a pass needs %d.", s.biteCount, needs.Bites)
	}
	if s.strays > 0 {
		add("The history has %s under grants that were over, or that it does not know.", count(int(s.strays), "act", "acts"))
	}
	if s.malformed > 0 {
		add("The history has %s that make no sense (a completion without its invocation, an unknown key).", count(int(s.malformed), "event", "events"))
	}
	return why
}

// unended counts injected faults that have begun and not ended.
func (s *Sweep) unended() int {
	n := 0
	for _, f := range s.faults {
		if f.injected {
			n++
		}
	}
	return n
}
