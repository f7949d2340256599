package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
)

// TestFullDisk ends a run on a disk without room: its record has room that was
// reserved, and says that it has ended.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("no file system of a given size can be mounted here:", err)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	r := runs.Record{Suite: "mine", Scenarios: []runs.ScenarioRecord{{Name: "a", State: runs.StateRunning}}}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	runs.Reserve(dir, 1)
	if err := os.WriteFile(filepath.Join(dir, "history.jsonl"), make([]byte, 1<<20), 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	r.Scenarios[0].State, r.Scenarios[0].Failed = runs.StateEnded, strings.Repeat("no room ", 2000)
	if err := r.Save(dir); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := r.SaveAtLast(dir); err != nil {
		t.Fatal(err)
	}
	if saved, err := runs.Load(dir); err != nil || saved.Scenarios[0].State != runs.StateEnded {
		t.Errorf("%+v, %v", saved, err)
	}
	all, _ := os.ReadDir(dir)
	if len(all) != 2 {
		t.Errorf("left: %v", all)
	}
}

// TestNothingIsNamedThatIsNotThere concludes a run of which nothing could be written.
func TestNothingIsNamedThatIsNotThere(t *testing.T) {
	run := &runs.Record{Suite: "mine", Command: "lockchaos run mine",
		Scenarios: []runs.ScenarioRecord{{Name: "a", Dir: "a", Failed: "no space left on device"}}}
	dir := t.TempDir()
	suite := run.Together([]runs.Judged{ours().JudgeScenario(dir, run.Scenarios[0], run)})
	var out bytes.Buffer
	_ = runs.Summarize(&out, dir, suite, false, false)
	if text := out.String(); strings.Contains(text, dir) || !strings.Contains(text, "again: lockchaos run mine\n") ||
		strings.Contains(text, "again: \n") {
		t.Error(text)
	}
	failing := filepath.Join(dir, "report.html")
	if err := reports.WriteFile(failing, func(io.Writer) error { return unix.ENOSPC }); !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	if _, err := os.Stat(failing); !os.IsNotExist(err) {
		t.Error("half a report is left")
	}
}

// TestInterruptedSaysWhatItWaitsFor interrupts a run before it begins.
func TestInterruptedSaysWhatItWaitsFor(t *testing.T) {
	t.Chdir(t.TempDir())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := execute(over, []string{"run", "redis-setnx/none/unfenced"}, &out, &errs); code != exit.Failed ||
		!strings.Contains(out.String(), "interrupted: ") {
		t.Errorf("%d\n%s%s", code, out.String(), errs.String())
	}
}
