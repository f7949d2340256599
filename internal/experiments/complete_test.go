package experiments

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
)

// TestBesideAnExam: a search for which there was no time is told as one that is not complete, and
// it decides nothing.
func TestBesideAnExam(t *testing.T) {
	needed.Simulates(t)
	program := own.Program{Go: filepath.Join("..", "harness", "testdata", "locks", "broken"), Service: "redis", TTL: 500 * time.Millisecond}
	met, err := program.Meet(t.Context(), runtimes.Where{Runtime: runtimes.Virtual}, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	x := &Exploring{Tool: runs.NewTool("test", "lockchaos", nil), Lock: met, Seed: 1, For: time.Nanosecond, Cores: 1, Faults: 1,
		Corpus: t.TempDir(), Out: screen.New(&out)}
	told, code, err := x.Beside(t.Context(), runs.Settings{Tool: x.Tool, Out: t.TempDir()}, "again")
	if err != nil || code != exit.Inconclusive {
		t.Fatalf("status %d, %v\n%s", code, err, out.String())
	}
	if !strings.HasPrefix(told.Told, "not complete: 0 % of the schedules were tried") || !strings.Contains(told.Told, "Bounds: 2 clients") ||
		filepath.Base(told.Report) != "complete.html" {
		t.Errorf("%+v", told)
	}
}
