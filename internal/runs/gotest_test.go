package runs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestPutAside: a try whose folder is the run's leaves all but the run's record
// to its own folder, and no try takes another along.
func TestPutAside(t *testing.T) {
	s := &Run{Dir: t.TempDir()}
	names := func(dir string) (all []string) {
		entries, err := os.ReadDir(filepath.Join(s.Dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	kept, left := []string{reserveFile, RecordFile}, []string{HistoryFile, PlanFile}
	for try := 1; try <= 2; try++ {
		for _, name := range slices.Concat(kept, left) {
			if err := os.WriteFile(filepath.Join(s.Dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.putAside(runFolder, try); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := names(""), slices.Concat(kept, []string{"try1", "try2"}); !slices.Equal(got, want) {
		t.Errorf("the run's folder has %v, want %v", got, want)
	}
	for _, try := range []string{"try1", "try2"} {
		if got := names(try); !slices.Equal(got, left) {
			t.Errorf("%s has %v, want %v", try, got, left)
		}
	}
}
