package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// TestThenLocal: what the simulation finds in a lock that everybody is granted shows on a real
// Redis too, in runs whose folder is their own; the plan says so, and run says it again.
func TestThenLocal(t *testing.T) {
	needed.Simulates(t)
	if !sandboxed(t) {
		t.Skip("no sandbox here")
	}
	t.Setenv(runs.InterpretVar, "1") // compiling takes longer than the test
	decided.Run(t, func() { thenLocal(t) })
}

func thenLocal(t *testing.T) {
	dir := t.TempDir()
	plan := filepath.Join(dir, "found.yaml")
	none := filepath.Join("..", "..", "internal", "harness", "testdata", "locks", "none")
	for _, words := range [][]string{
		{"explore", "--lock-go", none, "--seed", "1", "--length", "2s", "--write", plan},
		{"run", "--plan", plan, "--runtime", "sim"},
	} {
		var out, errs bytes.Buffer
		words = append(words, "--then", "local", "--tries", "2", "--out", filepath.Join(dir, words[0]))
		if got := execute(t.Context(), words, &out, &errs); got != exit.Violated {
			t.Fatalf("exit status %d\n%s%s", got, &out, &errs)
		}
		if said := out.String(); !strings.Contains(said, "mutual-exclusion: shown on a real redis in 2 of 2 tries") {
			decided.Lacks("a real Redis that shows it in 2 of 2 tries:\n%s", said)
		}
	}
	text, err := os.ReadFile(plan)
	if err != nil || !strings.Contains(string(text), "shown on a real redis in 2 of 2 tries") {
		t.Errorf("%v\n%s", err, text)
	}
	real, err := runs.LoadRepetition(filepath.Join(dir, "explore", runs.LatestLink))
	if err != nil || real == nil || len(real.Runs) != 2 || !strings.HasPrefix(real.Runtime, "private network") {
		t.Errorf("%v, %+v", err, real)
	}
}
