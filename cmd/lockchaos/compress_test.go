package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/synthetic"
)

// recorded writes a history into a folder of its own.
func recorded(t *testing.T) (folder, plain string) {
	t.Helper()
	folder = t.TempDir()
	plain = filepath.Join(folder, runs.HistoryFile)
	if _, err := synthetic.WriteFile(plain, nil, synthetic.Config{Events: 5000, Clients: 5, Keys: 1, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	return folder, plain
}

// TestCompressHistory: the compressed history takes the place of the plain one,
// holds the same, and is found; a second time changes nothing.
func TestCompressHistory(t *testing.T) {
	folder, plain := recorded(t)
	before, err := history.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	size := sizeOf(t, plain)
	for range 2 {
		if err := runs.CompressHistory(folder); err != nil {
			t.Fatal(err)
		}
		small := runs.HistoryIn(folder)
		if small != plain+history.Compressed {
			t.Fatalf("the history is %s", small)
		}
		after, err := history.ReadFile(small)
		if err != nil || after.Truncated || len(after.Events) != len(before.Events) {
			t.Fatalf("%+v, %v", after, err)
		}
		if got := sizeOf(t, small); got*3 > size {
			t.Errorf("%d bytes of %d", got, size)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
			t.Errorf("%v, %v", left, err)
		}
	}
}

// TestCompressionThatFails leaves the history as it is, and says so.
func TestCompressionThatFails(t *testing.T) {
	folder, plain := recorded(t)
	if err := os.MkdirAll(filepath.Join(plain+history.Compressed, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := runs.CompressHistory(folder); err == nil || !strings.Contains(err.Error(), "which is left as it is") {
		t.Errorf("%v", err)
	}
	if h, err := history.ReadFile(runs.HistoryIn(folder)); err != nil || h.Truncated || runs.HistoryIn(folder) != plain {
		t.Errorf("%s: %v", runs.HistoryIn(folder), err)
	}
	if _, err := os.Stat(filepath.Join(folder, "."+runs.HistoryFile+history.Compressed+".next")); err == nil {
		t.Error("half of a file was left")
	}
}

// TestKilledBetween: a program that died between the two steps has left both, and the
// plain one counts; with none there is nothing to compress.
func TestKilledBetween(t *testing.T) {
	folder, plain := recorded(t)
	if err := os.WriteFile(plain+history.Compressed, []byte("\x28\xb5\x2f\xfd half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := runs.HistoryIn(folder); got != plain {
		t.Errorf("the history is %s", got)
	}
	if err := runs.CompressHistory(folder); err != nil {
		t.Fatal(err)
	}
	if h, err := history.ReadFile(runs.HistoryIn(folder)); err != nil || h.Truncated || runs.HistoryIn(folder) == plain {
		t.Errorf("%s: %v", runs.HistoryIn(folder), err)
	}
	if err := runs.CompressHistory(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func sizeOf(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
