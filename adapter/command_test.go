package adapter_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// TestCommand: a command line means the same as to a shell, and one program
// takes the shell's place.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("#!/bin/sh\necho $$ $X $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"./mine a":                      "exec",
		"X=1 ./mine a":                  "exec",
		`X="$HOME" ./mine`:              "",
		"sh -c 'echo x'":                "exec",
		`printf %s "$HOME"`:             "exec",
		"cd / && pwd":                   "",
		"while true; do exit; done":     "",
		"cd /":                          "", // no program, or one that does nothing
		"exit 3":                        "",
		"./missing":                     "",
		". ./mine":                      "",
		"echo a | cat":                  "",
		"sh -c \"exec python3 $(pwd)\"": "",
	} {
		cmd := adapter.Command(line, dir)
		text := cmd.Args[2]
		if cmd.Dir != dir || strings.Contains(text, "exec ") != (want == "exec" || strings.Contains(line, "exec ")) ||
			strings.Replace(text, "exec ", "", 1) != strings.Replace(line, "exec ", "", 1) {
			t.Errorf("%q: %q, want %s", line, text, want)
		}
	}
	cmd := adapter.Command("X=seen ./mine a", dir)
	out, err := cmd.Output()
	if fields := strings.Fields(string(out)); err != nil || len(fields) != 3 || fields[1] != "seen" || fields[2] != "a" {
		t.Errorf("%s, %v", out, err)
	}
}

// TestClosedOutput: an adapter that closes its standard output and runs on is
// noticed at once, and not when its answer is late.
func TestClosedOutput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "closes"), []byte("#!/bin/sh\nexec >&-\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := adapter.Command("./closes", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ended := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, out); ended <- err }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(decided.Limit):
		t.Error("its output is still open: the shell that started it holds it")
	}
}
