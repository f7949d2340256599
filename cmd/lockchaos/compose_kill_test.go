package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// frozenNode freezes the server again and again, for longer than a clean-up takes.
const frozenNode = `suite: frozen
about: the server freezes
scenarios:
  - {name: redis-setnx/pause-node/unfenced, about: the server freezes, lock: redis-setnx, store: {kind: unfenced}, clients: 2, keys: 1, ttl: 2s, duration: 60s,
     workload: {kind: counter, guard: none, think: 5ms..20ms, rest: 5ms..30ms, acquire_timeout: 8s, op_timeout: 8s}, needs: {grants: 5, handovers: 0},
     faults: [{kind: pause, target: redis-1, when: acquiring, for: 6s, after: 100ms, every: 200ms..300ms}],
     expect: {properties: {lost-update: pass}, severity: none, why: it works}}
`

// Killed while a server of the user's own is frozen, and cleaned at once, a run
// leaves that server running.
func testKilledComposeRunLeavesNothingStopped(t *testing.T) {
	engine := dockertest.Need(t, "redis")
	dir := filepath.Join(t.TempDir(), "frozen")
	writeFile(t, filepath.Join(dir, "docker-compose.yml"),
		"services:\n  redis-1:\n    image: "+runtimes.LocalImage("redis")+"\n    command: redis-server --protected-mode no\n")
	suite := filepath.Join(dir, "frozen.yaml")
	writeFile(t, suite, frozenNode)
	up(t, dir)
	before := engineState(t)
	server := firstProcess(t, compose(t, dir, "ps", "-q", "redis-1"))
	cmd := lockchaos(t, "run", suite, "--retries", "0", "--runtime", "compose", "--project", dir, "--out", t.TempDir())
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // killed
	for stateOf(t, server) != "T" {
		select {
		case <-ended:
			t.Fatalf("the run ended before the server was stopped:\n%s", said.String())
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			<-ended
			t.Fatalf("the server was not stopped within %v:\n%s", runLimit, said.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	// The agent is held up, so that it can't have healed before the clean-up comes.
	agent := firstProcess(t, dockerOutput(t, "ps", "-q", "--filter", "label=lockchaos.agent"))
	sendSignal(t, "-STOP", agent)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	cleaned := make(chan error, 1)
	go func() { _, err := engine.Clean(ctx); cleaned <- err }()
	select {
	case err := <-cleaned:
		t.Errorf("clean did not wait for the agent: %v", err)
	case <-time.After(time.Second): // time enough to do the wrong thing
		sendSignal(t, "-CONT", agent)
		if err := <-cleaned; err != nil {
			t.Errorf("clean: %v", err)
		}
	}
	if s := stateOf(t, server); s == "T" {
		t.Error("the server is still stopped")
		sendSignal(t, "-CONT", server)
	}
	if after := engineState(t); after != before {
		t.Errorf("the engine had\n%s\nand has\n%s", before, after)
	}
}

// dockerOutput is what a docker command prints.
func dockerOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).Output()
	if err != nil {
		t.Fatalf("docker %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// firstProcess is the number of a container's first process.
func firstProcess(t *testing.T, container string) string {
	t.Helper()
	return dockerOutput(t, "inspect", "--format", "{{.State.Pid}}", strings.TrimSpace(container))
}

// sendSignal sends a signal to a process.
func sendSignal(t *testing.T, which, pid string) {
	t.Helper()
	if out, err := exec.Command("kill", which, pid).CombinedOutput(); err != nil {
		t.Fatalf("kill %s %s: %v: %s", which, pid, err, out)
	}
}

// stateOf is the state letter of a process, as in proc(5).
func stateOf(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}
