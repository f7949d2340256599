//go:build linux

package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients/external"
)

const (
	// mostOutput is how much of what a command prints is kept.
	mostOutput = 4 << 10
	// orphanLimit is how long what a command has started may hold its output open.
	orphanLimit = 250 * time.Millisecond
	// kindness is how long a command may take to end when it is asked to.
	kindness = time.Second
)

// The exit statuses of commands, and those of a shell that can't start one.
const (
	statusOK     = 0
	statusNo     = 1
	statusNoExec = 126
	statusNoFile = 127
)

// process is a command that runs.
type process struct {
	cmd   *exec.Cmd
	in    io.Closer // the end of its standard input that is ours
	out   *beginning
	log   *external.Tail
	ended chan struct{}
	err   error // set before ended is closed: its end could not be seen
}

// start starts a command in this process's own group. Its standard input stays
// open until it is told to end.
func start(line string, env []string) (*process, error) {
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a command: %w", err)
	}
	defer in.Close()
	p := &process{cmd: adapter.Command(line, ""), in: ours, out: newBeginning(), log: external.NewTail(os.Stderr),
		ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, p.out, p.log
	p.cmd.WaitDelay = orphanLimit
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("start the command %q: %w", line, err), ours.Close())
	}
	return p, nil
}

// live starts the command and waits for its end, on one thread: the death of
// the thread that forked would kill it.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	var status *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &status) && !errors.Is(err, exec.ErrWaitDelay) {
		p.err = err
	}
	close(p.ended)
}

// signal sends a signal to the command, and to all that came of it.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.ended:
	default:
		external.Signal(p.cmd.Process.Pid, s)
	}
}

// over reports whether the command ends before the context does.
func (p *process) over(ctx context.Context) bool {
	select {
	case <-p.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// end ends the command: by the end of its input if that is enough, else by SIGTERM,
// and in the end by SIGKILL. It reports whether the command ended by itself.
func (p *process) end(ctx context.Context) bool {
	_ = p.in.Close() // there is nothing in it
	if p.inputEnds() {
		patient, cancel := context.WithTimeout(ctx, kindness)
		defer cancel()
		if p.over(patient) {
			return true
		}
	}
	p.signal(unix.SIGTERM)
	if p.over(ctx) {
		return true
	}
	p.kill()
	return false
}

// kill ends the command at once.
func (p *process) kill() {
	p.signal(unix.SIGKILL)
	<-p.ended
	_ = p.in.Close() // there is nothing in it
}

// terminated reports whether SIGTERM has ended the command.
func (p *process) terminated() bool {
	w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == unix.SIGTERM
}

// String says how the command ended, and what it said on its standard error.
func (p *process) String() string {
	how := p.cmd.ProcessState.String()
	if p.err != nil {
		how = p.err.Error()
	}
	if said := strings.TrimSpace(p.log.String()); said != "" {
		how += ": " + said
	}
	return how
}

// beginning keeps the beginning of what is written to it.
type beginning struct {
	mu   sync.Mutex
	text []byte
	once sync.Once
	line chan struct{} // closed when a line is whole
}

func newBeginning() *beginning { return &beginning{line: make(chan struct{})} }

// Write never fails: a command whose output is not kept goes on.
func (b *beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p[:min(len(p), mostOutput-len(b.text))]...)
	if bytes.IndexByte(p, '\n') >= 0 {
		b.once.Do(func() { close(b.line) })
	}
	return len(p), nil
}

// whole is all that was kept, without the end of its last line.
func (b *beginning) whole() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, _, _ := strings.Cut(string(b.text), "\x00") // no variable of an environment has it
	return strings.TrimRight(text, "\n")
}

// first is the first line of what a command has printed.
func first(output string) string {
	line, _, _ := strings.Cut(output, "\n")
	return strings.TrimSpace(line)
}

// inputEnds reports whether the command ends with its input: it is one that
// $LOCKCHAOS_HOLD runs in.
func (p *process) inputEnds() bool { return first(p.out.whole()) == granted }
