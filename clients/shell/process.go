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

// start starts a command in this process's own group. Its standard input stays open until it is to
// end.
func start(line string, env []string) (*process, error) {
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a command: %w", err)
	}
	defer in.Close()
	p := &process{cmd: adapter.Command(line, ""), in: ours, out: newBeginning(), log: external.NewTail(os.Stderr), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, p.out, p.log
	p.cmd.WaitDelay = orphanLimit
	ended, err := external.Tied(p.cmd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the command %q: %w", line, err), ours.Close())
	}
	go p.live(ended)
	return p, nil
}

// live notes the end of the command.
func (p *process) live(ended <-chan error) {
	var status *exec.ExitError
	if err := <-ended; !errors.As(err, &status) && !errors.Is(err, exec.ErrWaitDelay) {
		p.err = err
	}
	close(p.ended)
}

// signal sends a signal to the command, and to all that came of it.
func (p *process) signal(s syscall.Signal) {
	if !over(p.ended) {
		external.Signal(p.cmd.Process.Pid, s)
	}
}

// endsBefore waits for the end of the command or of the context. It reports whether the command has
// ended.
func (p *process) endsBefore(ctx context.Context) bool {
	select {
	case <-p.ended:
	case <-ctx.Done():
	}
	return over(p.ended)
}

// over reports whether a channel is closed.
func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// end ends the command: by the end of its input if it goes by that, else by SIGTERM, and when the
// time is over by SIGKILL. It reports whether SIGKILL was not needed.
func (p *process) end(ctx context.Context) bool {
	_ = p.in.Close() // nothing was written to it
	if p.inputEnds() {
		patient, cancel := context.WithTimeout(ctx, kindness)
		defer cancel()
		if p.endsBefore(patient) {
			return true
		}
	}
	p.signal(unix.SIGTERM)
	if p.endsBefore(ctx) {
		return true
	}
	p.kill()
	return false
}

// kill ends the command at once.
func (p *process) kill() {
	p.signal(unix.SIGKILL)
	<-p.ended
	_ = p.in.Close() // nothing was written to it
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

// inputEnds reports whether the command runs $LOCKCHAOS_HOLD, which ends with its input.
func (p *process) inputEnds() bool { return first(p.out.whole()) == granted }
