package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/audit"
)

// TestOtherForms: what is not read line by line is refused with a word on how
// it is read: traces, samples, MONITOR, histories, and tables of whole holds.
func TestOtherForms(t *testing.T) {
	records, err := filepath.Glob("../../audit/testdata/records/*")
	if err != nil || len(records) < 20 {
		t.Fatal(len(records), err)
	}
	histories, _ := filepath.Glob("../../audit/testdata/jepsen/*")
	for _, file := range append(records, histories...) {
		refused(t, file, audit.Options{}, "save it to a file, and judge that with check")
	}
	refused(t, "../../audit/testdata/others/k06-job-runs.csv",
		audit.Options{Map: map[string]string{"begin": "started_at", "end": "finished_at"}}, "judge such a table with check")
}

func refused(t *testing.T, file string, o audit.Options, why string) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := Run(t.Context(), in, Settings{Dir: t.TempDir(), Options: o, Out: new(strings.Builder),
		Format: "auto"}); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %v, want %q", file, err, why)
	}
}
