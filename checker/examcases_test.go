package checker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// examCases are small histories of locks that were examined as a stranger's, on which the judge
// was once wrong, with all violations that are right: the property and its kind, if it has one.
var examCases = map[string][]string{
	"reset-grace.a-soon":               {"mutual-exclusion lease-overrun"},
	"reset-grace.b-late":               {"mutual-exclusion lease-overrun"},
	"reset-grace.c-late-after-another": {"mutual-exclusion lease-overrun"},
	"reset-grace.d-late-no-grace":      {"mutual-exclusion granted-while-valid"},

	"late-release-blamed.with-a-late-release": {"mutual-exclusion granted-while-valid"},
	"late-release-blamed.without":             {"mutual-exclusion granted-while-valid"},

	"unstamped-overrun.asks-after":  {"mutual-exclusion lease-overrun"},
	"unstamped-overrun.asks-before": {"mutual-exclusion lease-overrun"},

	// The stuck key is the witness's alone: the grants before are left out. See package witness.
	"never-told.waited-before": {"mutual-exclusion late-notice", "lost-update", "stuck-lock asleep"},
}

func TestExamCases(t *testing.T) {
	files, err := filepath.Glob("testdata/exam/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no histories", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			want, known := examCases[name]
			if !known {
				t.Fatal("nothing says what is right")
			}
			h, err := history.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range Judge(h, Options{}).Properties {
				for _, v := range r.Violations {
					got = append(got, strings.TrimSpace(fmt.Sprint(r.Name, " ", v.Kind)))
					t.Log(v.Text)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	for name := range examCases {
		if _, err := os.Stat(filepath.Join("testdata", "exam", name+".jsonl")); err != nil {
			t.Error(err)
		}
	}
}
