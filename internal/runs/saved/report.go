package saved

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/reports/page"
)

// Report writes a report of the history into a folder, and returns its page. One of
// another tool is written as a history of ours beside it, so that its witnesses and
// every line that the report names can be looked up. program is how to call lockchaos,
// again the command that judged the history. The events must have been kept.
func (j *Judged) Report(dir, file, program, again string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the report's folder: %w", err)
	}
	out := filepath.Join(dir, runs.HistoryFile)
	if same, err := sameFile(file, out); err != nil {
		return "", err
	} else if !same {
		if err := outside.Write(dir, runs.HistoryFile, j.History.Encode); err != nil {
			return "", err
		}
	}
	sc := j.scenario()
	sc.Recheck, sc.Program = again, program
	if sc.Name == "" {
		sc.Name = filepath.Base(file)
	}
	if j.source != nil {
		sc.About = fmt.Sprintf("judged from %s", filepath.Base(file))
		if len(j.History.Header.Names) == 0 {
			sc.Notes = append(sc.Notes, j.clientNames()...)
		}
	}
	if err := page.WriteFolder(dir, sc); err != nil {
		return "", err
	}
	return filepath.Join(dir, runs.ReportFile), nil
}

// sameFile reports whether two names are of one file, so that a report beside a
// history does not overwrite it.
func sameFile(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, nil // the standard input
	}
	y, err := os.Stat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", b, err)
	}
	return os.SameFile(x, y), nil
}

// mostNames is how many keys, and clients of each, of a foreign history are named in its report.
const mostNames = 20

// clientNames says which names the clients of a foreign history have in their
// own file, key by key: they are numbered on each key by themselves.
func (j *Judged) clientNames() (lines []string) {
	byKey := make([][]string, len(j.History.Keys))
	seen := map[string]bool{}
	for i := range j.History.Events {
		e := &j.History.Events[i]
		if e.Type != history.Invoke || int(e.Key) >= len(byKey) {
			continue
		}
		part := fmt.Sprintf("client %d is %s", e.Client,
			harmless.Line(j.source.Client(j.History.Keys[e.Key], e.Client)))
		if id := fmt.Sprintf("%d %s", e.Key, part); !seen[id] {
			seen[id] = true
			byKey[e.Key] = append(byKey[e.Key], part)
		}
	}
	for k, parts := range byKey[:min(len(byKey), mostNames)] {
		if more := len(parts) - mostNames; more > 0 {
			parts = append(parts[:mostNames:mostNames], fmt.Sprintf("and %d more", more))
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("On %s, %s.", harmless.Line(j.History.Keys[k]),
				strings.Join(parts, ", ")))
		}
	}
	return lines
}
