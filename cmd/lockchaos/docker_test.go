package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// runLimit bounds one run of the command in these tests.
const runLimit = 6 * time.Minute

// static is lockchaos as users have it: linked statically, which a test binary
// is not, so that it can be an agent.
var static = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lockchaos-static-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "lockchaos")
	build := exec.Command("go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	staticDir = dir
	return program, nil
})

var staticDir string

func removeStatic() {
	if staticDir != "" {
		_ = os.RemoveAll(staticDir)
	}
}

// lockchaos is a command line of the static program.
func lockchaos(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	program, err := static()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, program, args...)
}

// finish runs a command and returns its exit status and all that it printed.
func finish(t testing.TB, cmd *exec.Cmd) (int, string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// localImages chooses the images that scripts/images makes, whatever else the engine has.
func localImages(kinds ...string) (flags []string) {
	for _, k := range kinds {
		flags = append(flags, "--image", k+"="+runtimes.LocalImage(k))
	}
	return flags
}

// engineState is all that a run could leave in the engine.
func engineState(t testing.TB) string {
	t.Helper()
	var all []string
	for _, list := range [][]string{{"ps", "-a", "--format", "{{.Names}}"}, {"network", "ls", "--format", "{{.Name}}"},
		{"volume", "ls", "--format", "{{.Name}}"}} {
		out, err := exec.Command("docker", list...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %v: %v: %s", list, err, out)
		}
		all = append(all, strings.Fields(string(out))...)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// core are the scenarios that must come out the same wherever they run.
var core = []string{
	"redis-setnx/none/unfenced", "redis-setnx/pause-holder/unfenced", "redis-setnx-fenced/none/fenced",
	"redis-setnx-fenced/pause-holder/fenced",
	"redlock/none/unfenced", "etcd-lease/none/fenced",
}

// The same scenarios come to the same verdicts on a private network and in containers.
func testRuntimesAgree(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	dockertest.Need(t, "redis", "etcd")
	before := engineState(t)
	here := verdicts(t, "--runtime", "local")
	there := verdicts(t, append([]string{"--runtime", "docker"}, localImages("redis", "etcd")...)...)
	for _, name := range core {
		if here[name] != there[name] {
			t.Errorf("%s\nlocal:  %s\ndocker: %s", name, here[name], there[name])
		}
	}
	if after := engineState(t); after != before {
		t.Errorf("the engine had\n%s\nand has\n%s", before, after)
	}
}

// verdicts runs the core scenarios and returns the outcome of each property, in
// words, by scenario. All must meet their expectation.
func verdicts(t *testing.T, where ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	args := append(append([]string{"run", "--seed", "7", "--out", dir}, where...), core...)
	// Where a stall of this machine leaves something open, the run says so, and
	// decides nothing: it is run again.
	const attempts = 3
	code, out := finish(t, lockchaos(t, args...))
	for range attempts - 1 {
		if code != exit.Inconclusive || !strings.Contains(out, "stall of this machine") {
			break
		}
		code, out = finish(t, lockchaos(t, args...))
	}
	if code != exit.OK {
		t.Fatalf("lockchaos %v: exit status %d\n%s", args, code, out)
	}
	all := map[string]string{}
	for _, name := range core {
		text, err := os.ReadFile(filepath.Join(dir, runs.LatestLink, runs.FolderOf(name), runs.VerdictFile))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = outcomes(t, text)
	}
	return all
}

// outcomes sums a saved verdict up.
func outcomes(t *testing.T, text []byte) string {
	t.Helper()
	var v struct {
		Verdict struct {
			Outcome    string
			Severity   string
			Properties []struct{ Name, Outcome string }
		}
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if v.Verdict.Outcome == "" || len(v.Verdict.Properties) == 0 {
		t.Fatalf("no verdict in %.300s", text)
	}
	parts := []string{v.Verdict.Outcome, v.Verdict.Severity}
	for _, p := range v.Verdict.Properties {
		parts = append(parts, p.Name+" "+p.Outcome)
	}
	return strings.Join(parts, ", ")
}

// Killed at any moment, a docker run leaves what clean removes; and clean touches no living run.
func testKilledDockerRunIsCleaned(t *testing.T) {
	dockertest.Need(t, "redis")
	before := engineState(t)
	args := append([]string{"run", "redis-setnx/pause-holder/unfenced", "--runtime", "docker", "--out", t.TempDir()},
		localImages("redis")...)
	living := lockchaos(t, append(args, "--duration", "40s")...)
	if err := living.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = living.Process.Kill(); _ = living.Wait() }()
	awaitContainers(t, 2)
	alive := engineState(t)
	for _, moment := range []time.Duration{50, 200, 350, 500, 2000} {
		cmd := lockchaos(t, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(moment * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		if code, out := finish(t, lockchaos(t, "clean")); code != 0 {
			t.Fatalf("clean after a kill at %d ms: exit status %d: %s", moment, code, out)
		}
		if left := engineState(t); left != alive {
			t.Errorf("killed after %d ms and cleaned: the engine had\n%s\nand has\n%s", moment, alive, left)
		}
	}
	if err := living.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = living.Wait() // killed
	// In the middle of its work the agent ends it: without clean, only the network is left.
	awaitContainers(t, 0)
	if code, out := finish(t, lockchaos(t, "clean")); code != 0 || !strings.Contains(out, "1 network") {
		t.Errorf("clean: exit status %d: %s", code, out)
	}
	if left := engineState(t); left != before {
		t.Errorf("the engine had\n%s\nand has\n%s", before, left)
	}
}

// awaitContainers waits until the engine runs so many containers of ours.
func awaitContainers(t *testing.T, n int) {
	t.Helper()
	for limit := time.Now().Add(runLimit); ; {
		out, err := exec.Command("docker", "ps", "-q", "--filter", "label=lockchaos.owner").Output()
		if err != nil {
			t.Fatal(err)
		}
		if len(strings.Fields(string(out))) == n {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("after %v the containers are still %s, not %d", runLimit, out, n)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// What can go wrong with containers ends with status 3, names the node or the
// image, says what to do, and leaves nothing.
func testDockerErrors(t *testing.T) {
	dockertest.Need(t, "redis", "etcd")
	crash := fakeRedis(t, "crash", "echo what a strange machine; exit 4")
	deaf := fakeRedis(t, "deaf", "echo I hear nothing; exec sleep 600")
	before := engineState(t)
	for _, c := range []struct {
		name  string
		flags []string
		env   string
		want  []string
	}{
		{"unknown image", []string{"--image", "redis=127.0.0.1:1/none:1"}, "",
			[]string{"127.0.0.1:1/none:1", "LOCKCHAOS_IMAGE_REDIS", "scripts/images"}},
		{"no such program", []string{"--image", "redis=" + runtimes.LocalImage("etcd")}, "",
			[]string{"node redis-1", "redis-server", runtimes.LocalImage("etcd")}},
		{"death at the start", []string{"--image", "redis=" + crash}, "", []string{"redis-1", "died", "what a strange machine"}},
		// made once: on a busy machine each try takes two minutes
		{"never ready", []string{"--image", "redis=" + deaf, "--retries", "0"}, "",
			[]string{"redis-1", "did not answer within 2m0s", "connection refused", "I hear nothing"}},
		{"no engine", nil, "DOCKER_HOST=unix:///nonexistent.sock", []string{"no Docker engine", "systemctl start docker"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := lockchaos(t, append([]string{"run", "redis-setnx/none/unfenced", "--runtime", "docker", "--out",
				t.TempDir()}, c.flags...)...)
			cmd.Env = append(os.Environ(), c.env)
			code, out := finish(t, cmd)
			if code != exit.Failed {
				t.Errorf("exit status %d", code)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("the message lacks %q", want)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
			if after := engineState(t); after != before {
				t.Errorf("the engine had\n%s\nand has\n%s", before, after)
			}
		})
	}
}

// fakeRedis makes an image whose redis-server is a shell script.
func fakeRedis(t *testing.T, name, script string) (image string) {
	t.Helper()
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", "lockchaos-fake").Run() })
	image = runtimes.LocalImage(name)
	file := "/usr/local/bin/redis-server" // PATH has that folder first
	make := fmt.Sprintf("mkdir -p /usr/local/bin; printf '#!/bin/sh\\n%s\\n' > %s; chmod +x %s", script, file, file)
	for _, args := range [][]string{
		{"run", "--name", "lockchaos-fake", "--network", "none", runtimes.LocalImage("redis"), "sh", "-c", make},
		{"commit", "lockchaos-fake", image},
		{"rm", "lockchaos-fake"},
	} {
		if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
			t.Fatalf("docker %v: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", image).Run() })
	return image
}

// Every service comes up in containers, from the images that scripts/images
// makes, and a lock works on it.
func testServicesInContainers(t *testing.T) {
	dockertest.Need(t, runtimes.ImageKinds()...)
	// by service: a lock, or a control where a service has nothing better
	first := map[string]clients.Kind{}
	for _, k := range slices.Backward(locks()) {
		if known, ok := first[k.Service]; !ok || k.Control == "" || known.Control != "" {
			first[k.Service] = k
		}
	}
	dir := t.TempDir()
	var file strings.Builder
	file.WriteString("suite: containers\nabout: one lock on each service\nscenarios:\n")
	for _, service := range slices.Sorted(maps.Keys(first)) {
		if service == "" {
			continue
		}
		lock, expect := first[service], "properties: {lost-update: pass}, severity: none"
		if lock.Control != "" {
			expect = strings.Replace("properties: {mutual-exclusion: any, continuity: any, unfenced-write: any, lost-update: any}", lock.Control+": any", lock.Control+": violated", 1)
		}
		fmt.Fprintf(&file, "  - {name: %s/none/unfenced, about: it works, lock: %[1]s, store: {kind: unfenced}, clients: 2, keys: 1, ttl: 2s, duration: 2s,\n"+
			"     workload: {kind: counter, guard: none, think: 5ms..20ms, rest: 5ms..30ms, acquire_timeout: 8s, op_timeout: 8s}, needs: {grants: 5, handovers: 0},\n"+
			"     expect: {%s, why: it works}}\n", lock.Name, expect)
	}
	path := filepath.Join(dir, "containers.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", path, "--runtime", "docker", "--parallel", "2", "--out", dir}, localImages(runtimes.ImageKinds()...)...)
	if code, out := finish(t, lockchaos(t, args...)); code != 0 {
		t.Errorf("exit status %d\n%s\n%s", code, file.String(), out)
	}
	for _, k := range backends.Kinds() {
		if first[k.Name].Name == "" {
			t.Logf("no lock uses %s: not tried", k.Name)
		}
	}
}

// A run whose output nobody reads any more leaves nothing in the engine.
func testUnreadRunLeavesNothing(t *testing.T) {
	dockertest.Need(t, "redis")
	before := engineState(t)
	run := lockchaos(t, append([]string{"run", "redis-setnx/pause-holder/unfenced", "--retries", "0", "--duration",
		"60s", "--runtime", "docker", "--out", t.TempDir()}, localImages("redis")...)...)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for text := make([]byte, 1); engineState(t) == before; { // until it has made something
		if _, err := out.Read(text); err != nil {
			t.Fatalf("the run made nothing: %v", err)
		}
	}
	out.Close()
	if err := run.Wait(); err == nil || run.ProcessState.ExitCode() != exit.Failed {
		t.Errorf("it ended with %v", err)
	}
	if after := engineState(t); after != before {
		t.Errorf("the engine had\n%s\nand has\n%s", before, after)
	}
}
