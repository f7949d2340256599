package reports

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/lockchaos/lockchaos/internal/outside"
)

// MostRecord is how long the record of a run may be (bytes): run.json,
// gate.json and their like. Ten thousand repetitions fit.
const MostRecord = 32 << 20

// ReadRecord reads the JSON of a run's record, in the run's folder, into a
// value. A file that is too long, or no JSON, is an error that names it.
func ReadRecord(folder, name string, into any) error {
	text, err := outside.Read(folder, name, MostRecord)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(folder, name), err)
	}
	return nil
}
