package cache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileCache: a folder of the cache is the user's own, and nobody else
// can write into it; or it is not used.
func TestHostileCache(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", parent)
	dir, err := Folder("programs")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", folder, info.Mode(), err)
		}
	}
	file := filepath.Join(dir, "server")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		for mode, refused := range map[os.FileMode]bool{0o755: false, 0o775: true, 0o777: true} {
			if err := os.Chmod(folder, mode); err != nil {
				t.Fatal(err)
			}
			_, err := Folder("programs")
			path, found := Find("programs", "server")
			if (err != nil) != refused || (found != nil) != refused || refused != (path == "") {
				t.Errorf("%s of mode %o: %v; found %q, %v", folder, mode, err, path, found)
			}
			if err := os.Chmod(folder, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := Folder("programs"); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
			t.Error(err)
		}
		if _, err := Find("programs", "server"); err == nil {
			t.Error("a server of another user's was found")
		}
	}
	if path, err := Find("programs", "none"); path != "" || err != nil {
		t.Error(path, err)
	}
}

// TestHostileNoHome: without a home there is no cache, which is no mistake of the user's words.
func TestHostileNoHome(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	_, err := Folder("programs")
	if _, ours := errors.AsType[*Error](err); !ours || !strings.Contains(err.Error(), "set XDG_CACHE_HOME") {
		t.Error(err)
	}
	if path, err := Find("programs", "server"); path != "" || err != nil {
		t.Error(path, err)
	}
}
