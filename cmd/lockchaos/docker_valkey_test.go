package main

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// TestDockerValkey: an image with Valkey under the name redis-server takes the place of Redis', and
// the run names what answered.
func TestDockerValkey(t *testing.T) {
	dockertest.Need(t, "valkey")
	status, out := finish(t, lockchaos(t, "run", "redis-setnx/none/unfenced", "--runtime", "docker", "--image",
		"redis="+runtimes.LocalImage("valkey"), "--out", t.TempDir()))
	if status != 0 || !strings.Contains(out, "redis Valkey ") {
		t.Errorf("status %d:\n%s", status, out)
	}
}
