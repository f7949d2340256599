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

	"github.com/lockchaos/lockchaos/hosts/docker/dockertest"
)

const dockerfile = "../../Dockerfile"

// The image builds, and lockchaos runs in it as nobody, with the engine's socket and nothing else: the run's folder is written, and belongs to that nobody.
//
// Without a registry there is no image of Go to build in. So the first stage is replaced by the same program, built here with the same flags; the second is
// the Dockerfile's own.
func TestImage(t *testing.T) {
	dockertest.Need(t, "redis")
	program, err := static()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	build, last, two := strings.Cut(string(text), "\nFROM scratch\n")
	if !two || !strings.Contains(build, "AS build") || !strings.Contains(build, "CGO_ENABLED=0 go build -trimpath") || strings.Contains(last, "FROM ") {
		t.Fatalf("%s has other stages than this test knows", dockerfile)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program, filepath.Join(dir, "out", "lockchaos")); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"Dockerfile": "FROM scratch AS build\nCOPY out /out\n\nFROM scratch\n" + last, "nothing": ""} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A run on a busy machine may be inconclusive, and is no less a run.
	engine := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), runLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, "docker", args...)
		cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0") // the other builder is a plugin that may be missing
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState.ExitCode() != exitInconclusive {
			t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	const image = "lockchaos-test-image"
	engine("build", "--quiet", "--tag", image, dir)
	defer engine("rmi", "--force", image)
	if got := strings.TrimSpace(engine("inspect", "--format", "{{.Config.User}} {{.Config.Entrypoint}}", image)); got != "65532:65532 [/lockchaos]" {
		t.Errorf("user and entry point are %s", got)
	}
	work := t.TempDir()
	if err := os.Chmod(work, 0o777); err != nil {
		t.Fatal(err)
	}
	socket := strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if socket == "" {
		socket = "/var/run/docker.sock"
	}
	out := engine("run", "--rm", "--user", "65532:"+groupOf(t, socket), "--volume", socket+":/var/run/docker.sock", "--volume", work+":"+work, "--workdir", work, image,
		"run", "redis-setnx/none/unfenced", "--duration", "1s", "--seed", "7")
	verdict, err := os.ReadFile(filepath.Join(work, "runs", "latest", "redis-setnx.none.unfenced", verdictFile))
	if err != nil || !strings.Contains(string(verdict), `"result": "pass"`) && !strings.Contains(string(verdict), `"result": "inconclusive"`) {
		t.Errorf("%v\n%s\n%.500s", err, out, verdict)
	}
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
