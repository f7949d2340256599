//go:build linux

package hosts_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
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

func TestExitStatusIsKept(t *testing.T) {
	for verb, want := range map[string]int{"nothing": 0, "exit": 42, "suicide": 128 + 9} {
		err := start(t, hosts.Sandbox{}, verb).Wait()
		got := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			got = exit.ExitCode()
		} else if err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		if got != want {
			t.Errorf("%s: exit status %d, want %d", verb, got, want)
		}
	}
}

func TestResourcesReachInner(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("extra"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var out bytes.Buffer
	s := hosts.Sandbox{Stdout: &out, ExtraFiles: []*os.File{r}, Env: []string{"RESOURCE=env"}, Dir: "/usr"}
	if err := start(t, s, "resource").Wait(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "extra <nil> /usr env\n" {
		t.Errorf("got %q", got)
	}
}

// The pipes that inner was given must be inner's alone: a copy in init would hide their ends.
func TestInitKeepsNoExtraFile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := newTalker(t)
	in := start(t, hosts.Sandbox{Stdin: k.childIn, Stdout: k.childOut, ExtraFiles: []*os.File{w}}, "closer")
	k.begun()
	w.Close()
	if got := k.hear(); got != "closed" {
		t.Error(got)
	}
	_ = r.SetReadDeadline(time.Now().Add(limit))
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v; want end of file while the sandbox lives", n, err)
	}
	k.say("still there")
	if got := k.hear(); got != "still there" {
		t.Error(got)
	}
	k.in.Close()
	if err := in.Wait(); err != nil {
		t.Error(err)
	}
}

func TestInnerIsNobodySpecial(t *testing.T) {
	if !inside(t) {
		return
	}
	// A server that looks its user up finds it, on a machine without ordinary users, too.
	if _, err := user.LookupId(strconv.Itoa(os.Getuid())); err != nil || os.Getuid() == 0 || os.Getppid() != 1 {
		t.Errorf("uid %d (%v), parent %d; want a user that the machine knows, not 0, and 1", os.Getuid(), err, os.Getppid())
	}
	_, hs := network(t, "a")
	p, k := verb(t, hs[0], "echo")
	k.say("hello")
	k.hear()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		if !regexp.MustCompile(`(?m)^` + set + `:\s*0+$`).Match(status) {
			t.Errorf("a process on a host has capabilities:\n%s", status)
		}
	}
}

// What inner starts must not take itself for inner, and a stray variable must
// not make anybody believe it.
func TestStageIsNotInherited(t *testing.T) {
	if !hosts.Inside() {
		strayVariables(t)
	}
	if !inside(t) {
		return
	}
	_, hs := network(t, "a")
	_, k := verb(t, hs[0], "stage")
	if got := k.hear(); got != "false " {
		t.Errorf("a process on a host says %q", got)
	}
}

func strayVariables(t *testing.T) {
	for _, stray := range []string{"", "LOCKCHAOS_STAGE=init 0", "LOCKCHAOS_STAGE=inner 4026531840 /tmp", "LOCKCHAOS_STAGE=x"} {
		cmd := exec.Command("/proc/self/exe", "stage")
		cmd.Env = append(os.Environ(), stray)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "false \n" {
			t.Errorf("with %q: %q, %v", stray, out, err)
		}
	}
}

func TestCancelInterrupts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := newTalker(t)
	in, err := hosts.Sandbox{Stdout: k.childOut}.Start(ctx, "polite")
	if err != nil {
		t.Fatal(err)
	}
	k.begun()
	k.hear()
	cancel()
	if got := k.hear(); got != "interrupt" {
		t.Errorf("got %q", got)
	}
	if exit := (*exec.ExitError)(nil); !errors.As(in.Wait(), &exit) || exit.ExitCode() != 5 {
		t.Errorf("ended with %v, want exit status 5", in.Wait())
	}
}

func TestCancelKillsAfterGrace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := newTalker(t)
	const grace = 100 * time.Millisecond
	in, err := hosts.Sandbox{Stdout: k.childOut, Grace: grace}.Start(ctx, "stubborn")
	if err != nil {
		t.Fatal(err)
	}
	k.begun()
	k.hear()
	spaces := hoststest.KeepNamespaces(t, in.PID())
	begun := time.Now()
	cancel()
	if err := in.Wait(); err == nil {
		t.Error("ended without error")
	}
	if took := time.Since(begun); took < grace {
		t.Errorf("killed after %v, before the grace of %v", took, grace)
	}
	decided.Await(t, "the namespaces are gone", func() bool { return len(spaces.Inhabited()) == 0 })
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (hosts.Sandbox{}).Start(ctx, "nothing"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Cancelling at any moment of the start must neither hang nor leave anything.
func TestCancelWhileStarting(t *testing.T) {
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		in, err := hosts.Sandbox{Grace: time.Second}.Start(ctx, "forever")
		if err == nil {
			err = in.Wait()
		}
		if err == nil {
			t.Error("ended without error")
		}
		cancel()
	}
	decided.Await(t, "no child is left", func() bool { return len(children(t, os.Getpid())) == 0 })
}

func TestSignalReachesInner(t *testing.T) {
	k := newTalker(t)
	in := start(t, hosts.Sandbox{Stdout: k.childOut}, "polite")
	k.begun()
	k.hear()
	if err := in.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := k.hear(); got != "interrupt" {
		t.Errorf("got %q", got)
	}
	<-in.Done()
	if err := in.Signal(syscall.SIGINT); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal after the end: %v", err)
	}
}

// A sandbox must outlive the thread of the goroutine that started it.
func TestStartFromThreadsThatEnd(t *testing.T) {
	const n = 6
	talkers := make([]*talker, n)
	var wg sync.WaitGroup
	for i := range n {
		talkers[i] = newTalker(t)
		wg.Go(func() {
			runtime.LockOSThread() // and never unlock: the thread ends with this goroutine
			in, err := hosts.Sandbox{Stdin: talkers[i].childIn, Stdout: talkers[i].childOut}.Start(t.Context(), "echo")
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { in.Kill(); <-in.Done() })
		})
	}
	wg.Wait()
	for _, k := range talkers {
		k.begun()
	}
	for round := range 3 {
		for i, k := range talkers {
			line := fmt.Sprint("hello ", i, " ", round)
			k.say(line)
			if got := k.hear(); got != line {
				t.Errorf("got %q, want %q", got, line)
			}
		}
	}
}

func TestSandboxInSandbox(t *testing.T) {
	if !inside(t) {
		return
	}
	var out bytes.Buffer
	in := start(t, hosts.Sandbox{Stdout: &out, Stderr: &out}, "-test.run=^TestReach$", "-test.v")
	if err := in.Wait(); err != nil || !strings.Contains(out.String(), "--- PASS: TestReach") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestDataDir(t *testing.T) {
	if !hosts.Inside() {
		if _, err := hosts.DataDir("redis-1"); !errors.Is(err, hosts.ErrOutside) {
			t.Errorf("outside: %v", err)
		}
	}
	if !inside(t) {
		return
	}
	seen := map[string]bool{}
	for range 3 {
		dir, err := hosts.DataDir("redis-1")
		if err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 || seen[dir] {
			t.Errorf("%s is not fresh: %v %v", dir, entries, err)
		}
		seen[dir] = true
		if err := os.WriteFile(filepath.Join(dir, "x"), []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
			t.Errorf("%s is not on a tmpfs: %x %v", dir, st.Type, err)
		}
	}
	for _, bad := range []string{"", "..", "a/b", "*"} {
		if dir, err := hosts.DataDir(bad); err == nil {
			t.Errorf("%q gave %s", bad, dir)
		}
	}
}

func BenchmarkSandbox(b *testing.B) {
	for b.Loop() {
		if err := start(b, hosts.Sandbox{}, "nothing").Wait(); err != nil {
			b.Fatal(err)
		}
	}
}
