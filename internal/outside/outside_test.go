package outside_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/outside"
)

// ground is a folder "in", beside which lies a file "out".
func ground(t *testing.T) (in, out string) {
	t.Helper()
	parent := t.TempDir()
	in, out = filepath.Join(parent, "in"), filepath.Join(parent, "out")
	for _, err := range []error{os.MkdirAll(filepath.Join(in, "sub"), 0o755), os.WriteFile(out, []byte("outside"), 0o644),
		os.WriteFile(filepath.Join(in, "file"), []byte("inside"), 0o644), os.Symlink(out, filepath.Join(in, "leads-out")),
		os.Symlink("file", filepath.Join(in, "stays")), os.Symlink("..", filepath.Join(in, "up")),
		unix.Mkfifo(filepath.Join(in, "pipe"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return in, out
}

// TestOutsideRead: nothing but regular files in the folder are read, by path and by file system.
func TestOutsideRead(t *testing.T) {
	in, out := ground(t)
	root, err := os.OpenRoot(in)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, good := range map[string]bool{"file": true, "stays": true, "leads-out": false, "../out": false,
		"up/out": false, out: false, "pipe": false, "sub": false, "none": false} {
		text, err := outside.Read(in, name, 10)
		if (err == nil) != good || good && string(text) != "inside" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if f, err := outside.FS(root).Open(name); (err == nil) != good {
			t.Errorf("%s: of the file system: %v, %v", name, f, err)
		}
	}
	if _, err := outside.Read(in, "file", 5); !errors.Is(err, outside.ErrTooLong) {
		t.Errorf("a file that is too long: %v", err)
	}
	if _, err := outside.Read(in, "pipe", 5); !errors.Is(err, outside.ErrIrregular) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pipe: %v", err)
	}
	for name, good := range map[string]bool{"sub": true, ".": true, "up": false, "..": false, "file": false, "none": false} {
		if _, err := outside.Folder(in, name); (err == nil) != good {
			t.Errorf("the folder %s: %v", name, err)
		}
	}
	if _, err := outside.MakeFolder(in, "up/new"); err == nil {
		t.Error("a folder was made outside")
	}
}

// TestOutsideWrite: a link is replaced, and what it leads to stays. After a
// failure nothing is there, or the old.
func TestOutsideWrite(t *testing.T) {
	in, out := ground(t)
	render := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	if err := os.Symlink(out, filepath.Join(in, ".leads-out.next")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"leads-out", "file", "pipe", "sub/new"} {
		if err := outside.Write(in, name, render); err != nil {
			t.Error(err)
		}
		if text, err := outside.Read(in, name, 10); string(text) != "new" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"../out", "up/out", out} {
		if err := outside.Write(in, name, render); err == nil {
			t.Errorf("%s was written", name)
		}
		if err := outside.Replace(in, name, []byte("new")); err == nil {
			t.Errorf("%s was replaced", name)
		}
	}
	if text, err := os.ReadFile(out); string(text) != "outside" {
		t.Errorf("outside there is %q, %v", text, err)
	}
	full := errors.New("the disk is full")
	if err := outside.Write(in, "file", func(io.Writer) error { return full }); !errors.Is(err, full) ||
		outside.Has(in, "file") || outside.Has(in, ".file.next") {
		t.Errorf("half a file: %v", err)
	}
}

// TestOutsideCopy: a folder with anything but files and folders is not copied.
func TestOutsideCopy(t *testing.T) {
	in, _ := ground(t)
	to := t.TempDir()
	if err := os.WriteFile(filepath.Join(in, "sub", "file"), []byte("inside"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := outside.Copy(to, in, "sub"); err != nil {
		t.Error(err)
	}
	if text, err := outside.Read(to, "sub/file", 10); string(text) != "inside" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"up", "leads-out", "pipe", "..", "."} {
		if err := outside.Copy(t.TempDir(), in, name); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
}
