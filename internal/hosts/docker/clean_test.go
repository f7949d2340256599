package docker_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
)

func TestMain(m *testing.M) {
	status := m.Run()
	dockertest.Stop()
	os.Exit(status)
}

// image is one with a shell.
const image = "lockchaos-local/redis"

// deadOwner is a process of another boot, which judges it to be no more.
const deadOwner = "lockchaos.owner=another pid:[1] 1 1"

// leave starts a container in the background, as a dead run's, and returns its name.
func leave(t *testing.T, script string, flags ...string) string {
	t.Helper()
	name := "lockchaos-" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	args := append([]string{"run", "-d", "--rm", "--network", "none", "--name", name, "--label", deadOwner}, flags...)
	if out, err := exec.Command("docker", append(args, image, "sh", "-c", script)...).CombinedOutput(); err != nil {
		t.Fatalf("docker %v: %v: %s", args, err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", name).Run() })
	return name
}

// gone fails the test if the engine still has the container.
func gone(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("docker", "ps", "-aq", "--filter", "name="+name).Output(); err != nil || len(out) > 0 {
		t.Errorf("the container %s is still there: %s, %v", name, out, err)
	}
}

// clean cleans up and returns what was removed.
func clean(t *testing.T, e *docker.Engine) docker.Removed {
	t.Helper()
	r, err := e.Clean(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The agent of a dead run is waited for while it heals.
func TestCleanLetsAgentsHeal(t *testing.T) {
	e := dockertest.Need(t, "redis")
	dir := t.TempDir()
	// Two seconds are many times what Clean would need to kill it.
	name := leave(t, "sleep 2; echo all > /out/healed", "--label", "lockchaos.agent=1", "--volume", dir+":/out")
	if r := clean(t, e); slices.Contains(r.Unknown, name) {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "healed")); err != nil {
		t.Errorf("the agent was killed while it healed: %v", err)
	}
	gone(t, name)
}

// An agent that does not end is removed all the same, and so is, at once, what is no agent.
func TestCleanRemovesWhatStays(t *testing.T) {
	e := dockertest.Need(t, "redis")
	for what, flags := range map[string][]string{"node": nil, "agent": {"--label", "lockchaos.agent=1"}} {
		t.Run(what, func(t *testing.T) {
			name := leave(t, "exec sleep 600", flags...)
			if r := clean(t, e); !slices.Contains(r.Containers, name) {
				t.Errorf("%s: %+v", name, r)
			}
			gone(t, name)
		})
	}
}
