package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
	"github.com/lockchaos/lockchaos/internal/redact"
)

// execStep is the pause between two looks whether a command runs.
const execStep = 5 * time.Millisecond

// execs runs commands in the containers of a scenario.
type execs struct {
	engine     *Engine
	containers map[string]string // by the name of the node
}

// execs are the commands that the inner program has run in the containers of a project.
func (s *scenario) execs(ctx context.Context) *commands.Runs {
	x := &execs{engine: s.engine, containers: map[string]string{}}
	if s.Project != nil {
		for _, n := range s.Nodes {
			x.containers[n.Name] = s.Project.nodes[n.Member].id
		}
	}
	return commands.NewRuns(ctx, s.Stdout, x.run)
}

// run runs one command, from its start to its end.
func (x *execs) run(ctx context.Context, ask commands.Ask, more <-chan commands.Ask,
	runs func(int)) (ended hosts.Executed, err error) {
	id, known := x.containers[ask.Node]
	if !known {
		return ended, fmt.Errorf("%s is no container of a project", ask.Node)
	}
	made, err := x.engine.client.ExecCreate(ctx, id,
		client.ExecCreateOptions{AttachStdin: true, AttachStdout: true, AttachStderr: true, Cmd: ask.Command})
	if err != nil {
		return ended, fmt.Errorf("have the engine run it: %w", err)
	}
	conn, err := x.engine.client.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return ended, fmt.Errorf("have the engine run it: %w", err)
	}
	defer conn.Close()
	stdout, stderr, over := &commands.Kept{}, &commands.Kept{}, make(chan error, 1)
	go func() { over <- demultiplex(stdout, stderr, conn.Reader) }()
	pid, err := x.started(ctx, made.ID, over, more)
	if err == nil && pid != 0 {
		runs(pid)
		err = x.feed(ctx, conn, over, more)
	}
	if err != nil && !errors.Is(err, errOver) {
		return ended, err
	}
	ended.Status, err = x.status(ctx, made.ID)
	// The inner program does not know the container's secrets. The answer on
	// stdout is read before it is shown.
	ended.Stdout, ended.Stderr = stdout.Text, []byte(redact.Text(string(stderr.Text)))
	return ended, err
}

// errOver says that a command's output has ended.
var errOver = errors.New("it has ended")

// started waits until the command runs, and returns its process number: 0 if it
// could not be started, and its output says why.
func (x *execs) started(ctx context.Context, id string, over <-chan error, more <-chan commands.Ask) (pid int,
	err error) {
	tick := time.NewTicker(execStep)
	defer tick.Stop()
	for {
		now, err := x.engine.client.ExecInspect(ctx, id, client.ExecInspectOptions{})
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
			return 0, commands.ErrDropped
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// feed gives the command its input when that is asked for, and waits for the end of its output.
func (x *execs) feed(ctx context.Context, conn client.ExecAttachResult, over <-chan error,
	more <-chan commands.Ask) error {
	for {
		select {
		case err := <-over:
			return errors.Join(errOver, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case ask := <-more:
			if ask.Drop {
				return commands.ErrDropped
			}
			// It may have ended, or have closed its input: then its end says what came of it.
			_, _ = conn.Conn.Write(ask.Input)
			_ = conn.CloseWrite()
		}
	}
}

// status is the exit status of a command whose output has ended.
func (x *execs) status(ctx context.Context, id string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, deathLimit)
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
