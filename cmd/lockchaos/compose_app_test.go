package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// shortApp makes of the example's scenario one that a test has the time for:
// the client that holds a lock is frozen, again and again.
func shortApp(t *testing.T, text string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, "    duration: ")
	_, expect, ok := strings.Cut(rest, "    expect:")
	if !found || !ok {
		t.Fatalf("the example's scenario has changed:\n%s", text)
	}
	return strings.Replace(text, rest, "6s\n    faults:\n      - {kind: pause, target: holder, when: after-grant, for: 1500ms, after: 100ms, every: 100ms}\n"+
		"    needs: {grants: 5, handovers: 1, bites: 1}\n    expect:"+expect, 1)
}

// testComposeApp runs the example as its page says: a stack of somebody's own, whose replicas
// charge an order more than once when they are frozen; and with the fence they don't.
func testComposeApp(t *testing.T) {
	dockertest.Need(t, "redis", "postgres")
	example := filepath.Join("..", "..", "examples", "compose-app")
	dir := filepath.Join(t.TempDir(), "compose-app")
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(dir, "build")).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "lockchaos.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "short.yaml"), shortApp(t, string(text)))
	for _, c := range []struct {
		fence, says string
		code        int
		charged     bool
	}{{"off", "corrupted", exit.Violated, true}, {"on", "contained", exit.OK, false}} {
		t.Run("fence "+c.fence, func(t *testing.T) {
			if c.fence == "on" && os.Getenv("LOCKCHAOS_SOAK") == "" {
				t.Skip("make soak brings the stack up once more, with the fence")
			}
			writeFile(t, filepath.Join(dir, ".env"), "FENCE="+c.fence+"\n")
			up(t, dir)
			run := lockchaos(t, "run", filepath.Join(dir, "short.yaml"), "--runtime", "compose", "--project", dir, "--out", t.TempDir())
			code, out := finish(t, run)
			if code != c.code || !strings.Contains(out, c.says) {
				t.Errorf("exit status %d, want %d and %q\n%s", code, c.code, c.says, out)
			}
			charges := compose(t, dir, "exec", "-T", "shop", "/shop", "charges")
			if strings.Contains(charges, "was charged") != c.charged {
				t.Errorf("the shop says\n%s", charges)
			}
		})
	}
	for _, runtime := range []string{runtimes.Local, runtimes.Auto} {
		code, out := finish(t, lockchaos(t, "run", filepath.Join(dir, "short.yaml"), "--runtime", runtime))
		if code != exit.Usage || !strings.Contains(out, "--runtime compose --project FOLDER") {
			t.Errorf("--runtime %s: exit status %d\n%s", runtime, code, out)
		}
	}
}
