//go:build linux

package hosts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fakeProc is a /proc in a folder, and a clock, in ms.
type fakeProc struct {
	t     *testing.T
	waits *Waits
	ms    int64
}

// watchFake watches hosts a and b of a fake /proc for waits of 50 ms: processes
// 1 to 99 live on a, up to 199 on b, the others elsewhere.
func watchFake(t *testing.T) (p *fakeProc, a, b *Host) {
	a, b = &Host{Name: "a"}, &Host{Name: "b"}
	p = &fakeProc{t: t}
	p.waits = &Waits{bound: 50e6, proc: t.TempDir(), now: func() int64 { return p.ms * 1e6 }, homeOf: func(pid int) (*Host, error) {
		switch {
		case pid < 100:
			return a, nil
		case pid < 200:
			return b, nil
		}
		return nil, nil
	}}
	return p, a, b
}

func (p *fakeProc) dir(pid, tid int) string {
	return filepath.Join(p.waits.proc, fmt.Sprint(pid), "task", fmt.Sprint(tid))
}

// has makes a thread one that has waited so many ms in its life.
func (p *fakeProc) has(pid, tid int, ms float64) {
	p.t.Helper()
	dir := p.dir(pid, tid)
	if err := errors.Join(os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "schedstat"), fmt.Appendf(nil, "123 %d 7\n", int64(ms*1e6)), 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

// look looks after so many ms, and tells what was found: "a 10-80 thread 1/2 60".
func (p *fakeProc) look(after int64) string {
	p.t.Helper()
	p.ms += after
	long, err := p.waits.Look()
	if err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, w := range long {
		all = append(all, fmt.Sprintf("%s %d-%d thread %d/%d %d", w.Host.Name, w.From/1e6, w.To/1e6, w.PID, w.TID, w.For/time.Millisecond))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (p *fakeProc) wants(after int64, want string) {
	p.t.Helper()
	if got := p.look(after); got != want {
		p.t.Errorf("at %d ms: %q, want %q", p.ms, got, want)
	}
}

// A wait is told when it is over, from before it can have begun. What a thread
// waited before anybody watched is not told.
func TestWaitInOnePiece(t *testing.T) {
	p, _, _ := watchFake(t)
	p.has(1, 1, 1000)
	p.wants(100, "")
	p.wants(25, "") // it waits, and the kernel counts that when it runs
	p.wants(25, "")
	p.wants(25, "")
	p.has(1, 1, 1060)
	p.wants(25, "a 115-200 thread 1/1 60")
	p.wants(25, "")
	p.has(1, 1, 1109)
	p.wants(25, "") // below the bound
}

// Many short waits are a stall if they make up half of the time; a third of it
// is an ordinary busy machine.
func TestWaitsInPieces(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  bool
	}{{0.3, false}, {0.45, false}, {0.6, true}, {0.95, true}} {
		p, _, _ := watchFake(t)
		p.has(1, 2, 0)
		p.wants(25, "")
		found := 0
		for i := range 80 {
			p.has(1, 2, float64(i+1)*25*c.share)
			if got := p.look(25); got != "" {
				found++
			}
		}
		if (found > 0) != c.want || found > 40 {
			t.Errorf("a thread that waits for %.0f %% of 2 s stalled %d times", 100*c.share, found)
		}
	}
}

// Threads and processes come and go: of a new one every wait counts, and one
// that has gone is no error.
func TestWaitsOfThreadsThatComeAndGo(t *testing.T) {
	p, _, _ := watchFake(t)
	p.has(1, 1, 0)
	p.wants(25, "")
	p.has(1, 7, 55)
	p.wants(25, "a 0-50 thread 1/7 50")
	p.has(2, 2, 70)
	p.wants(25, "") // mostly the same time, told before
	if err := os.RemoveAll(p.dir(1, 7)); err != nil {
		t.Fatal(err)
	}
	p.wants(25, "")
	p.has(1, 7, 51) // another thread under the old number
	p.wants(25, "a 50-125 thread 1/7 51")
	p.has(3, 3, 0)
	p.wants(25, "")
	// it ends just now
	if err := unix.Dup2(schedstatOfTheDead(t), p.waits.threads[3].fd); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.dir(3, 3), "schedstat")); err != nil {
		t.Fatal(err)
	}
	p.wants(25, "")
	p.wants(25, "")
	if n := len(p.waits.threads); n != 3 {
		t.Errorf("%d threads are remembered, 3 live", n)
	}
	p.waits.Close()
	if n := len(p.waits.threads); n != 0 {
		t.Errorf("%d threads are remembered when nobody watches", n)
	}
}

// schedstatOfTheDead opens the file of a thread that has ended since.
func schedstatOfTheDead(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/schedstat", cmd.Process.Pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if n, err := unix.Pread(fd, make([]byte, 9), 0); err == nil {
		t.Fatalf("%d bytes of a thread that has ended", n)
	}
	return fd
}

// Each host has its own waits, and no time of a host is told twice.
func TestWaitsByHost(t *testing.T) {
	p, _, _ := watchFake(t)
	for _, pid := range []int{1, 2, 100, 300} {
		p.has(pid, pid, 0)
	}
	p.wants(100, "")
	for _, pid := range []int{1, 2, 100, 300} {
		p.has(pid, pid, min(78+float64(pid), 85))
	}
	p.wants(100, "a 20-200 thread 2/2 80, b 15-200 thread 100/100 85")
	p.has(1, 1, 140)
	p.wants(60, "a 200-260 thread 1/1 60")
	p.has(2, 2, 140)
	p.wants(20, "")
	p.has(2, 2, 300) // of which 55 ms have not been told
	p.wants(35, "a 260-315 thread 2/2 55")
}

// What can't be read is an error: nobody must be taken for undisturbed who was not looked at.
func TestWaitsThatCannotBeRead(t *testing.T) {
	p, _, _ := watchFake(t)
	p.has(1, 1, 0)
	p.wants(25, "")
	for _, text := range []string{"", "1", "1 x 2"} {
		if err := os.WriteFile(filepath.Join(p.dir(1, 1), "schedstat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := p.waits.Look(); err == nil || !strings.Contains(err.Error(), "waits of process 1") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
