package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// sandboxed reports whether this machine makes private networks; with
// LOCKCHAOS_REQUIRE=all it has to.
func sandboxed(t testing.TB) bool {
	t.Helper()
	for _, c := range hosts.Probe(t.Context()) {
		if !c.OK {
			if needed.All() {
				t.Fatalf("%s: %s", c.Name, c.Detail)
			}
			return false
		}
	}
	return true
}

// Killed at any moment, a run leaves nothing: no process of its own, no server,
// and with them no namespace and no link.
func TestKilledRunLeavesNothing(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript knows the program by its name.
	lockchaos := filepath.Join(t.TempDir(), "lockchaos")
	if err := os.Symlink(exe, lockchaos); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 2))
	for i := range 12 {
		mark := fmt.Sprintf("LOCKCHAOS_TEST_MARK=%d-%d", os.Getpid(), i)
		cmd := exec.Command(lockchaos, "run", "redis-setnx/pause-holder/unfenced", "--out", t.TempDir())
		cmd.Env = append(os.Environ(), mark)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Half of the moments lie in the start, where the races are, the others
		// in the middle of the work: when its processes are there.
		if i%2 == 0 {
			<-time.After(time.Duration(rng.Int64N(int64(150 * time.Millisecond))))
		} else {
			awaitMarked(t, mark, atWork)
			<-time.After(time.Duration(rng.Int64N(int64(time.Second))))
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		for limit := time.Now().Add(decided.Limit); ; {
			left := marked(t, mark)
			if len(left) == 0 {
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("still there minutes after the kill: %v", left)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

// atWork is how many processes a run has when its servers and clients are there.
const atWork = 8

// awaitMarked waits until so many processes have the mark.
func awaitMarked(t *testing.T, mark string, n int) {
	t.Helper()
	for limit := time.Now().Add(decided.Limit); len(marked(t, mark)) < n; <-time.After(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("the run never had %d processes", n)
		}
	}
}

// marked lists the processes whose environment has the mark, which everything
// that a run starts inherits.
func marked(t testing.TB, mark string) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile, or another user's
		}
		if slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == mark }) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = append(found, pid)
		}
	}
	return found
}
