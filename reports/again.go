package reports

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
)

// Again says why the attack that the scenario made is to be made again, as the rest of a sentence;
// "": what it came to stands. That is so where nothing follows from it, and where it fell, it is
// not clear why, and the machine itself stalled a client or a node meanwhile. A fall that is
// certain stands, whatever the machine did.
func (s Scenario) Again() string {
	switch fate := s.Fate(); {
	case fate == NothingFollows && !s.Met:
		return fmt.Sprintf("was inconclusive (%s)", s.grounds())
	case fate == FellUnclear && s.noted().stalled:
		return fmt.Sprintf("fell while the machine stalled, and it is not clear why (%s)", s.grounds())
	}
	return ""
}

// LeavesOpen reports whether a scenario of a suite left open what was asked of it, and showed nothing that it should not have.
func (s Scenario) LeavesOpen() bool {
	return !s.Met && s.Failed == "" && s.Skipped == "" && s.Undecided() && (len(s.Expect) > 0 || s.Result() == Inconclusive)
}

// unclear reports whether a violation of the property leaves open whose affair it is.
func unclear(p checker.PropertyResult) bool {
	return p.Outcome == checker.Violated && p.CountOf(checker.Unclear) > 0
}

// stalledMeanwhile reports whether the machine stalled a client or a node at the time of a
// violation of which it is not clear whose affair it is: between the first op that proves it, less
// the lease that a stall then may have cost, and its instant.
func (r *record) stalledMeanwhile(verdict checker.Verdict) bool {
	for _, p := range verdict.Properties {
		if !unclear(p) {
			continue
		}
		for _, v := range p.Violations {
			if v.Blame() == checker.Unclear && r.stalledWithin(r.began(v)-r.h.Header.TTL, max(v.At, v.To)) {
				return true
			}
		}
	}
	return false
}

// stalledWithin reports whether a stall that nobody injected shares an instant with [from, to].
func (r *record) stalledWithin(from, to int64) bool {
	return slices.ContainsFunc(r.faults, func(f *fault) bool {
		return !f.Injected && f.From <= to && f.To >= from
	})
}

// began is when the first op began that proves the violation; its own instant where none is named.
func (r *record) began(v checker.Violation) int64 {
	first := v.At
	for _, id := range v.Ops {
		if o := r.ops[id]; o != nil {
			first = min(first, o.start)
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
		if unclear(p) {
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
			e.Want, e.Met, e.Note = outcomeWord(checker.Pass), false, left[e.Property]
		}
	}
}
