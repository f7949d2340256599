package survey

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestMeasured: the table of attacks says how many of the libraries fell by each, as their results
// do. By that, exam --budget chooses.
func TestMeasured(t *testing.T) {
	results, err := filepath.Glob(filepath.Join("results", "*.json"))
	if err != nil || len(results) == 0 {
		t.Fatal("no results", err)
	}
	measured := map[string]scenarios.Measured{}
	for _, file := range results {
		r, err := Load(".", strings.TrimSuffix(filepath.Base(file), ".json"))
		if err != nil || r == nil {
			t.Fatal(file, err)
		}
		for _, a := range r.Attacks {
			m := measured[a.Name]
			m.Of++
			if a.Fates[reports.FellDefect.String()] > 0 {
				m.Fell++
			}
			measured[a.Name] = m
		}
	}
	table, err := scenarios.Attacks()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range table.Attacks {
		want := measured[a.Name]
		if want.Fell == 0 {
			want = scenarios.Measured{}
		}
		if a.Survey != want {
			t.Errorf("scenarios/exam/attacks.yaml: %s: survey: {fell: %d, of: %d}, not %+v", a.Name, want.Fell, want.Of, a.Survey)
		}
	}
}
