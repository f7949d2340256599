package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// The end of a judgement: what was found becomes a verdict.

// Finish ends the sweep and returns the verdict. truncated tells that the
// history was cut: what it shows for certain stands, and nothing passes.
func (s *Sweep) Finish(truncated bool) Verdict {
	s.book.cut = truncated
	s.cycles.unfinished(0, 0, s.book.now)
	for _, k := range s.book.keys {
		for g := k.open.first(); g != nil; g = k.open.first() {
			s.book.end(g, forever)
			g.open = 0
			s.settle(g)
		}
	}
	s.findings.decide(forever)
	s.records.eachOpen(func(o *op) {
		switch {
		case !o.done:
			s.figures.stats.Indefinite++
		case o.definite: // all that an op which was answered can still wait for is its entry
			s.ledger.missing++
		}
	})
	s.jobs.sort()
	s.figures.stopped(&s.jobs)
	for _, p := range properties {
		if p.finish != nil && s.rules.asks(p) {
			p.finish(s, p)
		}
	}
	found := s.findings.total()
	v := Verdict{Truncated: s.book.cut, Reasons: s.reasons()}
	general := len(v.Reasons) > 0
	for _, p := range properties {
		if !p.concerns(&s.rules.Header) {
			continue
		}
		r := s.result(p, &found, general)
		if r.Outcome == Inconclusive && r.Why != "" && !general {
			v.Reasons = append(v.Reasons, r.Name+": "+r.Why)
		}
		v.Properties = append(v.Properties, r)
	}
	v.Stats = s.figures.sum(found.overlapped)
	v.Stats.Faults, v.Stats.Bites = s.faults.stats, s.faults.bites
	v.Stats.Stale = int64(v.Properties[unfencedWrite.place].Count)
	v.Severity = found.severity
	v.Outcome = overall(v)
	v.Patterns = patternGroups(&found)
	return v
}

// overall is the outcome of the whole: a certain violation stands; a pass needs
// that every property that was judged passed.
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

// result judges one property. general tells that the run as a whole proves
// nothing by what it does not show.
func (s *Sweep) result(p *Property, all *tally, general bool) PropertyResult {
	r := PropertyResult{Name: p.Name}
	if why := s.notJudged(p); why != "" {
		r.Outcome, r.Why = NotJudged, why
		return r
	}
	violated, stalled, kinds := all.count(p)
	r.Count, r.Violations, r.Kinds = violated, s.findings.gather(p), kinds
	doubt, short := p.amiss(s.rules.Doubts), s.short(p, stalled)
	switch {
	case violated > 0:
		r.Outcome, r.Why = Violated, doubt
	case doubt != "":
		r.Outcome, r.Why = Inconclusive, doubt
	case short != "":
		r.Outcome, r.Why = Inconclusive, short
	case general:
		r.Outcome, r.Why = Inconclusive,
			"Nothing was found, but the run does not prove that there is nothing: see the reasons."
	default:
		r.Outcome = Pass
		if p.shown != nil {
			r.Why = p.shown(s)
		}
	}
	return r
}

// notJudged says why a property is not judged at all; empty when it is.
func (s *Sweep) notJudged(p *Property) string {
	if why := p.notClaimed(&s.rules.Header); why != "" || p.unmet == nil {
		return why
	}
	return p.unmet(s)
}

// short says what the history lacks to show that a property holds, where
// nothing violates it but what a stall alone explains; empty: nothing.
func (s *Sweep) short(p *Property, stalled int) string {
	if p.short != nil {
		if why := p.short(s); why != "" {
			return why
		}
	}
	switch {
	case stalled == 0:
		return ""
	case p.stalled != nil:
		return p.stalled(stalled)
	}
	return fmt.Sprintf("A stall of this machine, not an injected fault, is all that explains %s.",
		count(stalled, "conflict", "conflicts"))
}

// ledgerShort says what the ledger lacks; empty when it is whole.
func (s *Sweep) ledgerShort() string {
	l := &s.ledger
	open := 0
	s.records.eachOpen(func(o *op) {
		if (o.kind == history.Read || o.kind == history.Write) && !o.ledgered {
			open++
		}
	})
	switch {
	case l.entries == 0 && (l.expected || open > 0):
		return "The store's ledger is missing from the history."
	case l.missing > 0:
		return fmt.Sprintf("The ledger does not reach the end: the store answered %s that it does not have.",
			count(int(l.missing), "op", "ops"))
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
	needs := s.rules.Needs
	if s.book.cut {
		add("The history is truncated: it has no end.")
	}
	for _, u := range s.faults.unproven {
		add("Nothing proves that the injected fault took effect: %s.", u)
	}
	if n := s.faults.unended(); n > 0 && !s.book.cut {
		add("%s never ended in the history, so nothing proves that it took effect.",
			count(n, "An injected fault", "injected faults"))
	}
	if s.figures.stats.Grants < int64(needs.Grants) {
		add("The run made %d grants; a pass needs %d.", s.figures.stats.Grants, needs.Grants)
	}
	if s.figures.stats.Handovers < int64(needs.Handovers) {
		add("Contended hand-overs in the run: %d; a pass needs %d.", s.figures.stats.Handovers, needs.Handovers)
	}
	if s.faults.bites < needs.Bites {
		add("The injected faults met a holder %d times; a pass needs %d.", s.faults.bites, needs.Bites)
	}
	if s.book.strays > 0 {
		add("The history has %s under grants that were over, or that it does not know.",
			count(int(s.book.strays), "act", "acts"))
	}
	if s.book.malformed > 0 {
		add("The history has %s that make no sense (a completion without its invocation, an unknown key).",
			count(int(s.book.malformed), "event", "events"))
	}
	return why
}

// unended counts injected faults that have begun and not ended.
func (fs *faults) unended() int {
	n := 0
	for _, f := range fs.open {
		if f.injected {
			n++
		}
	}
	return n
}
