//go:build linux

package clockskew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"golang.org/x/sys/unix"
)

func isGone(err error) bool { return errors.Is(err, ErrGone) }

// TestProcessExitsMeanwhile: every method says that the process is gone, as a
// zombie and after it was waited for.
func TestProcessExitsMeanwhile(t *testing.T) {
	p := newProbe(t)
	must(t)(p.target.Install(t.Context()))
	ok(t, p.cmd.Process.Kill())
	check := func(what string) {
		t.Helper()
		_, install := p.target.Install(t.Context())
		_, restore := p.target.Restore(t.Context())
		_, now := p.target.Now()
		_, installed := p.target.Installed()
		for name, err := range map[string]error{
			"Install": install, "Restore": restore, "Now": now, "Installed": installed,
			"Set": p.target.Set(t.Context(), Skew{}), "Heal": p.target.Heal(t.Context()),
		} {
			if !isGone(err) || !strings.Contains(err.Error(), strconv.Itoa(p.target.PID())) {
				t.Errorf("%s: %s: %v", what, name, err)
			}
		}
	}
	var info unix.Siginfo
	// a zombie now
	ok(t, unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil))
	check("zombie")
	_ = p.cmd.Wait() // by our kill
	check("waited for")
}

// TestPIDIsUsedAgain: a Target does nothing to another process that has got its PID.
func TestPIDIsUsedAgain(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "reuse")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EACCES) {
		needed.Be(t, fmt.Errorf("namespaces: %w", err))
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Opening a process that exits at that very moment says so, and nothing else,
// to an ordinary user too.
func TestOpenWhileItExits(t *testing.T) {
	for range 300 {
		cmd := exec.Command("sleep", "60")
		ok(t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // by our kill
		}()
		for open := true; open; {
			target, err := Open(cmd.Process.Pid)
			if err == nil {
				target.Close()
			} else if open = false; !isGone(err) {
				t.Errorf("%v", err)
			}
		}
		<-ended
	}
}

func init() { verbs["reuse"] = reuse }

// reuse is process 1 of a PID namespace: it gives a PID to a second process.
func reuse([]string) error {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	first, err := startProbe(ctx)
	if err != nil {
		return err
	}
	pid := first.cmd.Process.Pid
	_ = first.cmd.Process.Kill()
	_ = first.cmd.Wait() // by our kill
	var second *probe
	for second == nil || second.cmd.Process.Pid != pid {
		if second != nil {
			second.stop()
		}
		// Another thread of ours may take it.
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			return err
		}
		if second, err = startProbe(ctx); err != nil {
			return err
		}
	}
	defer second.stop()
	_, install := first.target.Install(ctx)
	for name, err := range map[string]error{"Install": install, "Heal": first.target.Heal(ctx), "Set": first.target.Set(ctx, Skew{})} {
		if !isGone(err) {
			return fmt.Errorf("%s on the first owner of PID %d: %v", name, pid, err)
		}
	}
	if installed, err := second.target.Installed(); err != nil || installed {
		return fmt.Errorf("the second owner: installed %v, %v", installed, err)
	}
	_, err = second.read(unix.CLOCK_REALTIME) // it runs
	return err
}

// state is the letter of a process's state.
func processState(t testing.TB, pid int) byte {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	ok(t, err)
	return stat[strings.LastIndexByte(string(stat), ')')+2]
}

// awaitState waits for a process's state.
func awaitState(t testing.TB, pid int, want byte) {
	t.Helper()
	for end := time.Now().Add(patience); processState(t, pid) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is in state %c, want %c", pid, processState(t, pid), want)
		}
	}
}

// TestStopsOfOthersAreLeftAlone: a process that somebody stopped is not woken;
// who holds it can say so.
func TestStopsOfOthersAreLeftAlone(t *testing.T) {
	p := newProbe(t)
	pid := p.cmd.Process.Pid
	ok(t, unix.Kill(pid, unix.SIGSTOP))
	awaitState(t, pid, 'T')
	if _, err := p.target.Install(t.Context()); !errors.Is(err, ErrStopped) {
		t.Errorf("Install: %v", err)
	}
	p.target.StopWith(Held)
	c := must(t)(p.target.Install(t.Context()))
	if c.Tries != 1 {
		t.Errorf("%d tries", c.Tries)
	}
	ok(t, p.target.Set(t.Context(), Skew{Wall: Clock{Offset: time.Hour}, Mono: Clock{Rate: 0.5}}))
	if s := processState(t, pid); s != 'T' {
		t.Errorf("it was woken: state %c", s)
	}
	ok(t, unix.Kill(pid, unix.SIGCONT))
	p.expect(t, "set while stopped", unix.CLOCK_REALTIME, time.Hour)
	if _, err := p.target.Restore(t.Context()); err == nil || !strings.Contains(err.Error(), "state") {
		t.Errorf("Held though it runs: %v", err)
	}
	stops := 0
	p.target.StopWith(func(ctx context.Context) (func() error, error) {
		stops++
		return p.target.signal(ctx)
	})
	must(t)(p.target.Restore(t.Context()))
	if stops != 1 {
		t.Errorf("%d stops by the caller's own way", stops)
	}
	p.expect(t, "restored", unix.CLOCK_REALTIME, 0)
	failed := errors.New("not today")
	p.target.StopWith(func(context.Context) (func() error, error) { return nil, failed })
	if _, err := p.target.Install(t.Context()); !errors.Is(err, failed) {
		t.Errorf("a stop that fails: %v", err)
	}
}

// TestUnsafePlace: a thread that stands in the middle of what changes, or will
// return there from a signal handler, is seen.
func TestUnsafePlace(t *testing.T) {
	p := newProbe(t)
	for offset, want := range map[uint64]bool{0: false, 1: true, jumpLen - 1: true, jumpLen: false} {
		if got := p.target.changing(p.target.base + p.target.layout.entry[clockGettime] + offset); got != want {
			t.Errorf("entry+%d: %v", offset, got)
		}
	}
	// The probe waits in read; its request, which lies on its stack, looks like
	// a frame of a handler that returns into an entry.
	half := make([]byte, 16)
	at := p.target.base + p.target.layout.entry[clockGettime] + 1
	for i := range 8 {
		half[i] = byte(at >> (8 * i))
	}
	if _, err := p.ask.Write(half); err != nil {
		t.Fatal(err)
	}
	pipe := int(p.ask.(interface{ Fd() uintptr }).Fd())
	for left := 1; left > 0; {
		var err error
		left, err = unix.IoctlGetInt(pipe, unix.TIOCINQ)
		ok(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	p.target.StopWith(func(ctx context.Context) (func() error, error) {
		if tries++; tries == 3 {
			cancel()
		}
		return p.target.signal(context.WithoutCancel(ctx))
	})
	c, err := p.target.Install(ctx)
	if !errors.Is(err, ErrUnsafe) || !errors.Is(err, context.Canceled) || c.Tries != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	if installed, err := p.target.Installed(); err != nil || installed {
		t.Errorf("installed all the same: %v, %v", installed, err)
	}
	awaitState(t, p.cmd.Process.Pid, 'S')
}

func init() { verbs["try"] = try }

// try opens the process that the first argument names, or tries Supported.
func try(args []string) error {
	if len(args) == 0 {
		return Supported(context.Background())
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	_, err = Open(pid)
	return err
}

// TestAsOrdinaryUser: own children can be changed without root; a process of
// another user cannot, and the error says so.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	dir, err := os.MkdirTemp("", "clockskew")
	ok(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	ok(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "test")
	from, err := os.Open("/proc/self/exe")
	ok(t, err)
	defer from.Close()
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	ok(t, err)
	_, err = io.Copy(to, from)
	ok(t, errors.Join(err, to.Close()))
	as := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"try"}, args...)...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := as(); err != nil {
		t.Errorf("the self-test as an ordinary user: %v\n%s", err, out)
	}
	out, err := as(strconv.Itoa(os.Getpid()))
	if want := "belongs to uid 0, this program to 65534"; err == nil || !strings.Contains(out, want) {
		t.Errorf("%v\n%s\nwant %q", err, out, want)
	}
}
