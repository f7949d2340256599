package reports

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/history"
)

// The files of a scenario's folder that are reports.
const (
	VerdictFile = "verdict.json"
	PageFile    = "report.html"
)

// KeptViolations is how many violations of a property a report keeps with their particulars: enough for a page to mark them all in a usual run.
const KeptViolations = 1000

// WriteFolder writes into a scenario's folder what there is to read of it: the smallest witness of the first violation of each property, the verdict and
// the page. s.History is what the verdict was found in with KeptViolations; nil where there is none.
func WriteFolder(folder string, s Scenario) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the scenario's folder: %w", err)
	}
	if s.History != nil {
		if err := saveWitnesses(folder, &s, s.History); err != nil {
			return err
		}
		s.Verdict = Retold(&s.History.Header, s.Verdict)
	}
	s.carry(folder)
	if err := WriteFile(filepath.Join(folder, VerdictFile), func(w io.Writer) error { return WriteVerdict(w, s) }); err != nil {
		return err
	}
	return WriteFile(filepath.Join(folder, PageFile), func(w io.Writer) error { return WriteScenario(w, s) })
}

// carry takes the plan and the witnesses into the page. What is not there, is not carried.
func (s *Scenario) carry(folder string) {
	names := []string{"plan.yaml"}
	for _, w := range s.Witnesses {
		names = append(names, w.File)
	}
	for _, name := range names {
		if data, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
			s.Attached = append(s.Attached, Attachment{Name: name, Data: data})
		}
	}
}

// WitnessFile is the file in a scenario's folder that has the smallest witness of a violation of the property.
func WitnessFile(property string) string { return "witness." + property + ".jsonl" }

// saveWitnesses writes the smallest witness of a violation of each property: of the one that the report tells where it tells one of the property, and
// else of the one to tell first; and notes them for the report. What can't be reduced is no error of the run: the whole history is there.
func saveWitnesses(folder string, s *Scenario, h *history.History) error {
	told := Told(*s)
	for i := range s.Verdict.Properties {
		p := &s.Verdict.Properties[i]
		v := p.First()
		if v == nil {
			continue
		}
		if told != nil && told.Property == p.Name {
			v = told
		}
		w, err := witness.Smallest(h, *v, checker.Options{Keep: KeptViolations})
		if err != nil {
			continue
		}
		file := WitnessFile(p.Name)
		if err := WriteFile(filepath.Join(folder, file), w.Encode); err != nil {
			return err
		}
		s.Witnesses = append(s.Witnesses, noteWitness(s, v, w, folder, file))
	}
	return nil
}

// noteWitness says of a witness what a report tells of it.
func noteWitness(s *Scenario, v *checker.Violation, w witness.Witness, folder, file string) Witness {
	note := Witness{Property: v.Property, At: v.At, File: file, Ops: w.Ops(), Of: s.Verdict.Stats.Ops, Minimal: w.Minimal}
	if s.Program != "" {
		note.Recheck = Shell(s.Program, "check", filepath.Join(folder, file))
	}
	for i := range w.Events {
		if w.Events[i].Type == history.Invoke {
			note.Kept = append(note.Kept, w.Events[i].Op)
		}
	}
	return note
}

// WriteFile makes a file from a renderer.
func WriteFile(file string, render func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	if err := errors.Join(render(f), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", file, err), os.Remove(file)) // half a report is none
	}
	return nil
}
