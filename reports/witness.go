package reports

import "github.com/lockchaos/lockchaos/checker"

// Witness is a history of its own that shows one violation of a property with
// as few ops as possible.
type Witness struct {
	Property string `json:"property"`
	// At is the violation's instant (checker.Violation.At).
	At int64 `json:"at_ns"`
	// File is its name in the scenario's folder.
	File string `json:"file"`
	// Ops is how many ops it has, Of how many the whole history has.
	Ops int   `json:"ops"`
	Of  int64 `json:"of"`
	// Kept are the numbers of its ops.
	Kept []int64 `json:"kept,omitempty"`
	// Minimal reports whether none of them can be spared.
	Minimal bool `json:"minimal"`
	// Recheck is the command that judges it.
	Recheck string `json:"recheck,omitempty"`
}

// Told returns the violation that a report of the scenario tells first; nil
// where nothing is violated. It is a pointer into the scenario's verdict.
func Told(s Scenario) *checker.Violation {
	if s.History == nil {
		return MainViolation(s, nil)
	}
	return MainViolation(s, NewRecord(s.History, s.Verdict))
}

// WitnessOf returns the witness of a violation; nil where there is none.
func (s Scenario) WitnessOf(v *checker.Violation) *Witness {
	for i := range s.Witnesses {
		if w := &s.Witnesses[i]; v != nil && w.Property == v.Property && w.At == v.At && len(w.Kept) > 0 {
			return w
		}
	}
	return nil
}

// Keeps are the witness's ops as a set.
func (w *Witness) Keeps() map[int64]bool {
	if w == nil {
		return nil
	}
	kept := map[int64]bool{}
	for _, id := range w.Kept {
		kept[id] = true
	}
	return kept
}
