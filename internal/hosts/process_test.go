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
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

func TestDeathIsNoticed(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "redis-1")
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, log := range map[string]io.Writer{"kept": nil, "writer": &bytes.Buffer{}, "file": file} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", "die", "10.88.0.2:6379")
			cmd.Stdout, cmd.Stderr = log, log
			before := monotime.Now()
			p, err := hs[0].Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			err = p.Wait(within(t))
			var died *hosts.DiedError
			if !errors.As(err, &died) || died.State.ExitCode() != 3 || died.Host != "redis-1" {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{"on host redis-1 died: exit status 3; the end of its log:", "line 4999\n",
				"cannot bind to 10.88.0.2:6379"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %q", want, err)
				}
			}
			if len(err.Error()) > 2000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			if p.Err() == nil || p.Gone() <= before || p.Gone() > monotime.Now() {
				t.Errorf("Err %v, Gone %d", p.Err(), p.Gone())
			}
		})
	}
}

func TestProcessLifeAndDeath(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a")
	p, k := verb(t, hs[0], "family")
	k.hear()
	k.hear()
	if p.Err() != nil || p.Gone() != 0 {
		t.Errorf("alive: Err %v, Gone %d", p.Err(), p.Gone())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	if err := p.Kill(within(t)); err != nil {
		t.Fatal(err)
	}
	if group, err := p.Group(); err != nil || len(group) > 0 {
		t.Errorf("killed, yet its group is %v (%v)", group, err)
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("Err: %v", err)
	}
	if err := p.Kill(within(t)); err != nil {
		t.Errorf("second kill: %v", err)
	}
	if err := p.Signal(unix.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal after the end: %v", err)
	}
	if _, err := hs[0].Start(exec.Command("/no/such/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start nothing: %v", err)
	}
}

func TestEscapersBelongToTheHost(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a")
	p, k := verb(t, hs[0], "family")
	child, _ := strconv.Atoi(k.hear())
	escaper, _ := strconv.Atoi(k.hear())
	group, err := p.Group()
	if want := []int{p.PID(), child}; err != nil || fmt.Sprint(group) != fmt.Sprint(want) {
		t.Errorf("group %v (%v), want %v", group, err, want)
	}
	all, err := hs[0].PIDs()
	if want := []int{p.PID(), child, escaper}; err != nil || fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("host %v (%v), want %v", all, err, want)
	}
	pause, err := hs[0].Stop(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, escaper); got != "T" {
		t.Errorf("the escaper is in state %s on a stopped host", got)
	}
	if err := pause.Resume(); err != nil {
		t.Error(err)
	}
	if err := hs[0].Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range all {
		// init reaps what is not our child
		decided.Await(t, fmt.Sprintf("process %d is gone", pid), func() bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) })
	}
}

func TestStopEvidence(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a")
	p, k := verb(t, hs[0], "family")
	child, _ := strconv.Atoi(k.hear())
	k.hear()
	const length = 100 * time.Millisecond
	for range 5 {
		pause, err := p.Stop(within(t))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for _, s := range pause.Threads {
			if s.State != 'T' {
				t.Errorf("thread %d of process %d is in state %c", s.TID, s.PID, s.State)
			}
			seen[s.PID] = true
		}
		if !seen[p.PID()] || !seen[child] || len(seen) != 2 {
			t.Errorf("stopped %v, want %d and its child %d", seen, p.PID(), child)
		}
		k.say("ping")
		_ = k.out.SetReadDeadline(time.Now().Add(length))
		if line, err := k.lines.ReadString('\n'); !os.IsTimeout(err) {
			t.Errorf("a stopped process said %q (%v)", line, err)
		}
		if err := pause.Resume(); err != nil {
			t.Fatal(err)
		}
		if got := k.hear(); got != "ping" {
			t.Errorf("after the pause it said %q", got)
		}
		if !(0 < pause.Signalled && pause.Signalled < pause.Stopped && pause.Stopped < pause.Resuming && pause.Resuming <= pause.Resumed) {
			t.Errorf("stamps out of order: %+v", pause)
		}
		if pause.Length() < length {
			t.Errorf("stopped for %v, want at least %v", pause.Length(), length)
		}
		n := len(pause.Threads)
		if want := fmt.Sprintf(`^state T on %d of %d threads, stopped (1\d\d|[2-9]\d\d) ms$|^state T on %d of %d threads, stopped \d+\.\d\d s$`, n, n, n, n); !regexp.MustCompile(want).MatchString(pause.Evidence()) {
			t.Errorf("evidence %q", pause.Evidence())
		}
		if err := pause.Resume(); err != nil {
			t.Errorf("second resume: %v", err)
		}
	}
}

func TestStopOfTheDead(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a")
	p, k := verb(t, hs[0], "echo")
	k.say("hello")
	k.hear()
	pause, err := p.Stop(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := pause.Resume(); err == nil || !strings.Contains(err.Error(), "has died") {
		t.Errorf("resume of one that was killed meanwhile: %v", err)
	}
	if got := pause.Evidence(); !strings.Contains(got, "before SIGCONT on 0 of 0") {
		t.Errorf("evidence %q", got)
	}
	if _, err := p.Stop(within(t)); err == nil {
		t.Error("stopped a dead process")
	}
	if _, err := hosts.Stop(within(t), []int{p.PID()}); err == nil {
		t.Error("stopped a dead process")
	}
	if _, err := hs[0].Stop(within(t)); err == nil {
		t.Error("stopped a host without a process")
	}
}

// Somebody else's SIGCONT ends a pause before its time: that must not go unnoticed.
func TestResumeOfTheRunning(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a")
	p, k := verb(t, hs[0], "echo")
	k.say("hello")
	k.hear()
	pause, err := hosts.Stop(within(t), []int{p.PID()})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	decided.Await(t, "it runs", func() bool { return stateOf(t, p.PID()) != "T" })
	if err := pause.Resume(); err == nil || !strings.Contains(err.Error(), "still stopped") {
		t.Errorf("got %v", err)
	}
}

// A stop that cannot be confirmed is undone.
func TestStopIsUndone(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a")
	p, k := verb(t, hs[0], "traced")
	k.hear()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Stop(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "state T on ") {
		t.Fatalf("stopped a process that a debugger holds: %v", err)
	}
	k.say("ping")
	if got := k.hear(); got != "ping" {
		t.Errorf("after the attempt it said %q", got)
	}
}

// stateOf is the state letter of a process's first thread.
func stateOf(t *testing.T, pid int) string {
	t.Helper()
	states, err := hosts.States([]int{pid})
	if err != nil {
		t.Fatal(err)
	}
	if len(states) == 0 {
		return "gone"
	}
	return string(states[0].State)
}
