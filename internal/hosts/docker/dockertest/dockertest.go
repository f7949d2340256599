// Package dockertest lets tests use a Docker engine: the one of this machine if it answers,
// else one that they start themselves, from the program dockerd, in a network namespace of
// its own and with folders of its own, so that nothing of the machine is touched.
//
// The images of that engine stay in the user's cache folder from one test to
// the next. Where there is no engine and none can be started, tests are
// skipped; with LOCKCHAOS_REQUIRE=all that is a failure.
package dockertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/cache"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"golang.org/x/sys/unix"
)

// hostVar names the environment variable by which every client finds the engine.
const hostVar = "DOCKER_HOST"

// startLimit bounds how long an engine may take to start, stopLimit how long to end.
const (
	startLimit = time.Minute
	stopLimit  = 30 * time.Second
)

var started struct {
	sync.Mutex
	tried bool
	err   error
	stop  func()
}

// Need makes sure that an engine answers and has the named images (redis, etcd, …: see
// scripts/images), which it makes if they are missing; or skips the test. The environment
// of the test process then names the engine. Stop must be called when all tests are done.
func Need(t testing.TB, images ...string) *docker.Engine {
	t.Helper()
	needed.Later(t, "it needs a container engine")
	started.Lock()
	defer started.Unlock()
	if !started.tried {
		started.tried = true
		started.err = start()
	}
	if started.err == nil {
		started.err = makeImages(images)
	}
	if started.err != nil {
		needed.Be(t, fmt.Errorf("no Docker engine: %w", started.err))
	}
	e, err := docker.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Stop ends the engine that Need started, if it did.
func Stop() {
	started.Lock()
	defer started.Unlock()
	if started.stop != nil {
		started.stop()
		started.stop = nil
	}
}

// start finds an engine, or starts one.
func start() error {
	absent := answers()
	if absent == nil {
		return nil
	}
	program, err := exec.LookPath("dockerd")
	if err != nil {
		return fmt.Errorf("%w; and no dockerd to start (apt-get install docker.io)", absent)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w; and only root can start one", absent)
	}
	if err := launch(program); err != nil {
		return err
	}
	return tidy()
}

// tidy removes what tests left behind that were killed: the folder is that of
// this engine alone, and keeps more than the images.
func tidy() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	left, err := exec.CommandContext(ctx, "docker", "ps", "--all", "--quiet").Output()
	if ids := strings.Fields(string(left)); err == nil && len(ids) > 0 {
		err = exec.CommandContext(ctx, "docker", append([]string{"rm", "--force"}, ids...)...).Run()
	}
	if err == nil {
		err = exec.CommandContext(ctx, "docker", "network", "prune", "--force").Run()
	}
	if err != nil {
		return fmt.Errorf("remove what earlier tests left in the engine: %w", err)
	}
	return nil
}

// answers asks whether an engine is there: by its own command, for what
// docker.Connect has once found out of a process's environment stays.
func answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "docker", "version").CombinedOutput(); err != nil {
		return fmt.Errorf("docker version: %w: %s", err, end(string(out)))
	}
	return nil
}

// launch starts dockerd and waits until it answers. Only one at a time uses the
// images' folder: others wait.
func launch(program string) error {
	root, err := cache.Folder("engine")
	if err != nil {
		return err
	}
	lock, err := os.Create(filepath.Join(root, "lock"))
	if err != nil {
		return err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	run, err := os.MkdirTemp("", "lockchaos-engine-") // a socket's path must be short
	if err != nil {
		return err
	}
	socket := "unix://" + run + "/socket"
	var log bytes.Buffer
	cmd := exec.Command(program, "--data-root", filepath.Join(root, "data"), "--exec-root", run+"/exec", "--pidfile",
		run+"/pid", "-H", socket)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: unix.SIGTERM}
	begun, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // its death is what the signal is for
		defer close(ended)
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait() // what it said is in the log
		}
	}()
	if err := <-begun; err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	started.stop = func() {
		_ = cmd.Process.Signal(unix.SIGTERM) // it ends its containers first
		select {
		case <-ended:
		case <-time.After(stopLimit):
			_ = cmd.Process.Kill()
		}
		// dockerd leaves a mount of its own network namespace, which would keep
		// the folder, and that namespace.
		_ = unix.Unmount(run+"/exec/netns/default", unix.MNT_DETACH)
		_ = os.RemoveAll(run)
		_ = lock.Close()
	}
	os.Setenv(hostVar, socket)
	for limit := time.Now().Add(startLimit); ; {
		err := answers()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("dockerd ended: %s", end(log.String()))
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(limit) {
			return fmt.Errorf("dockerd does not answer after %v: %w", startLimit, err)
		}
	}
}

// makeImages makes those images that are missing.
func makeImages(images []string) error {
	if len(images) == 0 {
		return nil
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module's folder: %w", err)
	}
	script := filepath.Join(strings.TrimSpace(string(root)), "scripts", "images")
	if out, err := exec.Command(script, append([]string{"--missing"}, images...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", script, err, end(string(out)))
	}
	return nil
}

// end is the end of a log.
func end(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
