package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

const dockerfile = "../../Dockerfile"

// The image builds, and lockchaos runs in it as nobody: alone, on private networks
// inside the container, and beside services in containers of their own, with the
// engine's socket. The run's folder is written, and belongs to that nobody.
//
// Without a registry there is no image of Go to build in, and no Debian. So the first
// stage is replaced by the same program, built here with the same flags, and the base
// by one with Debian's redis-server. The last stage is the Dockerfile's own.
func testImage(t *testing.T) {
	dockertest.Need(t, "redis")
	const image = "lockchaos-test-image"
	engine(t, "build", "--quiet", "--network", "none", "--build-arg", "BASE_IMAGE=lockchaos-local/redis", "--tag", image, imageContext(t))
	defer engine(t, "rmi", "--force", image)
	if got := strings.TrimSpace(engine(t, "inspect", "--format", "{{.Config.User}} {{.Config.Entrypoint}}",
		image)); got != "65532:65532 [lockchaos]" {
		t.Errorf("user and entry point are %s", got)
	}
	socket := strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if socket == "" {
		socket = "/var/run/docker.sock"
	}
	work := t.TempDir()
	if err := os.Chmod(work, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]struct{ options, args []string }{
		"alone": {[]string{"--network", "none", "--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"}, nil},
		"socket": {[]string{"--user", "65532:" + groupOf(t, socket), "--volume", socket + ":/var/run/docker.sock"},
			[]string{"--runtime", "docker"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := append([]string{"run", "--rm", "--volume", work + ":" + work, "--workdir", work}, run.options...)
			parent := filepath.Join(work, name)
			out := engine(t, append(append(options, image, "run", "redis-setnx/none/unfenced", "--duration", "1s",
				"--seed", "7", "--out", parent), run.args...)...)
			verdict, err := os.ReadFile(filepath.Join(parent, "latest", "redis-setnx.none.unfenced", runs.VerdictFile))
			if err != nil || !strings.Contains(string(verdict), `"result": "pass"`) &&
				!strings.Contains(string(verdict), `"result": "inconclusive"`) {
				t.Errorf("%v\n%s\n%.500s", err, out, verdict)
			}
			if strings.Contains(out, "STAND-IN") {
				t.Errorf("the image has no redis-server:\n%s", out)
			}
		})
	}
	// Every fault of processes, links, packets and clocks can be injected
	// there, without a capability.
	faults := engine(t, "run", "--rm", "--network", "none", "--security-opt", "seccomp=unconfined", "--security-opt",
		"systempaths=unconfined", image, "list", "faults")
	for line := range strings.Lines(faults) {
		if f := strings.Fields(line); len(f) > 3 && strings.Contains(line, "  no  ") {
			t.Errorf("not in the container: %s", line)
		}
	}
}

// engine runs docker, and returns what it prints. A run on a busy machine may
// be inconclusive, and is no less a run.
func engine(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	// the other builder is a plugin that may be missing
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != exit.Inconclusive {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// imageContext is a folder to build the image from: the Dockerfile's last
// stage, and what its first would build.
func imageContext(t *testing.T) (dir string) {
	t.Helper()
	program, err := static()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	build, last, two := strings.Cut(string(text), "\nFROM ${BASE_IMAGE}\n")
	if !two || !strings.Contains(build, "AS build") || !strings.Contains(build, "CGO_ENABLED=0 go build -trimpath") ||
		strings.Contains(last, "FROM ") {
		t.Fatalf("%s has other stages than this test knows", dockerfile)
	}
	dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program, filepath.Join(dir, "out", "lockchaos")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"LICENSE", "THIRD_PARTY_NOTICES.txt"} {
		if err := os.WriteFile(filepath.Join(dir, "out", text), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := "ARG BASE_IMAGE\nFROM scratch AS build\nCOPY out /out\n\nFROM ${BASE_IMAGE}\n" + last
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// groupOf is the group of a file, for --group-add.
func groupOf(t *testing.T, file string) string {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Gid), 10)
}
