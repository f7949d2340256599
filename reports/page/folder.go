package page

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/reports"
)

// WriteFolder writes into a scenario's folder what there is to read of it: the smallest
// witness of the first violation of each property, the verdict and the page. s.History
// is what the verdict was found in with KeptViolations; nil where there is none.
func WriteFolder(folder string, s reports.Scenario) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the scenario's folder: %w", err)
	}
	if s.History != nil {
		if err := saveWitnesses(folder, &s, s.History); err != nil {
			return err
		}
		s.Verdict = reports.Relabeled(&s.History.Header, s.Verdict)
	}
	carry(&s, folder)
	if err := outside.Write(folder, reports.VerdictFile,
		func(w io.Writer) error { return reports.WriteVerdict(w, s) }); err != nil {
		return err
	}
	return outside.Write(folder, reports.PageFile, func(w io.Writer) error { return WriteScenario(w, s) })
}

// mostCarried is how long a file may be that a page carries (bytes).
const mostCarried = 16 << 20

// carry takes the plan and the witnesses into the page. What is not there, is not carried.
func carry(s *reports.Scenario, folder string) {
	names := []string{"plan.yaml"}
	for _, w := range s.Witnesses {
		names = append(names, w.File)
	}
	for _, name := range names {
		if data, err := outside.Read(folder, name, mostCarried); err == nil {
			s.Attached = append(s.Attached, reports.Attachment{Name: name, Data: data})
		}
	}
}

// saveWitnesses writes the smallest witness of a violation of each property: of the one that the
// report tells where it tells one of the property, and else of the one to tell first; and notes
// them for the report. What can't be reduced is no error of the run: the whole history is there.
func saveWitnesses(folder string, s *reports.Scenario, h *history.History) error {
	told := reports.Told(*s)
	for i := range s.Verdict.Properties {
		p := &s.Verdict.Properties[i]
		v := p.First()
		if v == nil {
			continue
		}
		if told != nil && told.Property == p.Name {
			v = told
		}
		w, err := witness.Smallest(h, *v, checker.Options{Keep: reports.KeptViolations})
		if err != nil {
			continue
		}
		file := reports.WitnessFile(p.Name)
		if err := outside.Write(folder, file, w.Encode); err != nil {
			return err
		}
		s.Witnesses = append(s.Witnesses, noteWitness(s, v, w, folder, file))
	}
	return nil
}

// noteWitness says of a witness what a report tells of it.
func noteWitness(s *reports.Scenario, v *checker.Violation, w witness.Witness, folder, file string) reports.Witness {
	note := reports.Witness{Property: v.Property, At: v.At, File: file, Ops: w.Ops(), Kept: w.Kept(),
		Of: s.Verdict.Stats.Ops, Minimal: w.Minimal}
	if s.Program != "" {
		note.Recheck = reports.Shell(s.Program, "check", filepath.Join(folder, file))
	}
	return note
}
