package harness

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSimulatorHashCovers: the hash covers each file of the packages that decide what a simulated
// run does, and no test. The patterns of go:embed name them by how they end.
func TestSimulatorHashCovers(t *testing.T) {
	dirs := []string{".", "../hosts/sim", "../../nemesis", "../netfault", "../store", "../../adapter", "../../clients/external",
		"../../history", "../../scenarios"}
	if len(dirs) != len(decisive) {
		t.Fatalf("%d folders for %d packages", len(dirs), len(decisive))
	}
	files := func(from fs.FS, rooms bool) (names []string) {
		t.Helper()
		for _, pattern := range []string{"*.go", "*/*.go"} {
			found, err := fs.Glob(from, pattern)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, found...)
			if !rooms {
				break
			}
		}
		return names
	}
	for i, from := range decisive {
		rooms := i < 2
		want := slices.DeleteFunc(files(os.DirFS(dirs[i]), rooms), func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		if got := files(from, rooms); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: the hash covers\n%q\nand the folder has\n%q", dirs[i], got, want)
		}
	}
	if _, err := fs.Stat(decisive[1], "overlay/net_sim.go.txt"); err != nil {
		t.Error(err)
	}
}
