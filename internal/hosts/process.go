//go:build linux

package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sys/unix"
)

// Process is a program running on a host, with whatever it forked: a process group of its own.
type Process struct {
	host *Host
	pid  int
	name string    // for messages
	cmd  *exec.Cmd // nil where somebody else started it
	log  *logEnd
	done chan struct{}
	// Set before done is closed.
	gone    int64
	waitErr error
}

// outputDelay is how long a dead process's output is waited for, where a
// descendant that lives on keeps the pipe open.
const outputDelay = 250 * time.Millisecond

// Start starts cmd on the host, in a process group of its own and without
// capabilities. It is killed when the host is closed.
//
// The end of what it prints is kept for error messages: of Stdout and Stderr where they are
// nil, a regular file, or a writer other than an *os.File. Do not call cmd.Wait: the end is
// noticed here. To read what the process prints while it runs, give it the end of an os.Pipe,
// not cmd.StdoutPipe: that one is closed when the process ends, with lines still unread in it.
func (h *Host) Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pgid = 0
	// the parent is the host's thread: it lives as long as the host
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = outputDelay
	}
	if cmd.Path == self && os.Getenv(gcVar) == "" {
		cmd.Env = append(cmd.Environ(), gcVar+"="+gcPercent)
	}
	p := &Process{host: h, cmd: cmd, log: keepLog(cmd), done: make(chan struct{})}
	if err := h.Do(cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s on host %s: %w", cmd.Path, h.Name, err)
	}
	p.pid, p.name = cmd.Process.Pid, programName(cmd)
	go p.reap()
	return p, nil
}

// self is this very program. A client or a node of it holds little, and lives for
// seconds: with the usual setting its garbage is collected once while it starts, and many
// times a second while it works, which together takes a fifth of its processor time.
const (
	self      = "/proc/self/exe"
	gcVar     = "GOGC"
	gcPercent = "400"
)

// reap notices the end, once.
func (p *Process) reap() {
	p.waitErr = p.cmd.Wait()
	p.gone = monotime.Now()
	close(p.done)
}

// PID is the process's number inside the sandbox; it is also that of its process group.
func (p *Process) PID() int { return p.pid }

// Host returns where the process runs.
func (p *Process) Host() *Host { return p.host }

// Done is closed when the process has ended and its output is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Gone returns a stamp (monotime.Now) by which the process had certainly ended,
// or 0 while it lives.
func (p *Process) Gone() int64 {
	select {
	case <-p.done:
		return p.gone
	default:
		return 0
	}
}

// Err returns nil while the process lives, and a *DiedError as soon as it has
// ended, with whatever status.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.died()
	default:
		return nil
	}
}

// Wait waits for the end of the process. It returns nil if that was an exit with status 0,
// else (and where the status is not known) a *DiedError; an error of ctx if that came first.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		if p.cmd != nil && (p.waitErr == nil || errors.Is(p.waitErr, exec.ErrWaitDelay)) {
			return nil
		}
		return p.died()
	case <-ctx.Done():
		return fmt.Errorf("wait for %s on host %s to end: %w", p.name, p.host.Name, ctx.Err())
	}
}

// Log returns the last lines that the process printed (see Start); possibly none.
func (p *Process) Log() string { return p.log.lines() }

// Signal sends a signal to the process and everything else in its group.
func (p *Process) Signal(s syscall.Signal) error {
	pids, err := p.Group()
	if err != nil {
		return err
	}
	if len(pids) == 0 {
		return fmt.Errorf("signal %s on host %s: %w", p.name, p.host.Name, os.ErrProcessDone)
	}
	return sendAll(pids, s)
}

// SignalAlone sends a signal to the process, and to nothing else in its group.
func (p *Process) SignalAlone(s syscall.Signal) error {
	if p.cmd == nil {
		return fmt.Errorf("signal %s on host %s: it was started by somebody else", p.name, p.host.Name)
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %s on host %s: %w", p.name, p.host.Name, err)
	}
	return nil
}

// Group returns the living processes of the process's group, in rising order.
func (p *Process) Group() ([]int, error) {
	pids, err := group(p.PID())
	if err != nil {
		return nil, err
	}
	// The number of a group that has died out may be given to another: ours
	// lives in the host's namespace, zombies in none.
	var live []int
	for _, pid := range pids {
		if ino, err := inode(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && ino == p.host.inode {
			live = append(live, pid)
		}
	}
	return live, nil
}

// Kill kills the process and everything else in its group, and returns when all
// of it is gone. Killing what has already ended is no error.
func (p *Process) Kill(ctx context.Context) error {
	for {
		pids, err := p.Group()
		if err == nil {
			err = sendAll(pids, unix.SIGKILL)
		}
		if err != nil {
			return fmt.Errorf("kill %s on host %s: %w", p.name, p.host.Name, err)
		}
		if len(pids) == 0 {
			break
		}
		select {
		case <-time.After(awaitStep):
		case <-ctx.Done():
			return fmt.Errorf("kill %s on host %s: processes %v are still there: %w", p.name, p.host.Name, pids,
				ctx.Err())
		}
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kill %s on host %s: its output has not ended: %w", p.name, p.host.Name, ctx.Err())
	}
}

// programName names the process in messages. One that is this very program
// under another verb is named by both words.
func programName(cmd *exec.Cmd) string {
	if cmd.Path == self && len(cmd.Args) > 1 {
		return filepath.Base(os.Args[0]) + " " + cmd.Args[1]
	}
	return filepath.Base(cmd.Path)
}

func (p *Process) died() *DiedError {
	e := &DiedError{Program: p.name, Host: p.host.Name, PID: p.PID(), Log: p.log.lines()}
	if p.cmd != nil {
		e.State = p.cmd.ProcessState
	}
	var exit *exec.ExitError
	if p.waitErr != nil && !errors.As(p.waitErr, &exit) && !errors.Is(p.waitErr, exec.ErrWaitDelay) {
		e.Err = p.waitErr
	}
	return e
}

// DiedError says that a process has ended, how, and what it said last.
type DiedError struct {
	Program, Host string
	PID           int
	State         *os.ProcessState // nil where it is not known: an attached process's
	Log           string           // the last lines that it printed
	Err           error            // why its output was cut, or nil
}

// Error is of the form "redis-server on host redis-1 died: exit status 1; the end of its log: …".
func (e *DiedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on host %s died", e.Program, e.Host)
	if e.State != nil {
		fmt.Fprintf(&b, ": %s", e.State)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, " (%v)", e.Err)
	}
	if e.Log == "" {
		b.WriteString("; it logged nothing")
	} else {
		b.WriteString("; the end of its log:\n\t" + strings.ReplaceAll(e.Log, "\n", "\n\t"))
	}
	return b.String()
}

// Unwrap returns why the output was cut.
func (e *DiedError) Unwrap() error { return e.Err }

// sendAll sends a signal to each process; those that are gone by now are no error.
func sendAll(pids []int, s syscall.Signal) error {
	for _, pid := range pids {
		if err := unix.Kill(pid, s); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("send %s to process %d: %w", unix.SignalName(s), pid, err)
		}
	}
	return nil
}
