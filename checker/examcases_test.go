package checker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// examCases are small histories of locks that were examined as a stranger's, on which the judge
// was once wrong, with all violations that are right: the property, its kind if it has one, and
// whose affair it is. An assumed order is said with it.
var examCases = map[string][]string{
	"reset-grace.a-soon":               {"mutual-exclusion lease-overrun inherent"},
	"reset-grace.b-late":               {"mutual-exclusion lease-overrun inherent"},
	"reset-grace.c-late-after-another": {"mutual-exclusion lease-overrun inherent"},
	"reset-grace.d-late-no-grace":      {"mutual-exclusion granted-while-valid defect"},

	"late-release-blamed.with-a-late-release": {"mutual-exclusion granted-while-valid defect"},
	"late-release-blamed.without":             {"mutual-exclusion granted-while-valid defect"},

	"unstamped-overrun.asks-after":  {"mutual-exclusion lease-overrun inherent"},
	"unstamped-overrun.asks-before": {"mutual-exclusion lease-overrun inherent assumed"},

	// The stuck key is the witness's alone: the grants before are left out. See package witness.
	"never-told.waited-before": {"mutual-exclusion late-notice defect", "lost-update harm", "stuck-lock asleep defect"},
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
					words := []string{r.Name, v.Kind, map[Blame]string{Defect: "defect", Unclear: "unclear", Inherent: "inherent",
						Harm: "harm"}[v.Blame()]}
					if v.Assumed {
						words = append(words, "assumed")
					}
					got = append(got, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
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
