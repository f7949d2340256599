package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/nemesis"
)

// standstill is a suite of one scenario: a fault of a runtime, and the lock of a skeleton.
func standstill(t *testing.T, command, fault string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "standstill.yaml")
	writeFile(t, file, fmt.Sprintf(`suite: standstill
scenarios:
  - name: lock-skeleton/standstill/unfenced
    lock: lock-skeleton
    adapter: {command: %q, service: redis}
    ttl: 500ms
    clients: 3
    keys: 1
    store: {kind: unfenced}
    workload: {kind: counter, guard: none, think: 5ms..20ms, rest: 1ms..5ms, acquire_timeout: 10s, op_timeout: 10s}
    duration: 6s
    faults: [{%s, target: holder, when: before-write, after: 300ms, every: 300ms}]
    needs: {grants: 10, handovers: 1, bites: 2}
    expect: {properties: {mutual-exclusion: violated, lost-update: violated, unfenced-write: violated}}
`, command, fault))
	return file
}

// TestBlockedLoop: while the event loop of a holder on Node is blocked, its lease ends and another
// is granted the lock. The holder goes on as if nothing had happened, and an update is lost.
func TestBlockedLoop(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	needed.Program(t, "node")
	needed.Program(t, "redis-server")
	file := standstill(t, skeletonCommand(t, "node", ""), "kind: "+nemesis.KindBlockLoop+", for: 900ms")
	decided.Run(t, func() {
		code, out := finish(t, lockchaos(t, "run", file, "--out", t.TempDir()))
		if code != exit.OK || !strings.Contains(out, "1 scenario, as expected") {
			decided.Lacks("a holder whose event loop was blocked for longer than its lease (exit status %d):\n%s", code, out)
		}
		if !strings.Contains(out, "expired-while-paused") {
			t.Errorf("the report does not say why:\n%s", out)
		}
	})
}

// TestStandstillOfAnotherRuntime: a run whose client cannot be struck fails before its workload
// begins, and says what it lacks. It never passes.
func TestStandstillOfAnotherRuntime(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	needed.Program(t, "node")
	needed.Program(t, "python3")
	for _, c := range []struct{ language, fault, want string }{
		{"node", "kind: " + nemesis.KindCollect, "needs an adapter on a Java virtual machine"},
		{"python", "kind: " + nemesis.KindBlockLoop + ", for: 900ms", "needs an adapter on Node"},
	} {
		code, out := finish(t, lockchaos(t, "run", standstill(t, skeletonCommand(t, c.language, ""), c.fault), "--out", t.TempDir(), "--retries", "0"))
		if code != exit.Failed || !strings.Contains(out, c.want) {
			t.Errorf("%s under %s: exit status %d, want %d and %q:\n%s", c.language, c.fault, code, exit.Failed, c.want, out)
		}
	}
	code, out := finish(t, lockchaos(t, "run", standstill(t, skeletonCommand(t, "node", ""), "kind: "+nemesis.KindCollect+", for: 1s")))
	if code != exit.Usage || !strings.Contains(out, "takes no for") {
		t.Errorf("a collection of a given length: exit status %d:\n%s", code, out)
	}
}
