//go:build linux

package hosts

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

// Held is a process of somebody else's that is stopped by ptrace(2): all its
// threads stand still until Release or, because the kernel lets go of whom a
// dead tracer has stopped, until this program has ended in whatever way. So not
// even the program that would start this one again may stay stopped for ever.
type Held struct {
	// PID is the process, Threads how many of it stand still, all of them since
	// Stopped (a monotime.Now stamp).
	PID, Threads int
	Stopped      int64

	once    sync.Once
	release chan struct{}
	ended   chan error
	moving  []string // threads that were not stopped when it was let go
}

// holdStep is the pause between two looks for threads that were made meanwhile.
const holdStep = time.Millisecond

// Hold stops a process, and returns when all its threads stand still.
func Hold(ctx context.Context, pid int) (*Held, error) {
	h := &Held{PID: pid, release: make(chan struct{}), ended: make(chan error, 1)}
	stopped := make(chan error)
	go h.trace(ctx, stopped)
	if err := <-stopped; err != nil {
		return nil, fmt.Errorf("stop process %d: %w", pid, err)
	}
	return h, nil
}

// Release lets it go on, and returns since when it may (a monotime.Now stamp).
// The error says that it had not stood still.
func (h *Held) Release() (at int64, err error) {
	at = monotime.Now()
	h.once.Do(func() {
		close(h.release)
		if err = <-h.ended; err == nil && len(h.moving) > 0 {
			err = fmt.Errorf("threads of process %d were in states %v, not stopped", h.PID, h.moving)
		}
	})
	return at, err
}

// trace is the tracer, a thread of its own: only it can let go. It ends with its goroutine.
func (h *Held) trace(ctx context.Context, stopped chan<- error) {
	runtime.LockOSThread() // for good
	threads := map[int]unix.Signal{}
	err := h.stopAll(ctx, threads)
	if err != nil {
		letGo(threads)
		stopped <- err
		return
	}
	h.Threads, h.Stopped = len(threads), monotime.Now()
	stopped <- nil
	<-h.release
	h.moving, err = moving(h.PID, threads)
	h.ended <- errors.Join(err, letGo(threads))
}

// moving are the states of those threads that a tracer does not hold; "": it has ended.
func moving(pid int, threads map[int]unix.Signal) (states []string, err error) {
	all, err := States([]int{pid})
	now := map[int]string{}
	for _, s := range all {
		now[s.TID] = string(s.State)
	}
	for thread := range threads {
		if now[thread] != "t" {
			states = append(states, now[thread])
		}
	}
	return states, err
}

// stopAll stops threads until there are no others.
func (h *Held) stopAll(ctx context.Context, threads map[int]unix.Signal) error {
	for {
		now, err := numbers(fmt.Sprintf("/proc/%d/task", h.PID))
		if err != nil {
			return err
		}
		fresh := 0
		for _, thread := range now {
			if _, known := threads[thread]; known {
				continue
			}
			signal, err := seize(thread)
			if errors.Is(err, unix.ESRCH) {
				continue // it has ended
			}
			if err != nil {
				return err
			}
			threads[thread] = signal
			fresh++
		}
		if fresh == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(holdStep):
		}
	}
}

// seize stops a thread, and waits until it stands still. It returns the signal
// that the thread was about to be given, which must not be lost; 0: none.
func seize(thread int) (signal unix.Signal, err error) {
	if err := unix.PtraceSeize(thread); err != nil {
		return 0, fmt.Errorf("trace thread %d: %w", thread, err)
	}
	if err := unix.PtraceInterrupt(thread); err != nil {
		return 0, fmt.Errorf("stop thread %d: %w", thread, err)
	}
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(thread, &status, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("wait for thread %d: %w", thread, err)
		}
		break
	}
	switch {
	case !status.Stopped():
		return 0, unix.ESRCH
	case status.StopSignal() != unix.SIGTRAP:
		return status.StopSignal(), nil
	}
	return 0, nil
}

// letGo lets threads go on.
func letGo(threads map[int]unix.Signal) error {
	var errs []error
	for thread, signal := range threads {
		_, _, err := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(thread), 0, uintptr(signal), 0, 0)
		if err != 0 && err != unix.ESRCH {
			errs = append(errs, fmt.Errorf("let thread %d go on: %w", thread, err))
		}
	}
	return errors.Join(errs...)
}
