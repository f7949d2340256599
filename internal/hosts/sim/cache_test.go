package sim

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestShorten: of what takes too much room the oldest goes, whether a file or a folder, and nothing
// that was used a short while ago.
func TestShorten(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		most int64
		left []string
	}{{100, []string{"a", "b", "c", "d"}}, {30, []string{"b", "c", "d"}}, {29, []string{"c", "d"}}, {1, []string{"d"}}} {
		dir := t.TempDir()
		for i, name := range []string{"a", "b", "c", "d"} {
			file := filepath.Join(dir, name)
			if name == "b" {
				file = filepath.Join(dir, name, "deep", "file")
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, make([]byte, 10), 0o644); err != nil {
				t.Fatal(err)
			}
			used := now.Add(time.Duration(i-10) * time.Hour)
			if err := os.Chtimes(filepath.Join(dir, name), used, used); err != nil {
				t.Fatal(err)
			}
		}
		shorten(dir, c.most, now.Add(-7*time.Hour))
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if !slices.Equal(left, c.left) {
			t.Errorf("at most %d bytes: %v is left, want %v", c.most, left, c.left)
		}
	}
}

// TestCacheEntryIsUsed: what is looked for counts as used, so that it is not the oldest.
func TestCacheEntryIsUsed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	entry, err := CacheEntry(Corpora, "mine")
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Mkdir(entry, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(entry, old, old); err != nil {
		t.Fatal(err)
	}
	if again, err := CacheEntry(Corpora, "mine"); err != nil || again != entry {
		t.Fatal(again, err)
	}
	if info, err := os.Stat(entry); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Error("it is as old as before", err)
	}
}
