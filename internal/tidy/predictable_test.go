package tidy_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// predictable is a file or folder among the temporary files of all users
	// whose name is known before: another user can make it first.
	predictable = regexp.MustCompile(`(?:/tmp|\$\{?TMPDIR(?::-/tmp)?\}?)/[\w.-]+|os\.TempDir\(\), "[^"]*"\)|mktemp -u`)
	// harmlessName are names that end in what is drawn, those that Java makes
	// itself, and what lies in a file system of its own.
	harmlessName = regexp.MustCompile(`-[0-9]{6,}$|^/tmp/hsperfdata|^/tmp/escaped$`)
)

// TestHostileTemporaryNames: nothing that users run, or that the docs tell them
// to run, uses a predictable name among the temporary files.
func TestHostileTemporaryNames(t *testing.T) {
	t.Chdir(root)
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == ".git" || name == "node_modules" || name == "bin" || path == "runs" || path == "build"):
			return filepath.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go") || !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return err // recorded histories
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		for _, name := range predictable.FindAllString(string(text), -1) {
			if !harmlessName.MatchString(name) {
				t.Errorf("%s: %s: others can make it first; use mktemp, or the user's cache", path, name)
			}
		}
		return nil
	})
	if err != nil || seen < 500 {
		t.Errorf("%d files were looked at: %v", seen, err)
	}
}

// TestHostileCurator: the adapter in Java runs no class from a folder in which others can write.
func TestHostileCurator(t *testing.T) {
	t.Chdir(root)
	for _, tool := range []string{"sh", "flock", "find"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("curator.sh needs ", tool)
		}
	}
	bin := t.TempDir()
	for name, script := range map[string]string{"javac": "#!/bin/sh\n", "java": "#!/bin/sh\necho \"runs $*\"\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cache := t.TempDir()
	script := func() (string, error) {
		cmd := exec.Command("sh", "examples/java/curator.sh")
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	folder := filepath.Join(cache, "lockchaos", "java", "CuratorLock")
	if said, err := script(); err != nil || !strings.Contains(said, "-cp "+folder) {
		t.Fatalf("%v: %s", err, said)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	refused := func(how string) {
		t.Helper()
		if said, err := script(); err == nil || strings.Contains(said, "runs ") || !strings.Contains(said, "is not your own alone") {
			t.Errorf("%s: %v: %s", how, err, said)
		}
	}
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		refused("others can write into " + dir)
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(folder, 12345, -1); err != nil {
			t.Fatal(err)
		}
		refused("it is another user's")
	}
}
