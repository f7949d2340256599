package reports

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// alone is the headline of a run in which nobody held a key at the same time as another, by the violation that is told.
func alone(s Scenario, v *checker.Violation) string {
	words := checker.Named(v.Property).Words
	if s.count(v.Property) == 1 {
		return words.Once
	}
	return words.More
}

// repeated says how often something was done twice; empty when nothing was.
func repeated(s Scenario) string {
	n := s.count(checker.DuplicateEffect)
	if n == 0 {
		return ""
	}
	what, did, again := "effect", "was repeated", "were repeated"
	switch s.noted().workload {
	case "payment":
		what, did, again = "order", "was charged twice", "were charged twice"
	case "leader":
		what, did, again = "tick", "ran twice", "ran twice"
	}
	if n == 1 {
		return "1 " + what + " " + did
	}
	return plural(n, what) + " " + again
}

// unlocked tells whether there is no lock: nothing claims that clients exclude each other.
func unlocked(h *history.Header) bool { return h != nil && h.Claims.Permits == 0 }

// excluded tells whether it was judged, and found, that clients exclude each other.
func (s Scenario) excluded() bool {
	p := s.property(checker.MutualExclusion)
	return p != nil && p.Outcome == checker.Pass
}
