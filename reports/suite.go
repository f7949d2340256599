package reports

// Tally counts the scenarios by result.
func (s Suite) Tally() [Failed + 1]int {
	var n [Failed + 1]int
	for _, x := range s.Scenarios {
		n[x.Result()]++
	}
	return n
}

func IsQuiet(fault string) bool { return fault == "" || fault == "none" }
