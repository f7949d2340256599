//go:build linux

package clockskew

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

// Stop stops every thread of a process and returns when all of them stand
// still. Nobody else may let the process run until resume has been called. A
// nil resume says that the process stays stopped.
type Stop func(ctx context.Context) (resume func() error, err error)

// Held is for a caller who holds the process stopped already, and keeps it so.
func Held(context.Context) (resume func() error, err error) { return nil, nil }

// StopWith makes the Target stop its process by stop, not by SIGSTOP and
// SIGCONT of its own; nil goes back to those.
func (t *Target) StopWith(stop Stop) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = stop
}

// stopLimit is how long a stop may take where the context sets no limit. It takes a
// millisecond, unless the machine is overloaded or a thread waits in the kernel for a disk.
const stopLimit = 10 * time.Second

// Change is the evidence of a change for which the process was stopped.
type Change struct {
	Tries   int           // stops that it took to find no thread on the code to change
	Stopped time.Duration // how long the last of them was
	// Fast: the skewed clocks read the true time by the vDSO's own code; else
	// by system call, three to five times slower.
	Fast bool
	// Waits are the places from which pthread_cond_timedwait was led to the
	// translation of deadlines: modules that call it.
	Waits int
}

// frozen carries out change while every thread of the target stands still,
// outside the bytes that change.
func (t *Target) frozen(ctx context.Context, change func() error) (c Change, err error) {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	stop := t.stop
	if stop == nil {
		stop = t.signal
	}
	for {
		c.Tries++
		began := monotime.Now()
		resume, err := stop(ctx)
		if err != nil {
			return c, err
		}
		err = t.whenSafe(change)
		if resume != nil {
			err = errors.Join(err, resume())
		}
		c.Stopped = monotime.Since(began)
		if !errors.Is(err, ErrUnsafe) {
			return c, err
		}
		if resume == nil {
			return c, fmt.Errorf("%w, and it stays stopped: let it run, stop it, and try again", err)
		}
		select { // let it run on
		case <-ctx.Done():
			return c, fmt.Errorf("%w, in %d stops: %w", err, c.Tries, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// whenSafe carries out change if all threads stand still at a safe place. It
// looks again afterwards whether they did so all the time.
func (t *Target) whenSafe(change func() error) error {
	threads, err := t.threads()
	if err != nil {
		return err
	}
	for _, th := range threads {
		if th.runs() {
			return fmt.Errorf("thread %s is in state %c though the process was said to be stopped", th.id, th.state)
		}
		if safe, err := t.safe(th); err != nil {
			return err
		} else if !safe {
			return ErrUnsafe
		}
	}
	if err := change(); err != nil {
		return err
	}
	after, err := t.threads()
	if err != nil {
		return err
	}
	for _, th := range after {
		if th.runs() {
			return fmt.Errorf("somebody woke it while its clocks were changed (thread %s is in state %c): it may crash; keep SIGCONT from it meanwhile", th.id, th.state)
		}
	}
	return nil
}

// signal stops the target by SIGSTOP.
func (t *Target) signal(ctx context.Context) (resume func() error, err error) {
	threads, err := t.threads()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(threads, func(th thread) bool { return th.state == 'T' }) {
		return nil, fmt.Errorf("it %w, by somebody else: let it run first, or pass Held to StopWith while you keep it stopped", ErrStopped)
	}
	if err := unix.PidfdSendSignal(t.pidfd, unix.SIGSTOP, nil, 0); err != nil {
		return nil, fmt.Errorf("SIGSTOP: %w", err)
	}
	resume = func() error {
		if err := unix.PidfdSendSignal(t.pidfd, unix.SIGCONT, nil, 0); err != nil {
			return fmt.Errorf("SIGCONT: %w", err)
		}
		return nil
	}
	if err := t.awaitStop(ctx); err != nil {
		return nil, errors.Join(err, resume())
	}
	return resume, nil
}

// awaitStop waits until two listings of the threads in a row show the same ones,
// all of them stopped: a thread that was just made may be missing in the first.
func (t *Target) awaitStop(ctx context.Context) error {
	var before []thread
	for look := 0; ; look++ {
		threads, err := t.threads()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(threads, thread.runs)
		if i < 0 && slices.Equal(before, threads) {
			return nil
		}
		before = threads
		if i < 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("SIGSTOP did not stop it: thread %s is in state %c%s: %w", threads[i].id,
				threads[i].state, t.tracer(), err)
		}
		// The kernel's sleep: a timer of Go comes a millisecond late in an idle program.
		ts := unix.NsecToTimespec(int64(50 * time.Microsecond))
		_ = unix.Nanosleep(&ts, nil) // cut short: the next look is early
	}
}

// tracer says who traces the target, if anybody: a debugger keeps it from stopping.
func (t *Target) tracer() string {
	status, err := t.dir.read("status")
	if err != nil {
		return ""
	}
	for l := range strings.Lines(string(status)) {
		if pid, ok := strings.CutPrefix(l, "TracerPid:"); ok && strings.TrimSpace(pid) != "0" {
			return " and traced by process " + strings.TrimSpace(pid)
		}
	}
	return ""
}

// thread is a living thread of the target.
type thread struct {
	id    string
	state byte
}

func (th thread) runs() bool { return th.state != 'T' }

// threads lists the living threads, in order.
func (t *Target) threads() (all []thread, err error) {
	ids, err := t.dir.tasks()
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	for _, id := range ids {
		stat, err := t.dir.read("task/" + id + "/stat")
		if err != nil {
			continue // it has just ended
		}
		// PID (COMM) STATE …, and COMM may hold anything.
		_, rest, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		if !ok || rest == "" {
			return nil, fmt.Errorf("thread %s: unreadable state %q", id, stat)
		}
		if rest[0] != 'Z' && rest[0] != 'X' {
			all = append(all, thread{id, rest[0]})
		}
	}
	if len(all) == 0 {
		return nil, unix.ESRCH
	}
	return all, nil
}

// frames is how much of a thread's stack is searched. A signal handler's frame
// lies at the top of a signal stack, which is smaller (Go 32 KiB, SIGSTKSZ at
// least 8 KiB), or just above what the handler uses.
const frames = 64 << 10

// safe reports whether a stopped thread is outside the bytes that change, and
// will not return into them from a signal handler: the frame of one holds the
// address at which it goes on, as a whole word on its stack.
func (t *Target) safe(th thread) (bool, error) {
	text, err := t.dir.read("task/" + th.id + "/syscall")
	if err != nil {
		return false, fmt.Errorf("thread %s: where it stands: %w", th.id, err)
	}
	f := strings.Fields(string(text)) // … SP PC
	if len(f) < 3 {
		return false, nil
	}
	sp, err1 := strconv.ParseUint(strings.TrimPrefix(f[len(f)-2], "0x"), 16, 64)
	pc, err2 := strconv.ParseUint(strings.TrimPrefix(f[len(f)-1], "0x"), 16, 64)
	if err := errors.Join(err1, err2); err != nil {
		return false, fmt.Errorf("thread %s: where it stands: %q: %w", th.id, text, err)
	}
	if t.changing(pc) {
		return false, nil
	}
	stack := make([]byte, frames)
	n, _ := t.mem.ReadAt(stack, int64(sp&^7)) // it may end before
	for i := 0; i+8 <= n; i += 8 {
		if t.changing(binary.LittleEndian.Uint64(stack[i:])) {
			return false, nil
		}
	}
	return true, nil
}

// changing reports whether a thread that goes on at an address would find half of
// an instruction there after a change.
func (t *Target) changing(pc uint64) bool {
	for _, e := range t.layout.entry {
		if at := t.base + e; e != 0 && pc > at && pc < at+jumpLen {
			return true
		}
	}
	return false
}
