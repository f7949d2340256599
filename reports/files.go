package reports

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/checker"
)

// saved is the form of verdict.json: the scenario, and its result in a word for those who read only that.
type saved struct {
	Format int    `json:"lockchaos_verdict"`
	Result Result `json:"result"`
	// Counters is what the counter workload left, where the ledger is whole.
	Counters []Counter `json:"counters,omitempty"`
	Scenario
}

// WriteVerdict writes verdict.json: the scenario with its verdict, without the history, for programs to read. Outcomes,
// severities and the result are words, times are nanoseconds since the history's origin, as the names of the fields say.
func WriteVerdict(w io.Writer, s Scenario) error {
	if s.Verdict.Properties == nil {
		s.Verdict.Properties = []checker.PropertyResult{} // a list, for programs, also where nothing was judged
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(saved{1, s.Result(), s.noted().counters, s}); err != nil {
		return fmt.Errorf("write verdict of %s: %w", s.Name, err)
	}
	return nil
}
