package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
	"github.com/lockchaos/lockchaos/internal/redact"
)

// command runs a command in a member's container, as kubectl exec does. Which
// process it is the agent finds out: the API does not tell.
func (s *scenario) command(ctx context.Context, ask commands.Ask, more <-chan commands.Ask,
	runs func(pid int)) (ended hosts.Executed, err error) {
	if ask.Act != "" {
		return s.do(ctx, ask)
	}
	m, ok := s.places.of(ask.Node)
	if !ok {
		return ended, fmt.Errorf("%s is no pod of the application", ask.Node)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, w := io.Pipe()
	defer w.Close()
	stdout, stderr, over := &commands.Kept{}, &commands.Kept{}, make(chan error, 1)
	go func() {
		err := s.stream(ctx, m.pod.Namespace, m.pod.Name, "exec",
			&corev1.PodExecOptions{Container: m.container, Command: ask.Command, Stdin: true, Stdout: true,
				Stderr: true}, remotecommand.StreamOptions{Stdin: in, Stdout: stdout, Stderr: stderr})
		in.CloseWithError(io.ErrClosedPipe)
		over <- err
	}()
	runs(commands.Unnumbered)
	for {
		select {
		case err := <-over:
			if status, is := errors.AsType[exec.CodeExitError](err); is {
				ended.Status, err = status.Code, nil
			}
			// The inner program does not know the container's secrets. The
			// answer on stdout is read before it is shown.
			ended.Stdout, ended.Stderr = stdout.Text, []byte(redact.Text(string(stderr.Text)))
			return ended, err
		case ask := <-more:
			if ask.Drop {
				return ended, commands.ErrDropped
			}
			// It may have ended, or have closed its input: then its end says what came of it.
			_, _ = w.Write(ask.Input)
			_ = w.Close()
		}
	}
}

// Exec runs a command in a node's container: see commands.Asked.
func (j *Joined) Exec(ctx context.Context, node string, command []string, input []byte,
	ready func(pid int) error) (hosts.Executed, error) {
	id := j.containerOf(node)
	if id == "" {
		return hosts.Executed{}, fmt.Errorf("%s is no pod of the application", node)
	}
	before, err := processesOf(id)
	if err != nil {
		return hosts.Executed{}, err
	}
	return j.asked.Exec(ctx, node, command, input, func() (int, error) { return newcomer(id, before) }, ready)
}
