package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lockchaos/lockchaos/checker"
)

// saved is the form of verdict.json: the scenario, and its result in a word for
// those who read only that.
type saved struct {
	Format int    `json:"lockchaos_verdict"`
	Result Result `json:"result"`
	// Counters is what the counter workload left, where the ledger is whole.
	Counters []Counter `json:"counters,omitempty"`
	Scenario
}

// WriteVerdict writes verdict.json: the scenario with its verdict, without the
// history, for programs to read. Outcomes, severities and the result are words,
// times are nanoseconds since the history's origin, as the names of the fields say.
func WriteVerdict(w io.Writer, s Scenario) error {
	if s.Verdict.Properties == nil {
		// a list, for programs, also where nothing was judged
		s.Verdict.Properties = []checker.PropertyResult{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(saved{1, s.Result(), s.Noted().Counters, s}); err != nil {
		return fmt.Errorf("write verdict of %s: %w", s.Name, err)
	}
	return nil
}

// The files of a scenario's folder that are reports.
const (
	VerdictFile = "verdict.json"
	PageFile    = "report.html"
)

// KeptViolations is how many violations of a property a report keeps with their
// particulars: enough for a page to mark them all in a usual run.
const KeptViolations = 1000

// WitnessFile is the file in a scenario's folder that has the smallest witness
// of a violation of the property.
func WitnessFile(property string) string { return "witness." + property + ".jsonl" }

// WriteFile makes a file from a renderer.
func WriteFile(file string, render func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	if err := errors.Join(render(f), f.Close()); err != nil {
		// half a report is none
		return errors.Join(fmt.Errorf("write %s: %w", file, err), os.Remove(file))
	}
	return nil
}

// IndexFile is the first page of a run, in its folder.
const IndexFile = "index.html"

// There is a path if something is there, and else says that nothing is.
func There(path string) string {
	if _, err := os.Stat(path); err != nil {
		return "none, it could not be written"
	}
	return path
}

// LogFolder is the folder of the logs of all processes, in a scenario's folder.
const LogFolder = "logs"

// Attachment is a file beside the report that the page carries in itself, for
// those to whom only the page is forwarded.
type Attachment struct {
	Name string
	Data []byte
}
