package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// TestJavaGC follows examples/java-gc/README.md in a copy: a real garbage collection makes an order
// service pay twice, and a store that checks fencing tokens keeps it from that.
func TestJavaGC(t *testing.T) {
	needed.WithoutRace(t) // what it finds is in a Java virtual machine
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	needed.Later(t, "Redisson comes from Maven Central")
	for _, program := range []string{"mvn", "javac", "redis-server"} {
		needed.Program(t, program)
	}
	dir := t.TempDir()
	example := filepath.Join(dir, "examples", "java-gc")
	if err := os.CopyFS(example, os.DirFS("../../examples/java-gc")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "clean", "package", "-f", example).CombinedOutput(); err != nil {
		t.Fatalf("mvn package: %v\n%s", err, out)
	}
	decided.Run(t, func() {
		cmd := lockchaos(t, "run", "examples/java-gc/scenario.yaml", "--out", t.TempDir())
		cmd.Dir = dir
		code, out := finish(t, cmd)
		if fencedFell.MatchString(out) {
			t.Errorf("the store took a charge with an older token:\n%s", out)
			return
		}
		if code != exit.OK || !strings.Contains(out, "2 scenarios, all as expected") {
			decided.Lacks("a holder that collected for longer than its lease, with both locks (exit status %d):\n%s", code, out)
		}
	})
}

// fencedFell is what a run says if the store let an order be charged twice.
var fencedFell = regexp.MustCompile(`(?m)^.*redisson-rfencedlock/collect-holder/fenced +✗.*$`)
