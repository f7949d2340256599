package reports

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// RepeatReason says why the attack that the scenario made is to be made again, as the rest of a
// sentence; "": what it came to stands. It is made again where nothing follows from it. It is so
// too where the machine itself stalled a client or a node, and it is not clear why the lock fell,
// or it fell by a holder that came too late though no fault holds one up. A defect stands, whatever
// the machine did.
func (s Scenario) RepeatReason() string {
	switch fate := s.Fate(); {
	case fate == NothingFollows && !s.Met:
		return fmt.Sprintf("was inconclusive (%s)", s.grounds(mostDetail))
	case fate == FellUnclear && s.Noted().stalled:
		return fmt.Sprintf("fell while the machine stalled, and it is not clear why (%s)", s.grounds(mostDetail))
	case fate == FellInherent && s.Unhindered && s.Noted().overslept:
		return fmt.Sprintf("fell while the machine stalled, and no fault of it holds a client up (%s)", s.grounds(mostDetail))
	}
	return ""
}

// LeavesOpen reports whether a scenario of a suite left open what was asked of
// it, and showed nothing that it should not have.
func (s Scenario) LeavesOpen() bool {
	return !s.Met && s.Failed == "" && s.Skipped == "" && s.Undecided() &&
		(len(s.Expect) > 0 || s.Result() == Inconclusive)
}

// unclear reports whether a violation of the property leaves open whose affair
// it is. That a client waits for long is no lock's that lets chance decide who
// is next, and does not claim to be fair: then any outcome is expected.
func (s Scenario) unclear(p checker.PropertyResult) bool {
	chance := p.Name == checker.Starvation && slices.ContainsFunc(s.Expect,
		func(e Expectation) bool { return e.Property == p.Name && e.Met })
	return p.Outcome == checker.Violated && p.CountOf(checker.Unclear) > 0 && !chance
}

// Overslept reports whether a scenario of a suite came out otherwise than
// expected by nothing but what no lease prevents, while the machine itself held
// somebody up: a holder that nobody meant to stop outlived its lease.
func (s Scenario) Overslept() bool {
	if !s.Unexpected() {
		return false
	}
	for _, e := range s.Missed() {
		p := s.Property(e.Property)
		if p == nil || p.Outcome != checker.Violated {
			if e.Property == RuleSeverity || e.Undecided(s) {
				continue // it goes by the properties
			}
			return false
		}
		if p.CountOf(checker.Inherent)+p.CountOf(checker.Harm) < p.Count {
			return false
		}
	}
	return s.Noted().overslept
}

// Unshown are the violations that a scenario of a suite expects and has not
// shown, if nothing else about it is unexpected: a violation is a matter of
// moments, and a run without one does not prove that there can be none.
func (s Scenario) Unshown() []string {
	if !s.Unexpected() {
		return nil
	}
	var unshown []string
	for _, e := range s.Missed() {
		switch {
		case e.Property == RuleSeverity: // it goes by the properties
		case e.Want != checker.Violated.String() || e.Got != checker.Pass.String():
			return nil
		default:
			unshown = append(unshown, e.Property)
		}
	}
	return unshown
}

// Convicts reports whether the scenario shows for certain what it should not
// have, also if the harness failed after that.
func (s Scenario) Convicts() bool {
	return s.Verdict.Outcome == checker.Violated &&
		(len(s.Expect) == 0 || slices.ContainsFunc(s.Expect, func(e Expectation) bool {
			p := s.Property(e.Property)
			return !e.Met && p != nil && p.Outcome == checker.Violated
		}))
}

// stalledMeanwhile reports whether something that nobody planned held a client or a node up at the
// time of a violation of the blames: between the first op that proves it, less the lease that a
// stall then may have cost, and its instant.
func (r *Record) stalledMeanwhile(verdict checker.Verdict, blames ...checker.Blame) bool {
	for _, p := range verdict.Properties {
		for _, v := range p.Violations {
			if slices.Contains(blames, v.Blame()) && r.stalledWithin(r.began(v)-r.History.Header.TTL, max(v.At, v.To)) {
				return true
			}
		}
	}
	return false
}

// stalledWithin reports whether a stall that nobody planned shares an instant with [from, to]:
// one of the machine, or the wait of an application for a fault that took long to inject.
func (r *Record) stalledWithin(from, to int64) bool {
	return slices.ContainsFunc(r.Faults, func(f *history.FaultSpan) bool {
		return f.Plan == 0 && f.From <= to && f.To >= from
	})
}

// began is when the first op began that proves the violation; its own instant where none is named.
func (r *Record) began(v checker.Violation) int64 {
	first := v.At
	for _, id := range v.Ops {
		if o := r.Op(id); o != nil {
			first = min(first, o.Start)
		}
	}
	return first
}

// LeftUnclear says, by property, why its violation meets no expectation, if the attack came to
// violations of which it is not clear whose affair they are. It is empty if it came to anything
// else.
func (s Scenario) LeftUnclear() map[string]string {
	why := map[string]string{}
	if s.Fate() != FellUnclear {
		return why
	}
	for _, p := range s.Verdict.Properties {
		if s.unclear(p) {
			why[p.Name] = "It is not clear whose affair the violation is, and what is not clear passes no exam."
		}
	}
	return why
}

// HoldUnclear says of an attack that LeftUnclear holds for its expectations.
func (s *Scenario) HoldUnclear() {
	left := s.LeftUnclear()
	s.Met = s.Met && len(left) == 0
	for i := range s.Expect {
		if e := &s.Expect[i]; e.Met && left[e.Property] != "" {
			e.Want, e.Met, e.Note = checker.Pass.String(), false, left[e.Property]
		}
	}
}
