//go:build linux

package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

// Pause is a stop of processes and the evidence for it. Stamps are monotime.Now readings.
//
// Signalled lies before the first SIGSTOP and Stopped after every thread was seen
// stopped, Resuming before the first SIGCONT and Resumed after the last. So nothing
// ran from Stopped to Resuming, and nothing was held up outside Signalled to Resumed.
type Pause struct {
	Signalled, Stopped, Resuming, Resumed int64
	// Threads are all living threads at Stopped, each in state T; Before those
	// just before SIGCONT, in whatever state.
	Threads, Before []ThreadState

	pids []int
	must []int
	once sync.Once
	err  error
}

// Stop freezes the process and everything in its group, as a stop-the-world collection
// would, and returns when /proc shows every thread stopped. If it cannot be confirmed
// before ctx ends, or the process dies meanwhile, the stop is undone and an error returned.
func (p *Process) Stop(ctx context.Context) (*Pause, error) {
	pause, err := stop(ctx, p.Group, []int{p.PID()})
	if err != nil {
		return nil, fmt.Errorf("stop %s on host %s: %w", p.name, p.host.Name, err)
	}
	return pause, nil
}

// StopOthers freezes everything in the process's group but one other process, as Stop does the
// whole group. The process itself has to be among what is frozen.
func (p *Process) StopOthers(ctx context.Context, spared int) (*Pause, error) {
	pause, err := stop(ctx, func() ([]int, error) {
		pids, err := p.Group()
		return without(pids, []int{spared}), err
	}, []int{p.PID()})
	if err != nil {
		return nil, fmt.Errorf("stop %s on host %s, but for process %d: %w", p.name, p.host.Name, spared, err)
	}
	return pause, nil
}

// Stop freezes every process on the host, as Process.Stop does one group.
func (h *Host) Stop(ctx context.Context) (*Pause, error) {
	pause, err := stop(ctx, h.PIDs, nil)
	if err != nil {
		return nil, fmt.Errorf("stop host %s: %w", h.Name, err)
	}
	return pause, nil
}

// The waits between two looks at /proc while threads stop: most do within 0.1 ms. A Go
// timer comes a millisecond late in an idle program, so the first waits are the kernel's.
const (
	eagerLooks = 40
	eagerStep  = 50 * time.Microsecond
	lookStep   = time.Millisecond
)

// stop freezes what list returns. A process may fork while it is being stopped,
// so it lists again until all that were seen are stopped and a further listing
// shows nobody new. The processes of must have to live through it.
func stop(ctx context.Context, list func() ([]int, error), must []int) (*Pause, error) {
	p := &Pause{Signalled: monotime.Now(), must: must}
	settled := false // all of p.pids were stopped when they were last looked at
	var freed []int  // those that were let go for a moment
	for look := 0; ; look++ {
		pids, err := list()
		if err != nil {
			return nil, p.undo(err)
		}
		fresh := without(pids, p.pids)
		if settled && len(fresh) == 0 {
			p.Stopped = monotime.Now()
			return p, nil
		}
		p.pids = append(p.pids, fresh...)
		if err := sendAll(append(fresh, freed...), unix.SIGSTOP); err != nil {
			return nil, p.undo(err)
		}
		freed = nil
		if p.Threads, err = living(p.pids, must); err != nil {
			return nil, p.undo(err)
		}
		if len(p.Threads) == 0 && len(pids) == 0 {
			return nil, p.undo(errors.New("no process is there"))
		}
		settled = len(p.Threads) > 0 && stopped(p.Threads) == len(p.Threads)
		if settled {
			continue
		}
		if look >= patientLooks && look%2 == 0 {
			if freed, err = p.unlock(); err != nil {
				return nil, p.undo(err)
			}
		}
		if err := breathe(ctx, look); err != nil {
			return nil, p.undo(fmt.Errorf("state T on %d of %d threads only: %w", stopped(p.Threads), len(p.Threads),
				err))
		}
	}
}

// patientLooks is how often threads are looked at before some are let go that
// may keep others from stopping.
const patientLooks = 20

// unlock lets those go that were stopped between vfork(2) and their program:
// their parents wait in the kernel for that, where no signal reaches them, and
// would never stop (shells, posix_spawn(3) and the runtimes of Go, Java and
// Python start programs so). The caller stops them again, a little further on.
func (p *Pause) unlock() (freed []int, err error) {
	stuck := map[int]bool{} // processes with a thread that waits in the kernel
	halted := map[int]bool{}
	for _, s := range p.Threads {
		switch s.State {
		case 'D':
			stuck[s.PID] = true
		case 'T':
			halted[s.PID] = true
		}
	}
	for pid := range halted {
		parent, err := parentOf(pid)
		if err != nil {
			return nil, err
		}
		if stuck[parent] {
			freed = append(freed, pid)
		}
	}
	return freed, sendAll(freed, unix.SIGCONT)
}

// breathe waits before the next look at /proc.
func breathe(ctx context.Context, look int) error {
	if look < eagerLooks {
		ts := unix.NsecToTimespec(int64(eagerStep))
		_ = unix.Nanosleep(&ts, nil) // cut short by a signal: the next look is a little early
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lookStep):
		return nil
	}
}

// undo lets what was stopped run on, and returns the error that made it necessary.
func (p *Pause) undo(because error) error {
	return errors.Join(because, sendAll(p.pids, unix.SIGCONT))
}

// Resume lets the processes run on. It is an error if one of them died or ran meanwhile; those
// that are left run on all the same. A second call does nothing and returns what the first did.
func (p *Pause) Resume() error {
	p.once.Do(func() { p.err = p.resume() })
	return p.err
}

func (p *Pause) resume() error {
	var err error
	p.Before, err = living(p.pids, p.must)
	if n := stopped(p.Before); err == nil && n < len(p.Before) {
		err = fmt.Errorf("only %d of %d threads were still stopped", n, len(p.Before))
	}
	if err == nil && len(p.Before) < len(p.Threads) {
		err = fmt.Errorf("%d of %d threads ended while they were stopped", len(p.Threads)-len(p.Before), len(p.Threads))
	}
	p.Resuming = monotime.Now()
	err = errors.Join(err, sendAll(p.pids, unix.SIGCONT))
	p.Resumed = monotime.Now()
	if err != nil {
		return fmt.Errorf("resume processes %v: %w", p.pids, err)
	}
	return nil
}

// Length returns how long the processes were certainly stopped, to this moment if they still are.
func (p *Pause) Length() time.Duration {
	if p.Resuming == 0 {
		return monotime.Since(p.Stopped)
	}
	return time.Duration(p.Resuming - p.Stopped)
}

// Evidence says what was seen, such as "state T on 9 of 9 threads, stopped 1.44 s".
func (p *Pause) Evidence() string {
	text := fmt.Sprintf("state T on %d of %d threads", stopped(p.Threads), len(p.Threads))
	if n := stopped(p.Before); p.Resuming != 0 && n != len(p.Threads) {
		text += fmt.Sprintf(", before SIGCONT on %d of %d", n, len(p.Before))
	}
	if d := p.Length(); d < time.Second {
		return fmt.Sprintf("%s, stopped %.0f ms", text, float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%s, stopped %.2f s", text, p.Length().Seconds())
}

// living returns the living threads of the processes. It is an error if a process of must has none.
func living(pids, must []int) ([]ThreadState, error) {
	all, err := States(pids)
	if err != nil {
		return nil, err
	}
	states := slices.DeleteFunc(all, ThreadState.dead)
	for _, pid := range must {
		if !slices.ContainsFunc(states, func(s ThreadState) bool { return s.PID == pid }) {
			return states, fmt.Errorf("process %d has died", pid)
		}
	}
	return states, nil
}

// stopped counts the threads in state T.
func stopped(states []ThreadState) (n int) {
	for _, s := range states {
		if s.State == 'T' {
			n++
		}
	}
	return n
}

// without returns the members of a that are not in b.
func without(a, b []int) []int {
	var fresh []int
	for _, x := range a {
		if !slices.Contains(b, x) {
			fresh = append(fresh, x)
		}
	}
	return fresh
}
