package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// healLimit bounds every wait of these tests; most of them take milliseconds.
const healLimit = decided.Limit

var healingRuns atomic.Int64

// startHealing starts lockchaos on a case.
func startHealing(t *testing.T, kind string, c healingCase) *healingRun {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if c.adapter != "" {
		c.adapter = skeletonCommand(t, c.adapter, "")
	}
	dir := t.TempDir()
	r := &healingRun{done: make(chan struct{}), dir: filepath.Join(dir, "out"), temp: filepath.Join(dir, "tmp"),
		before: leavingsNow(t), spaces: hoststest.KeepNamespaces(t)}
	r.mark = fmt.Sprintf("LOCKCHAOS_TEST_MARK=heal-%d-%d", os.Getpid(), healingRuns.Add(1))
	// testscript knows the program by its name
	program, file := filepath.Join(dir, "lockchaos"), filepath.Join(dir, "heal.yaml")
	if err := errors.Join(os.Mkdir(r.temp, 0o755), os.Symlink(exe, program),
		os.WriteFile(file, []byte(healingSuite+c.scenario(healingName, kind, "2m")), 0o644)); err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(program, "run", file, "--runtime", runtimes.Local, "--out", r.dir, "--seed", "1", "--retries", "0")
	r.cmd.Env = append(os.Environ(), r.mark, "TMPDIR="+r.temp)
	// no pipe: orphans of a killed program hold it for a moment
	out, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r.cmd.Stdout, r.cmd.Stderr = out, out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // of a test that failed
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait() // how it ended is looked at by over
	}()
	return r
}

// said is what the program has printed so far.
func (r *healingRun) said() string {
	text, _ := os.ReadFile(filepath.Join(filepath.Dir(r.dir), "output"))
	return string(text)
}

// history is the history's file.
func (r *healingRun) history(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir, "*", runs.FolderOf(healingName), runs.HistoryFile))
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}

// struck waits until a fault is in effect, and then for the moment.
func (r *healingRun) struck(t *testing.T, moment time.Duration) {
	t.Helper()
	awaitThat(t, "a fault strikes", func() bool {
		if r.ended() {
			t.Fatalf("it ended before a fault struck: %v\n%s", r.cmd.ProcessState, r.said())
		}
		text, err := os.ReadFile(r.history(t))
		return err == nil && bytes.Contains(text, []byte(`"phase":"begin"`))
	})
	<-time.After(moment)
	r.spaces = hoststest.KeepNamespaces(t, marked(t, r.mark)...)
}

// find returns the process of the run whose arguments are these, after the program.
func (r *healingRun) find(t *testing.T, args ...string) int {
	t.Helper()
	for _, pid := range marked(t, r.mark) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words := strings.Split(string(text), "\x00")
		if len(words) > len(args) && slices.Equal(words[1:1+len(args)], args) && !r.isInit(pid) {
			return pid
		}
	}
	t.Fatalf("no process %v", args)
	return 0
}

// inner is the process that runs the scenario.
func (r *healingRun) inner(t *testing.T) int {
	t.Helper()
	return r.find(t, "scenario")
}

// isInit tells of the init of a sandbox, which has the arguments of the process
// that it starts: it is number 1 inside.
func (r *healingRun) isInit(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			all := strings.Fields(ids)
			return all[len(all)-1] == "1"
		}
	}
	return false
}

func (r *healingRun) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (r *healingRun) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// over waits for the end of the program, which must be as it should.
func (r *healingRun) over(t *testing.T, right func(*os.ProcessState) bool) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(healLimit):
		t.Fatalf("it has not ended within %v:\n%s", healLimit, r.said())
	}
	if !right(r.cmd.ProcessState) {
		t.Errorf("it ended with %v:\n%s", r.cmd.ProcessState, r.said())
	}
}

// leavings are what a fault may leave in our own namespaces.
type leavings struct {
	tables, queues, groups []string
}

func leavingsNow(t *testing.T) (l leavings) {
	t.Helper()
	if conn, err := nftables.New(); err == nil {
		if tables, err := conn.ListTables(); err == nil {
			for _, table := range tables {
				l.tables = append(l.tables, table.Name)
			}
		}
	}
	l.queues = linesOf("/proc/self/net/netfilter/nfnetlink_queue", "")
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), "lockchaos") {
			l.groups = append(l.groups, path)
		}
		return nil
	})
	return l
}

// linesOf lists the lines of a file that contain a word.
func linesOf(file, word string) (lines []string) {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return lines
}

// nothingLeft waits until every process of the run has ended, and looks for
// anything else that may be left of it.
func (r *healingRun) nothingLeft(t *testing.T) {
	t.Helper()
	awaitThat(t, "every process has ended", func() bool { return len(marked(t, r.mark)) == 0 })
	var left []string
	awaitThat(t, "no namespace of it is inhabited", func() bool {
		left = r.spaces.Inhabited()
		return len(left) == 0
	}, &left)
	now := leavingsNow(t)
	for _, kind := range []struct {
		name        string
		before, now []string
		still       func() []string
	}{
		{"table of the packet filter", r.before.tables, now.tables, func() []string { return leavingsNow(t).tables }},
		{"packet queue", r.before.queues, now.queues, func() []string { return leavingsNow(t).queues }},
		{"control group", r.before.groups, now.groups, func() []string { return leavingsNow(t).groups }},
	} {
		for _, one := range kind.now {
			if !slices.Contains(kind.before, one) { // of another test, perhaps: then it goes, too
				awaitThat(t, "a "+kind.name+" goes: "+one, func() bool { return !slices.Contains(kind.still(), one) })
			}
		}
	}
	if mounts := linesOf("/proc/self/mountinfo", filepath.Dir(r.dir)); len(mounts) > 0 {
		t.Errorf("mounts left: %v", mounts)
	}
	if files, err := os.ReadDir(r.temp); err != nil || len(files) > 0 {
		t.Errorf("temporary files left: %v %v", files, err)
	}
}

// awaitThat waits until a condition holds. Of one that does not, it tells the particulars.
func awaitThat(t *testing.T, what string, holds func() bool, particulars ...*[]string) {
	t.Helper()
	for limit := time.Now().Add(healLimit); !holds(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(limit) {
			for _, p := range particulars {
				t.Log(strings.Join(*p, "\n"))
			}
			t.Fatalf("within %v it has not come to pass that %s", healLimit, what)
		}
	}
}
