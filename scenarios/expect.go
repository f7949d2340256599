package scenarios

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
)

// Observed is what a run showed of one property.
type Observed struct {
	Property, Outcome string
	// Kinds are those of the double-holds, where mutual-exclusion is violated.
	Kinds []string
}

// Compared is an expectation beside what was observed.
type Compared struct {
	Property string // or "severity"
	Want     string // "pass", "violated", "not judged", "any", "lease-overrun", "pass or not judged"
	Got      string
	Met      bool
}

// unnamed is what is expected of a property that a scenario does not name.
const unnamed = "pass or not judged"

// anyOutcome is for a property that a scenario is not about: nothing is expected of it.
const anyOutcome = "any"

// overrunOutcome is for mutual-exclusion, where theory allows what is inherent to leases, and nothing that is a defect of the lock: it passes, or every double-hold
// is a lease-overrun, or of a kind that is not certain.
const overrunOutcome = checker.KindLeaseOverrun

// inherent tells whether what was observed is no more than that.
func (o Observed) inherent() bool {
	if o.Outcome != "violated" {
		return o.Outcome == "pass" || o.Outcome == "not judged"
	}
	return len(o.Kinds) > 0 && !slices.ContainsFunc(o.Kinds, func(kind string) bool { return kind != overrunOutcome && kind != checker.KindUnexplained })
}

// Compare sets the expectations beside what was observed, in the order of the observations; the severity comes last. An
// inconclusive outcome meets no expectation, where there is one.
func (e Expect) Compare(seen []Observed, severity string) []Compared {
	var out []Compared
	for _, o := range seen {
		c := Compared{Property: o.Property, Want: unnamed, Got: o.Outcome}
		if want, named := e.Properties[o.Property]; named {
			c.Want = want
			c.Met = o.Outcome == want || want == anyOutcome || want == overrunOutcome && o.inherent()
		} else {
			c.Met = o.Outcome == "pass" || o.Outcome == "not judged"
		}
		out = append(out, c)
	}
	if e.Severity != "" {
		out = append(out, Compared{Property: "severity", Want: e.Severity, Got: severity, Met: severity == e.Severity})
	}
	return out
}

// Met tells whether every expectation was met.
func Met(all []Compared) bool {
	for _, c := range all {
		if !c.Met {
			return false
		}
	}
	return true
}
