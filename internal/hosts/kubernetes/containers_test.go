package kubernetes

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// control is a control group of this machine, as a container's runtime makes
// them; the test is skipped where none may be made.
func control(t *testing.T) (id, dir string) {
	t.Helper()
	id = rand.Text()
	for _, root := range []string{"/sys/fs/cgroup/freezer", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		dir = filepath.Join(root, "lockchaos-test-"+id)
		if os.Mkdir(dir, 0o755) == nil {
			t.Cleanup(func() {
				if err := os.Remove(dir); err != nil {
					t.Error(err)
				}
			})
			return id, dir
		}
	}
	t.Skip("needs a control group of its own, which only root may make")
	return "", ""
}

// sleeper is a process that waits.
func sleeper(t *testing.T, how *syscall.SysProcAttr) *os.Process {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = how
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process
}

func TestProcessesOfAContainer(t *testing.T) {
	id, dir := control(t)
	if pids, err := processesOf(id); err != nil || len(pids) > 0 {
		t.Errorf("an empty container has processes: %v, %v", pids, err)
	}
	var want []int
	for _, how := range []*syscall.SysProcAttr{{}, {}, {Cloneflags: syscall.CLONE_NEWPID}, {}} {
		p := sleeper(t, how)
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(p.Pid)), 0o644); err != nil {
			t.Fatal(err)
		}
		if isFirst := first(p.Pid); isFirst != (how.Cloneflags != 0) {
			t.Errorf("process %d is the first of its namespace: %v", p.Pid, isFirst)
		}
		if how.Cloneflags != 0 {
			want = append([]int{p.Pid}, want...)
		} else {
			want = append(want, p.Pid)
		}
	}
	sleeper(t, nil) // of no container
	pids, err := processesOf(id)
	if err != nil || len(pids) != len(want) || pids[0] != want[0] {
		t.Fatalf("they are %v, %v, not %v", pids, err, want)
	}
	slices.Sort(pids)
	slices.Sort(want)
	if !slices.Equal(pids, want) {
		t.Errorf("they are %v, not %v", pids, want)
	}
	if got, err := firstOf(handedNode{ID: id}); err != nil || !first(got) {
		t.Errorf("the first is %d, %v", got, err)
	}
}

// TestNoContainer wants no process to be taken for one of a container that has
// no number, or none that lives.
func TestNoContainer(t *testing.T) {
	if pids, err := processesOf(""); err == nil {
		t.Errorf("without a number there are %v", pids)
	}
	if pid, err := firstOf(handedNode{ID: rand.Text(), Pod: "web"}); err == nil {
		t.Errorf("of no container there is %d", pid)
	}
	if first(os.Getpid()) && os.Getpid() != 1 || first(1<<30) {
		t.Error("this process, or none at all, is taken for the first of a container")
	}
	if got := statusLine(os.Getpid(), "PPid"); got != fmt.Sprint(os.Getppid()) {
		t.Errorf("the parent is %q", got)
	}
}
