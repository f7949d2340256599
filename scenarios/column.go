package scenarios

import "strings"

// FaultLabel names what the scenario does to the lock, in a few words joined by
// dashes: the fault, if it has one, else "none". No single fault says what a scenario
// with several is about, so such a scenario has the label from its own name.
func (s *Scenario) FaultLabel() string {
	switch {
	case s.Attack != "":
		return s.Attack
	case len(s.Faults) == 0:
		return "none"
	case len(s.Faults) == 1 && len(s.Faults[0].Parts()) == 0:
		return s.Faults[0].Label()
	}
	var about []string
	for _, part := range strings.Split(s.Name, "/") {
		if part != "" && part != s.Lock && part != s.Store.Kind {
			about = append(about, part)
		}
	}
	switch {
	case len(about) > 0:
		return strings.Join(about, "-")
	case len(s.Faults) == 1:
		return s.Faults[0].Label()
	}
	return (&Fault{Together: s.Faults}).Label()
}
