package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/harness"
)

// ChildLine is one line from the process that runs a scenario to the one that the user started.
type ChildLine struct {
	Progress *harness.Progress `json:"progress,omitempty"`
	Error    string            `json:"error,omitempty"`
}

// readChild passes the lines of a scenario's process on, and returns the error that it told, if any. What is no such line is
// part of a crash, and is returned as that.
func readChild(out io.Reader, progress func(harness.Progress)) error {
	var told error
	d := json.NewDecoder(out)
	for {
		var line ChildLine
		err := d.Decode(&line)
		switch {
		case errors.Is(err, io.EOF):
			return told
		case err != nil:
			rest, _ := io.ReadAll(io.LimitReader(io.MultiReader(d.Buffered(), out), 4096))
			_, _ = io.Copy(io.Discard, out)
			return errors.Join(told, fmt.Errorf("unexpected output of the scenario's process: %.500q", rest))
		case line.Error != "":
			told = errors.New(line.Error)
		case line.Progress != nil:
			progress(*line.Progress)
		}
	}
}
