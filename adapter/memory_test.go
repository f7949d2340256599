package adapter_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/lockchaos/lockchaos/adapter"
)

// TestMemoryLimit: what the environment says comes first, then what a scenario says of its adapter.
func TestMemoryLimit(t *testing.T) {
	sizes := map[string]int64{"": 1 << 30, "512MB": 512 << 20, " 4 gb": 4 << 30, "0GB": 0, "-1MB": 0, "12": 0, "lots": 0}
	for text, want := range sizes {
		t.Setenv(adapter.MemoryVar, "")
		if got, err := adapter.MemoryLimit(text); got != want || (err != nil) != (want == 0) {
			t.Errorf("a scenario's %q: %d, %v", text, got, err)
		}
		if text == "" {
			continue
		}
		t.Setenv(adapter.MemoryVar, text)
		if got, err := adapter.MemoryLimit("3GB"); got != want || (err != nil) != (want == 0) {
			t.Errorf("%q of the environment: %d, %v", text, got, err)
		}
	}
}

// TestWatchMemory: the memory of a child counts as its parent's, and an end ends the watch.
func TestWatchMemory(t *testing.T) {
	const eats = "dd if=/dev/zero of=/dev/null bs=200M count=100000"
	for name, eater := range map[string]string{"itself": "exec " + eats, "a child": eats + "; true",
		"a child's child": "sh -c '" + eats + "; true'; true", "": "sleep 1"} {
		cmd := exec.Command("sh", "-c", eater)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		what := ""
		adapter.WatchMemory(cmd.Process.Pid, 50<<20, ended,
			func(w string) { what = w; _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		if strings.Contains(what, "may use 50 MB") != (name != "") {
			t.Errorf("%s: %q", name, what)
		}
		<-ended
	}
}
