//go:build linux

package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

// ErrShared: the process lives in the network namespace of the machine itself.
// A fault there would be one of the whole machine.
var ErrShared = errors.New("it has no network of its own: whatever was done to it would be done to this machine")

// Attach returns the host on which a process lives that somebody else started, in a container
// say, and that process. Faults reach both as they reach our own; Close lets go and kills
// nothing. log is the file in which its output is found, for error messages; it need not exist.
//
// The process is watched through a descriptor of its own (pidfd_open(2)), so its
// number being given to another is noticed. How it ended is known to its parent only.
//
// A host on which a process is stopped is refused with an error that is
// ErrStopped. It is not continued: another run may have stopped it, or
// somebody with a debugger, and may want it so.
func Attach(name string, pid int, addr netip.Addr, log string) (*Host, *Process, error) {
	fail := func(err error) (*Host, *Process, error) {
		return nil, nil, fmt.Errorf("attach to %s (process %d): %w", name, pid, err)
	}
	if !Inside() {
		return fail(ErrOutside)
	}
	died := func() error {
		last := &logEnd{files: []string{log}}
		last.settle(outputDelay)
		return &DiedError{Program: "the server", Host: name, PID: pid, Log: last.lines()}
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return fail(died())
	}
	if err != nil {
		return fail(fmt.Errorf("watch it: %w", err))
	}
	h := visitor(name, addr)
	ready := make(chan error)
	aside(func() { h.live(func() error { return enter(pid) }, ready) })
	err = <-ready
	if err == nil {
		err = h.foreign()
	}
	if err == nil {
		err = h.running()
	}
	if err != nil {
		if over(fd, err) { // it may die at any step: whatever failed, that is why
			err = died()
		}
		return fail(errors.Join(err, h.Close(), unix.Close(fd)))
	}
	p := &Process{host: h, pid: pid, name: commandOf(pid), log: &logEnd{files: []string{log}},
		done: make(chan struct{})}
	go p.watch(fd)
	return h, p, nil
}

// endLimit bounds how long a process may take to end that has lost its namespaces.
const endLimit = time.Second

// over reports whether the process of a descriptor has ended (see pidfd_open(2)), by what
// came of looking for its network. A process that ends loses its namespaces a moment before
// it has ended for those who look: where there is none any more, that moment is waited for.
func over(fd int, looked error) bool {
	limit := time.Duration(0)
	if errors.Is(looked, os.ErrNotExist) || errors.Is(looked, unix.ESRCH) {
		limit = endLimit
	}
	for end := time.Now().Add(limit); ; {
		// below 0 is for ever
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}},
			max(0, int(time.Until(end).Milliseconds())))
		if err != unix.EINTR {
			return err == nil && n == 1
		}
	}
}

// enter brings the calling thread into the network namespace of a process.
func enter(pid int) error {
	path := fmt.Sprintf("/proc/%d/ns/net", pid)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter its network namespace: %w", err)
	}
	return nil
}

// foreign refuses a host whose network is our own.
func (h *Host) foreign() error {
	own, err := inode("/proc/self/ns/net")
	if err != nil {
		return err
	}
	if own == h.inode {
		return ErrShared
	}
	return nil
}

// ErrStopped: a process on the host is stopped, by SIGSTOP say, and serves nobody.
var ErrStopped = errors.New("it is stopped (state T), as a run that was killed could have left it")

// running refuses a host on which a process is stopped.
func (h *Host) running() error {
	pids, err := h.PIDs()
	if err != nil {
		return err
	}
	var names, numbers []string
	for _, pid := range pids {
		threads, err := living([]int{pid}, nil)
		if err != nil {
			return err
		}
		if n := len(threads); n > 0 && stopped(threads) == n {
			names, numbers = append(names, commandOf(pid)), append(numbers, strconv.Itoa(pid))
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return fmt.Errorf("%s there: %w; if no other run is at work on it, let it run on: sudo kill -CONT %s",
		strings.Join(names, ", "), ErrStopped, strings.Join(numbers, " "))
}

// watch notices the end of a process that is not our child.
func (p *Process) watch(pidfd int) {
	defer unix.Close(pidfd)
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			p.waitErr = fmt.Errorf("watch %s on host %s: %w", p.name, p.host.Name, err)
		}
		break
	}
	p.gone = monotime.Now()
	p.log.settle(outputDelay)
	close(p.done)
}

// commandOf is the name of a process's program.
func commandOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "the server" // it has ended meanwhile
	}
	return strings.TrimSpace(string(text))
}

// settle waits until the log files have not grown for the given time: somebody
// else carries there what a dead process printed.
func (l *logEnd) settle(quiet time.Duration) {
	for last, unchanged := int64(-1), time.Now(); time.Since(unchanged) < quiet; <-time.After(quiet / 10) {
		var size int64
		for _, name := range l.files {
			if info, err := os.Stat(name); err == nil {
				size += info.Size()
			}
		}
		if size != last {
			last, unchanged = size, time.Now()
		}
	}
}
