package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// compose runs docker-compose, of either generation, in a folder.
func compose(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := append([]string{"docker-compose"}, args...)
	if _, err := exec.LookPath(command[0]); err != nil {
		command = append([]string{"docker", "compose"}, args...)
		if exec.Command("docker", "compose", "version").Run() != nil {
			needed.Be(t, errors.New("no docker-compose"))
		}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	for _, kind := range runtimes.ImageKinds() {
		cmd.Env = append(cmd.Env, runtimes.ImageVar(kind)+"="+runtimes.LocalImage(kind))
	}
	cmd.Env = append(os.Environ(), cmd.Env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

// up brings a project up for the length of the test.
func up(t *testing.T, dir string, services ...string) {
	t.Helper()
	compose(t, dir, append([]string{"up", "-d"}, services...)...)
	t.Cleanup(func() { compose(t, dir, "down", "--volumes") })
}

// A project of the user's own, whose services have names of their own, is
// tested as it stands: it is joined, disturbed and left as it was.
func testComposeOfTheUsers(t *testing.T) {
	dockertest.Need(t, "redis")
	dir := filepath.Join(t.TempDir(), "shop")
	writeFile(t, filepath.Join(dir, "docker-compose.yml"), "services:\n  cache:\n    image: "+runtimes.LocalImage("redis")+
		"\n    command: redis-server --protected-mode no\n  other:\n    image: "+runtimes.LocalImage("redis")+
		"\n    command: redis-server\n")
	writeFile(t, filepath.Join(dir, runtimes.MappingFile), "nodes:\n  redis-1: cache\n")
	up(t, dir)
	before := engineState(t)
	cmd := lockchaos(t, "run", "redis-setnx/pause-holder/unfenced", "etcd-lease/none/unfenced", "--runtime", "compose",
		"--out", t.TempDir())
	cmd.Dir = dir
	code, out := finish(t, cmd)
	for _, want := range []string{"compose: project shop", "corrupted", "skipped", "etcd-1", "--nodes"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if code != 0 || t.Failed() {
		t.Errorf("exit status %d\n%s", code, out)
	}
	if after := engineState(t); after != before {
		t.Errorf("the engine had\n%s\nand has\n%s", before, after)
	}
	states, err := exec.Command("docker", "ps", "-a", "--filter", "label="+"com.docker.compose.project=shop",
		"--format", "{{.State}}").Output()
	if err != nil || !slices.Equal(strings.Fields(string(states)), []string{"running", "running"}) {
		t.Errorf("the project's containers are %s, %v", states, err)
	}
	for _, c := range []struct{ want, flag string }{
		{"there is no node named", "--nodes=redis-9=cache"}, {"NODE=SERVICE", "--nodes=cache"},
	} {
		cmd := lockchaos(t, "run", "redis-setnx/none/unfenced", "--runtime", "compose", c.flag)
		cmd.Dir = dir
		if code, out := finish(t, cmd); code != exit.Usage || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit status %d, %s", c.flag, code, out)
		}
	}
	for _, c := range []struct{ want, flag string }{
		{"there are shop", "--project=nobody"}, {"runs no container for redis-1", "--nodes=redis-1=wrong"},
	} {
		cmd := lockchaos(t, "run", "redis-setnx/none/unfenced", "--runtime", "compose", c.flag)
		cmd.Dir = dir
		if code, out := finish(t, cmd); code != exit.Failed || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit status %d, %s", c.flag, code, out)
		}
	}
}

// The file that comes with lockchaos brings up nodes that the compose runtime knows by their names.
func testComposeOfOurs(t *testing.T) {
	dockertest.Need(t, "redis", "etcd")
	text, err := os.ReadFile(composeFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "ours")
	writeFile(t, filepath.Join(dir, "docker-compose.yml"), string(text))
	up(t, dir, "redis-1", "etcd-1", "etcd-2", "etcd-3")
	code, out := finish(t, lockchaos(t, "run", "redis-setnx/none/unfenced", "etcd-lease/none/fenced", "--runtime",
		"compose", "--project", dir, "--out", t.TempDir()))
	if code != 0 || !strings.Contains(out, "2 scenarios, all as expected") {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
