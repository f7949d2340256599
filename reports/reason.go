package reports

// Reason says in a sentence or two why a scenario failed, was skipped, was left open, or is not as expected. It is "" where a scenario came out as it should, and where a violation speaks
// for itself.
func (s Scenario) Reason() string {
	if s.Met && s.Judged() {
		return ""
	}
	return tellTrouble(s).Why
}
