package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/redact"
)

// execAsk is what the inner program asks for, as a line on its standard output: a command in a node's container; then, by the same number, that it gets its input;
// or that nobody waits for it any more.
type execAsk struct {
	Exec    int64    `json:"exec"` // first: see execMark
	Node    string   `json:"node,omitempty"`
	Command []string `json:"command,omitempty"`
	Input   []byte   `json:"input,omitempty"`
	Drop    bool     `json:"drop,omitempty"`
}

// execMark begins the lines that are no output, but an execAsk.
var execMark = []byte(`{"exec":`)

// execTold is what outer tells of it, as a line on the inner program's standard input: that it runs, and then how it ended.
type execTold struct {
	Exec   int64           `json:"exec"`
	PID    int             `json:"pid,omitempty"`
	Ended  *hosts.Executed `json:"ended,omitempty"`
	Failed string          `json:"failed,omitempty"`
}

// execKeep is how much of what a command prints is kept, in bytes, of each of its two streams.
const execKeep = 1 << 16

// execStep is the pause between two looks whether a command runs.
const execStep = 5 * time.Millisecond

// execs runs commands in the containers of a scenario, as its inner program asks. It is the writer of that program's output.
type execs struct {
	engine     *Engine
	containers map[string]string // by the name of the node
	out        io.Writer
	ctx        context.Context // ends with the scenario
	all        sync.WaitGroup

	writing sync.Mutex
	rest    []byte // of a line that is not whole

	mu      sync.Mutex
	tell    func(execTold) // set when the agent listens
	waiting map[int64]chan execAsk
}

func (s *scenario) execs(ctx context.Context) *execs {
	x := &execs{engine: s.engine, containers: map[string]string{}, out: s.Stdout, ctx: ctx, waiting: map[int64]chan execAsk{}}
	if s.Project != nil {
		for _, n := range s.Nodes {
			x.containers[n.Name] = s.Project.nodes[n.Member].id
		}
	}
	return x
}

// to says to whom it is told what came of the commands.
func (x *execs) to(a *agent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tell = func(t execTold) { _ = a.say(t) } // it has ended: nobody waits for it
}

// Write passes whole lines on, and does what is asked for in the others.
func (x *execs) Write(p []byte) (int, error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.rest = append(x.rest, p...)
	for {
		end := bytes.IndexByte(x.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		line := x.rest[:end+1]
		if !bytes.HasPrefix(line, execMark) {
			if _, err := x.out.Write(line); err != nil {
				return 0, err
			}
		} else if err := x.take(line); err != nil {
			return 0, err
		}
		x.rest = x.rest[end+1:]
	}
}

// close waits for the end of all that was asked for; the context must have ended. What is left of the output, without an end of line, is passed on.
func (x *execs) close() error {
	x.mu.Lock()
	x.tell = nil // nothing more is begun
	x.mu.Unlock()
	x.all.Wait()
	x.writing.Lock()
	defer x.writing.Unlock()
	_, err := x.out.Write(x.rest)
	return err
}

// take does what one line asks for.
func (x *execs) take(line []byte) error {
	var ask execAsk
	if err := json.Unmarshal(line, &ask); err != nil {
		return fmt.Errorf("read which command is to be run: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	more := x.waiting[ask.Exec]
	if ask.Command == nil {
		if more != nil {
			more <- ask // it has room for both that may come
		}
		return nil
	}
	tell := x.tell
	if tell == nil {
		return nil // the scenario is over
	}
	more = make(chan execAsk, 2)
	x.waiting[ask.Exec] = more
	x.all.Go(func() {
		told := execTold{Exec: ask.Exec}
		ended, err := x.run(ask, more, tell)
		if err != nil {
			told.Failed = err.Error()
		} else {
			told.Ended = &ended
		}
		x.mu.Lock()
		delete(x.waiting, ask.Exec)
		x.mu.Unlock()
		tell(told)
	})
	return nil
}

// errDropped says that nobody waits for a command any more.
var errDropped = errors.New("nobody waits for it")

// run runs one command, from its start to its end.
func (x *execs) run(ask execAsk, more <-chan execAsk, tell func(execTold)) (ended hosts.Executed, err error) {
	id, known := x.containers[ask.Node]
	if !known {
		return ended, fmt.Errorf("%s is no container of a project", ask.Node)
	}
	made, err := x.engine.client.ExecCreate(x.ctx, id, client.ExecCreateOptions{AttachStdin: true, AttachStdout: true, AttachStderr: true, Cmd: ask.Command})
	if err != nil {
		return ended, fmt.Errorf("have the engine run it: %w", err)
	}
	conn, err := x.engine.client.ExecAttach(x.ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return ended, fmt.Errorf("have the engine run it: %w", err)
	}
	defer conn.Close()
	stdout, stderr, over := &kept{}, &kept{}, make(chan error, 1)
	go func() { over <- demultiplex(stdout, stderr, conn.Reader) }()
	pid, err := x.started(made.ID, over, more)
	if err == nil && pid != 0 {
		tell(execTold{Exec: ask.Exec, PID: pid})
		err = x.feed(conn, over, more)
	}
	if err != nil && !errors.Is(err, errOver) {
		return ended, err
	}
	ended.Status, err = x.status(made.ID)
	// The inner program does not know the container's secrets. The answer on stdout is read before it is shown.
	ended.Stdout, ended.Stderr = stdout.text, []byte(redact.Text(string(stderr.text)))
	return ended, err
}

// errOver says that a command's output has ended.
var errOver = errors.New("it has ended")

// started waits until the command runs, and returns its process number: 0 if it could not be started, and its output says why.
func (x *execs) started(id string, over <-chan error, more <-chan execAsk) (pid int, err error) {
	tick := time.NewTicker(execStep)
	defer tick.Stop()
	for {
		now, err := x.engine.client.ExecInspect(x.ctx, id, client.ExecInspectOptions{})
		if err != nil {
			return 0, fmt.Errorf("ask the engine whether it runs: %w", err)
		}
		if now.Running && now.PID != 0 {
			return now.PID, nil
		}
		select {
		case err := <-over:
			return 0, errors.Join(errOver, err)
		case <-more: // it has no process number yet: nothing but that nobody waits can be told
			return 0, errDropped
		case <-x.ctx.Done():
			return 0, context.Cause(x.ctx)
		case <-tick.C:
		}
	}
}

// feed gives the command its input when that is asked for, and waits for the end of its output.
func (x *execs) feed(conn client.ExecAttachResult, over <-chan error, more <-chan execAsk) error {
	for {
		select {
		case err := <-over:
			return errors.Join(errOver, err)
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		case ask := <-more:
			if ask.Drop {
				return errDropped
			}
			// It may have ended, or have closed its input: then its end says what came of it.
			_, _ = conn.Conn.Write(ask.Input)
			_ = conn.CloseWrite()
		}
	}
}

// status is the exit status of a command whose output has ended.
func (x *execs) status(id string) (int, error) {
	ctx, cancel := context.WithTimeout(x.ctx, deathLimit)
	defer cancel()
	tick := time.NewTicker(execStep)
	defer tick.Stop()
	for {
		now, err := x.engine.client.ExecInspect(ctx, id, client.ExecInspectOptions{})
		if err != nil {
			return 0, fmt.Errorf("ask the engine how it ended: %w", err)
		}
		if !now.Running {
			return now.ExitCode, nil
		}
		select {
		case <-ctx.Done():
			return 0, errors.New("it has closed its output, and goes on: a hook ends when it has answered")
		case <-tick.C:
		}
	}
}

// kept is the beginning of what is written to it.
type kept struct{ text []byte }

// Write keeps what there is room for.
func (k *kept) Write(p []byte) (int, error) {
	k.text = append(k.text, p[:min(len(p), execKeep-len(k.text))]...)
	return len(p), nil
}
