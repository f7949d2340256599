package checker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// What real locks did under the faults of the catalogue. Each file is the smallest witness
// of one violation in a run of the scenario that it is named after, on real servers.
func TestPatternsOfRealRuns(t *testing.T) {
	folder := filepath.Join("testdata", "patterns")
	list, err := os.ReadFile(filepath.Join(folder, "expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"expected.txt"}
	for line := range strings.Lines(string(list)) {
		want, name, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || want == "#" {
			continue
		}
		known = append(known, name+".jsonl")
		t.Run(name, func(t *testing.T) {
			h, err := history.ReadFile(filepath.Join(folder, name+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			v := Judge(h, Options{})
			r := v.Property(name[strings.LastIndexByte(name, '.')+1:])
			if r == nil || r.Count == 0 {
				t.Fatal("what it is a witness of is not violated")
			}
			if !slices.ContainsFunc(r.Violations, func(x Violation) bool { return x.Pattern == want }) {
				t.Errorf("no violation is %s: %q: %s", want, r.Violations[0].Pattern, r.Violations[0].Text)
			}
		})
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(known, f.Name()) {
			t.Errorf("nobody says what %s shows", f.Name())
		}
	}
}
