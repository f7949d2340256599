package scenarios

// Observed is what a run showed of one property.
type Observed struct {
	Property, Outcome string
}

// Compared is an expectation beside what was observed.
type Compared struct {
	Property string // or "severity"
	Want     string // "pass", "violated", "not judged", "any", "pass or not judged"
	Got      string
	Met      bool
}

// unnamed is what is expected of a property that a scenario does not name.
const unnamed = "pass or not judged"

// anyOutcome is for a property that a scenario is not about: nothing is expected of it.
const anyOutcome = "any"

// Compare sets the expectations beside what was observed, in the order of the observations; the severity comes last. An
// inconclusive outcome meets no expectation, where there is one.
func (e Expect) Compare(seen []Observed, severity string) []Compared {
	var out []Compared
	for _, o := range seen {
		c := Compared{Property: o.Property, Want: unnamed, Got: o.Outcome}
		if want, named := e.Properties[o.Property]; named {
			c.Want = want
			c.Met = o.Outcome == want || want == anyOutcome
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
