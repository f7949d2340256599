package runs

import (
	"fmt"
	"path/filepath"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/story"
)

// mostLines is how many lines a test framework shows of the history of an attack that fell.
const mostLines = 10

// attacked tells of an attack that has ended where its page will be, and in a few lines what it
// fell by.
func (s *Run) attacked(sc reports.Scenario) screen.Attacked {
	var told screen.Attacked
	page, err := filepath.Abs(filepath.Join(s.Dir, sc.Dir, ReportFile))
	if err != nil || sc.Skipped != "" {
		return told
	}
	told.Report = page
	h, file, err := ReadHistory(filepath.Dir(filepath.Dir(page)), sc.Dir)
	if err != nil {
		return told // what it came to says that it was not run
	}
	sc.History = h
	v := tellFirst(sc)
	if v == nil {
		return told
	}
	told.Shortest = []string{harmless.Line(v.Property + ": " + v.Text)}
	w, err := witness.Smallest(h, *v, checker.Options{Keep: reports.KeptViolations, KeepDefects: true})
	if err != nil {
		return told
	}
	lines := story.WitnessLines(w)
	if room := mostLines - 1; len(lines) > room {
		whole := fmt.Sprintf("… %d more lines: %s", len(lines)-room+1,
			reports.Shell(s.Settings.Tool.Program, "witness", file, "--property", v.Property))
		lines = append(lines[:room-1:room-1], whole)
	}
	for _, line := range lines {
		told.Shortest = append(told.Shortest, harmless.Line(line))
	}
	return told
}

// tellFirst is the violation by which an attack is told: of its first defect, else as its report
// does.
func tellFirst(sc reports.Scenario) *checker.Violation {
	if own := sc.OwnDefects(); len(own) > 0 {
		if p := sc.Property(reports.DefectProperty(own[0])); p != nil && len(p.Violations) > 0 {
			return p.First()
		}
	}
	return reports.Told(sc)
}
