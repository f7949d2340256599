//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/redact"
	"golang.org/x/sys/unix"
)

// exitLimit is how long an adapter whose input has ended may take to end.
const exitLimit = 5 * time.Second

// Open starts the adapter of the configuration, and says hello.
func Open(ctx context.Context, c clients.Config) (clients.Lock, error) {
	if c.Adapter == nil || c.Adapter.Command == "" {
		return nil, errors.New("a lock that is a program needs its command line")
	}
	if err := adoptOrphans(); err != nil {
		return nil, err
	}
	most, err := adapter.MemoryLimit(c.Adapter.Memory)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(c.Adapter.Command, c.Adapter.Dir, os.Stderr)
	if err != nil {
		return nil, err
	}
	l := &lock{process: p, times: realTimes, opened: c.Open, blind: c.Adapter.ClockFaults,
		lost: make(chan clients.Loss, 100), grants: map[string]int64{}}
	var j *job // nil: it is a lock
	tell := l.tell
	if c.Every != 0 || c.Adapter.Leader {
		j = newJob(l, c)
		tell = j.tell
	}
	conn := adapter.NewConn(p.in, p.out, adapter.Options{Command: c.Adapter.Command, Process: p, Lost: tell})
	if l.conn = conn; j != nil {
		j.gone = conn.Gone()
	}
	go adapter.WatchMemory(p.cmd.Process.Pid, most, p.exited, func(what string) {
		_ = l.conn.Break("%s", what) // the next caller is told
		_ = killFamily()             // what can't be killed is killed with the worker
	})
	err = l.hello(ctx, c)
	if err == nil {
		err = l.checkReachable()
	}
	if err != nil {
		l.conn.Expect()
		now, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		_ = p.end(now) // what went wrong before says more
		return nil, err
	}
	if j != nil {
		return j, nil
	}
	return l.able(), nil
}

// checkReachable demands that all that came of the adapter is where faults strike.
func (l *lock) checkReachable() error {
	what, err := strays()
	if err != nil {
		return err
	}
	if what != "" {
		return l.conn.Break("started what faults do not reach: %s", what)
	}
	return nil
}

// process is an adapter's process.
type process struct {
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	log    *Tail
	safe   *redact.Writer // where log leads to
	exited chan struct{}
	how    string // set before exited is closed
	once   sync.Once
	ended  error
}

// startProcess starts the command line in this process's own group. What it
// prints on standard error goes to log.
func startProcess(command, dir string, log io.Writer) (*process, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the adapter %q: %w", command, err)
	}
	defer inRead.Close()
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the adapter %q: %w", command, err), inWrite.Close())
	}
	defer outWrite.Close()
	safe := redact.NewWriter(log)
	p := &process{in: inWrite, out: outRead, log: NewTail(safe), safe: safe, exited: make(chan struct{})}
	p.cmd = adapter.Command(command, dir)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inRead, outWrite, p.log
	p.cmd.WaitDelay = 250 * time.Millisecond // descendants may hold standard error open
	ended, err := Tied(p.cmd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the adapter %q: %w", command, err), inWrite.Close(), outRead.Close())
	}
	go p.live(ended)
	return p, nil
}

// Tied starts a command which the kernel kills when this process ends. The channel gets what
// waiting for the command's end came to.
func Tied(cmd *exec.Cmd) (ended <-chan error, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	started, waited := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the death of the thread that forked would kill the command
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			waited <- cmd.Wait()
		}
	}()
	return waited, <-started
}

// live notes how the process ended.
func (p *process) live(ended <-chan error) {
	err := <-ended
	_ = p.safe.Flush() // a log that can't be written must not end the adapter
	p.how = p.cmd.ProcessState.String()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		p.how = err.Error()
	}
	close(p.exited)
}

func (p *process) Exited() <-chan struct{} { return p.exited }

func (p *process) How() string {
	<-p.exited
	return p.how
}

func (p *process) Log() string { return p.log.String() }

// end ends the adapter's input and waits for its end. What does not end by
// itself is killed, with all that it started; then the error says so.
func (p *process) end(ctx context.Context) error {
	p.once.Do(func() { p.ended = p.finish(ctx) })
	return p.ended
}

func (p *process) finish(ctx context.Context) error {
	err := p.in.Close()
	ctx, cancel := context.WithTimeout(ctx, exitLimit)
	defer cancel()
	select {
	case <-p.exited:
	case <-ctx.Done():
		err = errors.Join(err, errors.New("did not end when its standard input did, and was killed"))
	}
	return errors.Join(err, killFamily(), p.out.Close())
}

// killFamily kills every descendant of this process, until there is none: one
// may fork while it is looked at.
func killFamily() error {
	const rounds, pause = 100, 5 * time.Millisecond
	var left []proc
	for range rounds {
		var err error
		if left, err = descendants(os.Getpid()); err != nil || len(left) == 0 {
			return err
		}
		for _, d := range left {
			_ = unix.Kill(d.pid, unix.SIGKILL) // it may be gone by now
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("process %d (%s) can't be killed", left[0].pid, left[0].name)
}
