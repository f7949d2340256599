//go:build linux

package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

// cells is an outer program that runs two sandboxes at once; it says when both are at work.
func cells([]string) int {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if in, err := (hosts.Sandbox{Stdout: os.Stdout, Stderr: os.Stderr}).Start(context.Background(), "cell"); err == nil {
				_ = in.Wait()
			}
		})
	}
	wg.Wait()
	return 1
}

// cell is what a scenario has: hosts, processes with children in other sessions, data.
func cell([]string) int {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, hs, err := makeNetwork(ctx, "a", "b", "c")
	for i := 0; err == nil && i < len(hs); i++ {
		err = furnish(hs[i])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cell:", err)
		return 1
	}
	fmt.Println("ready")
	return forever(nil)
}

// furnish gives a host data and processes.
func furnish(h *hosts.Host) error {
	dir, err := hosts.DataDir(h.Name)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "data"), make([]byte, 1<<16), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", "family")
	if _, err := cmd.StdinPipe(); err != nil { // never closed: the family lives on
		return err
	}
	_, err = h.Start(cmd)
	return err
}

// kills is how often outer is killed.
const kills = 50

// TestKill kills an outer program that runs two sandboxes with SIGKILL at random
// moments, the first half while it starts, where the races are, the second half when both
// are at work, and looks for whatever may be left. Orphans become our children, so that none
// goes unnoticed: not outer's; and init, if it is one, ends only when all the processes of its
// PID namespace have.
func TestKill(t *testing.T) {
	start(t, hosts.Sandbox{}, "nothing").Wait() // skips where sandboxes are refused
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	const seed = 42
	rng := rand.New(rand.NewPCG(seed, 1))
	before := mounts(t)
	// How long it takes to start says where the moments are to lie.
	begun := time.Now()
	k, victim := startVictim(t, temp)
	k.hear()
	k.hear()
	starting := time.Since(begun)
	killAndLook(t, victim)
	for i := range kills {
		moment := time.Duration(rng.Int64N(int64(starting)))
		k, victim := startVictim(t, temp)
		least := 0
		if i >= kills/2 {
			k.hear()
			k.hear()
			least = 10
		}
		select {
		case <-time.After(moment):
		case <-t.Context().Done():
		}
		if alive := killAndLook(t, victim); alive < least {
			t.Errorf("only %d processes were alive at a kill of two sandboxes at work", alive)
		}
		if t.Failed() {
			t.Fatalf("killed after %v, number %d, seed %d", moment, i, seed)
		}
	}
	if now := mounts(t); now != before {
		t.Errorf("mounts before:\n%s\nafter:\n%s", before, now)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v %v", left, err)
	}
	t.Logf("%d kills, each within %v", kills, starting)
}

// mounts are those that a sandbox could have made: containers of others come and go with theirs.
func mounts(t *testing.T) string {
	t.Helper()
	var ours []string
	for _, line := range strings.Split(read(t, "/proc/self/mountinfo"), "\n") {
		if strings.Contains(line, " - proc ") || strings.Contains(line, " - tmpfs lockchaos ") {
			ours = append(ours, line)
		}
	}
	return strings.Join(ours, "\n")
}

func startVictim(t *testing.T, temp string) (*talker, *exec.Cmd) {
	t.Helper()
	k := newTalker(t)
	cmd := exec.Command("/proc/self/exe", "cells")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Stdout = k.childOut
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k.begun()
	return k, cmd
}

// killAndLook kills the victim and waits until none of its descendants and none
// of their namespaces is left. It returns how many processes there were.
func killAndLook(t *testing.T, victim *exec.Cmd) (alive int) {
	t.Helper()
	family := descendants(t, victim.Process.Pid)
	spaces := hoststest.KeepNamespaces(t, family...)
	defer spaces.Close()
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // signal: killed
	decided.Await(t, "every orphan has ended", func() bool {
		orphans := children(t, os.Getpid())
		for _, pid := range orphans {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // it is reaped when it has ended
		}
		return len(orphans) == 0
	})
	if left := spaces.Inhabited(); len(left) > 0 {
		t.Errorf("namespaces that are left: %v", left)
	}
	return len(family)
}

// TestAsOrdinaryUser runs the tests of this package once more without privileges.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 || hosts.Inside() {
		t.Skip("only root can become an ordinary user")
	}
	dir, err := os.MkdirTemp("", "ordinary")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary, temp := filepath.Join(dir, "hosts.test"), filepath.Join(dir, "tmp")
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile("/proc/self/exe", binary), os.Mkdir(temp, 0o755),
		os.Chmod(temp, 0o777)); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	cmd := exec.CommandContext(t.Context(), binary, "-test.v", "-test.timeout=5m", "-test.skip=^TestAsOrdinaryUser$")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+temp)
	cmd.Dir = temp
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestKill") && !strings.Contains(string(out), "--- SKIP: TestKill") {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- SKIP") || strings.Contains(line, "kills within") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(0o755), out.Close())
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parent returns the parent of a process that still exists; zombies do.
func parent(pid int) (ppid int, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ppid, err = strconv.Atoi(fields[1])
	return ppid, err == nil
}

func pids(t testing.TB) (all []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func children(t testing.TB, of int) []int {
	return slices.DeleteFunc(pids(t), func(pid int) bool { ppid, ok := parent(pid); return !ok || ppid != of })
}

// descendants returns a process and all that stem from it.
func descendants(t testing.TB, root int) []int {
	t.Helper()
	of := map[int][]int{}
	for _, pid := range pids(t) {
		if ppid, ok := parent(pid); ok {
			of[ppid] = append(of[ppid], pid)
		}
	}
	family := []int{root}
	for i := 0; i < len(family); i++ {
		family = append(family, of[family[i]]...)
	}
	return family
}
