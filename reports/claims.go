package reports

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// TimesRepeated says how often something was done twice; empty when nothing was.
func TimesRepeated(s Scenario) string {
	n := s.Count(checker.DuplicateEffect)
	if n == 0 {
		return ""
	}
	what, did, again := "effect", "was repeated", "were repeated"
	switch s.Noted().workload {
	case "payment":
		what, did, again = "order", "was charged twice", "were charged twice"
	case "leader":
		what, did, again = "tick", "ran twice", "ran twice"
	}
	if n == 1 {
		return "1 " + what + " " + did
	}
	return phrase.Plural(n, what) + " " + again
}
