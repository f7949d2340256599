package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The suite random names what the latest run has drawn, beside or without names of other scenarios.
func TestLastFailedTakesDrawnScenarios(t *testing.T) {
	c, err := ours().Choose([]string{"redlock/none/unfenced"}, false)
	if err != nil {
		t.Fatal(err)
	}
	plain, drawn := c.Scenarios[0], c.Scenarios[0]
	drawn.Name = scenarios.RandomPrefix + drawn.Lock
	f := pick.Request{Settings: runs.Settings{Tool: ours(), Out: t.TempDir()}}
	saveUnended(t, f.Out, plain, drawn)
	if f.Last, err = ours().LastFailed(f.Out); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ words, want []string }{
		{nil, []string{plain.Name, drawn.Name}},
		{[]string{pick.Random}, []string{drawn.Name}},
		{[]string{"redlock"}, []string{plain.Name}},
		{[]string{pick.Random, "redlock"}, []string{plain.Name, drawn.Name}},
	} {
		f.Names = x.words
		p, err := f.Plans(t.Context())
		var got []string
		for _, p := range p.Plans {
			got = append(got, p.Scenario.Name)
		}
		if err != nil || !slices.Equal(got, x.want) {
			t.Errorf("%q: %q, %v, want %q", x.words, got, err, x.want)
		}
	}
}

// saveUnended makes a latest run whose scenarios have no verdict: they never ended.
func saveUnended(t *testing.T, parent string, all ...scenarios.Scenario) {
	t.Helper()
	dir := filepath.Join(parent, "one")
	var record runs.Record
	for _, s := range all {
		r := runs.ScenarioRecord{Name: s.Name, Dir: runs.FolderOf(s.Name)}
		record.Scenarios = append(record.Scenarios, r)
		if err := os.MkdirAll(filepath.Join(dir, r.Dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := (scenarios.Plan{Seed: 1, Scenario: s}).Save(filepath.Join(dir, r.Dir, runs.PlanFile)); err != nil {
			t.Fatal(err)
		}
	}
	if err := record.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("one", filepath.Join(parent, runs.LatestLink)); err != nil {
		t.Fatal(err)
	}
}

// A record that is too long is not read into memory, and the error names it.
func TestRecordsAreBounded(t *testing.T) {
	dir := t.TempDir()
	for name, read := range map[string]func() error{
		runs.RecordFile: func() error { _, err := runs.Load(dir); return err },
		runs.RepeatFile: func() error { _, err := runs.LoadRepetition(dir); return err },
		runs.GateFile:   func() error { _, err := reports.ReadGate(dir, runs.GateFile); return err },
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Truncate(file, reports.MostRecord+1); err != nil {
			t.Fatal(err)
		}
		if err := read(); !errors.Is(err, outside.ErrTooLong) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
