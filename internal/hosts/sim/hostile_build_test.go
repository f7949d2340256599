package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
)

// buildVar makes a copy of this test's binary build a folder, for a test to kill.
const buildVar = "LOCKCHAOS_TEST_BUILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(buildVar); dir != "" {
		_, err := Build(context.Background(), dir)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// slowGo is a go command that never comes to the end of a build, and neither does its compiler.
const slowGo = `#!/bin/sh
[ "$1" != env ] || exec %[1]q "$@"
work=$(mktemp -d)
touch "$work/object"
sleep 1000 &
echo $$ $! >%[2]q.new
mv %[2]q.new %[2]q
wait
`

// slow puts slowGo first in PATH, and returns a folder to build, the one of
// temporary files, and where its process's number comes.
func slow(t *testing.T) (dir, temporary, pid string) {
	t.Helper()
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := Go(t.Context(), ".", nil, "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}
	bin, dir, temporary := t.TempDir(), t.TempDir(), t.TempDir()
	pid = filepath.Join(bin, "pid")
	if err := os.WriteFile(filepath.Join(bin, "go"), fmt.Appendf(nil, slowGo, real, pid), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("GOCACHE", cache)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("TMPDIR", temporary)
	return dir, temporary, pid
}

// nothingLeft waits until the go command has ended, and nothing is among the temporary files.
func nothingLeft(t *testing.T, pid, temporary string) {
	t.Helper()
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range strings.Fields(string(text)) {
		decided.Await(t, "the end of the go command and its compiler", func() bool {
			state, err := os.ReadFile(filepath.Join("/proc", process, "stat"))
			return err != nil || strings.Contains(string(state), ") Z ")
		})
	}
	decided.Await(t, "empty temporary files", func() bool {
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
}

// TestHostileKillWhileBuilding: kill -9 of the process that builds leaves no
// process and no temporary file.
func TestHostileKillWhileBuilding(t *testing.T) {
	dir, temporary, pid := slow(t)
	t.Setenv(buildVar, dir)
	cmd := exec.Command(os.Args[0])
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	decided.Await(t, "the build", func() bool { _, err := os.Stat(pid); return err == nil })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	nothingLeft(t, pid, temporary)
}

// TestHostileInterruptWhileBuilding: an interrupt is no mistake in the program that is built.
func TestHostileInterruptWhileBuilding(t *testing.T) {
	dir, temporary, pid := slow(t)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(pid); err == nil {
				interrupt()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, err := Build(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	nothingLeft(t, pid, temporary)
}

// TestHostileTemporaryFolder: a folder for temporary files that is not there is named.
func TestHostileTemporaryFolder(t *testing.T) {
	cache, err := Go(t.Context(), ".", nil, "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", cache)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/mine\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	_, err = Build(t.Context(), dir)
	if wrong, placed := errors.AsType[*os.PathError](err); !placed || !strings.HasPrefix(wrong.Path, os.TempDir()) ||
		!strings.Contains(err.Error(), "TMPDIR") {
		t.Error(err)
	}
}

// TestHostileTruncated: a program of which a part is missing, as a full disk
// leaves it, is not whole.
func TestHostileTruncated(t *testing.T) {
	wasm := []byte("\x00asm\x01\x00\x00\x00\x01\x02ab\x03\x00")
	for n := range wasm {
		if whole(wasm[:n]) != (n == 8 || n == 12) { // at the ends of sections
			t.Errorf("%d bytes: %v", n, whole(wasm[:n]))
		}
	}
	if !whole(wasm) {
		t.Error("all of it is not whole")
	}
}
