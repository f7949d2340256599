package experiments

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/reports/terminal"
)

// Rerun carries a run out, and sets what came out beside what had come out
// before. Its error carries the exit status.
func Rerun(ctx context.Context, saved *Saved, now *runs.Run) error {
	out := now.Screen
	suite, unwritten, err := now.Through(ctx)
	if err != nil {
		return err
	}
	dir := now.Dir
	c := studies.Compare(saved.Suite, suite)
	if err := terminal.ComparisonText(out.Out, c, out.Color); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	for _, x := range suite.Scenarios {
		if x.Failed != "" {
			harmless.Fprintf(out.Out, "%s failed: %s\n  logs: %s\n", x.Name,
				harmless.Block(strings.TrimSpace(x.Failed), "  "), filepath.Join(dir, x.Dir, reports.LogFolder))
			unwritten = errors.Join(unwritten, fmt.Errorf("%s failed", x.Name))
		}
	}
	otherwise, err := sameBytes(saved, now, suite)
	unwritten = errors.Join(unwritten, err)
	harmless.Fprintf(out.Out, "report: %s\n", reports.There(filepath.Join(dir, reports.IndexFile)))
	if otherwise {
		return exit.With(exit.Violated, unwritten)
	}
	return exit.Ended(differs(c, studies.Worse, studies.Better, studies.Decided), unwritten, ctx.Err() != nil)
}

// differs is the exit status of a comparison: Violated where a verdict has changed in one of the
// ways, Inconclusive where one is no longer decided.
func differs(c studies.Comparison, ways ...studies.Change) int {
	switch {
	case c.Count(ways...) > 0:
		return exit.Violated
	case c.Count(studies.Undecided) > 0:
		return exit.Inconclusive
	}
	return exit.OK
}

// sameBytes compares the histories of simulated scenarios, which repeat byte for byte, and tells of
// each. It reports whether one differs.
func sameBytes(saved *Saved, now *runs.Run, suite reports.Suite) (differs bool, err error) {
	for i, p := range saved.Plans {
		if p.Simulation == nil || i >= len(suite.Scenarios) || suite.Scenarios[i].Failed != "" {
			continue
		}
		was, wasErr := wholeText(saved.Dir, saved.Suite.Scenarios[i].Dir)
		is, isErr := wholeText(now.Dir, suite.Scenarios[i].Dir)
		if err := errors.Join(wasErr, isErr); err != nil {
			return differs, err
		}
		name := suite.Scenarios[i].Name
		if bytes.Equal(was, is) {
			harmless.Fprintf(now.Screen.Out, "%s: the same history, byte for byte: %d bytes, SHA-256 %.12x\n", name,
				len(is), sha256.Sum256(is))
			continue
		}
		differs = true
		harmless.Fprintf(now.Screen.Out,
			"%s: another history (%d bytes, it was %d): a simulation must repeat, so this is a defect in lockchaos itself; please report it\n", name, len(is), len(was))
	}
	return differs, nil
}

// wholeText is what the file of a scenario's history holds, compressed or not.
func wholeText(dir, within string) ([]byte, error) {
	f, err := runs.OpenHistory(dir, within)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	plain, err := history.Decompressed(bufio.NewReader(f), f.Name())
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return text, nil
}
