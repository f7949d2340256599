package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
)

const (
	// Silence is after how long an agent that hears nothing of outer takes it
	// for dead. beat is how often outer is heard.
	Silence = 12 * time.Second
	beat    = 2 * time.Second
	// firstWord is how long an agent waits until outer is heard first, which
	// has to learn that the agent's pod runs.
	firstWord = 30 * time.Second
	// restartGrace is how long it may take until an agent that was killed has been started
	// again, and has healed.
	restartGrace = 20 * time.Second
)

// agentPod is a started agent's pod.
type agentPod struct {
	*scenario
	agent.Started
	in    *io.PipeWriter
	input agent.Lines // into in
	over  context.CancelFunc
}

// stream connects to a container that runs, as kubectl attach does, until its output ends.
func (c *Cluster) stream(ctx context.Context, namespace, pod, verb string, options runtime.Object,
	streams remotecommand.StreamOptions) error {
	u := c.client.Post().Namespace(namespace).Resource("pods").Name(pod).SubResource(verb).VersionedParams(options,
		c.codec).URL()
	spdy, err := remotecommand.NewSPDYExecutor(c.config, "POST", u)
	if err != nil {
		return err
	}
	socket, err := remotecommand.NewWebSocketExecutor(c.config, "GET", u.String())
	if err != nil {
		return err
	}
	executor, err := remotecommand.NewFallbackExecutor(socket, spdy,
		func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) })
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, streams)
}

// attach connects to the program of a pod, as kubectl attach does, until its
// output ends; then nothing takes its input any more.
func (c *Cluster) attach(ctx context.Context, namespace, pod string, in *io.PipeReader, out, errs io.Writer) error {
	defer in.CloseWithError(io.ErrClosedPipe)
	return c.stream(ctx, namespace, pod, "attach",
		&corev1.PodAttachOptions{Container: main, Stdin: true, Stdout: true, Stderr: true},
		remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: errs})
}

// attachAgent connects to the agent, which waits for the handover.
func (s *scenario) attachAgent(ctx context.Context) (*agentPod, error) {
	in, w := io.Pipe()
	// It lives as long as the agent does.
	streaming, over := context.WithCancel(context.WithoutCancel(ctx))
	a := &agentPod{scenario: s, in: w, input: agent.Lines{Out: w}, over: over}
	a.Started = agent.Started{Where: "the agent on " + s.node.Name, Output: make(chan error, 1), Status: a.status,
		End: func() { w.Close() }}
	s.running = commands.NewRuns(streaming, s.Stdout, s.command)
	// if it has ended, nobody waits for it
	s.running.To(func(t commands.Told) { _ = a.say(order{Exec: &t}) })
	out := &inbox{dir: s.Dir, out: s.running}
	go func() {
		err := s.attach(streaming, s.agents(), s.agentName(s.node.Name), in, out, s.Stderr)
		over() // what still runs for it
		a.Output <- errors.Join(err, out.flush(), s.running.Close())
	}()
	go a.beat(streaming)
	return a, nil
}

// beat lets the agent hear that we live.
func (a *agentPod) beat(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for a.say(order{}) == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// say writes one line to the agent's input.
func (a *agentPod) say(what order) error {
	if err := a.input.Say(what); err != nil {
		return fmt.Errorf("speak to the agent on %s: %w", a.node.Name, err)
	}
	return nil
}

// status is how the inner program has ended, nil for 0. One that has failed was
// started again, to heal: that is waited for. lost is why its output ended.
func (a *agentPod) status(lost error) error {
	ctx, cancel := context.WithTimeout(context.Background(), restartGrace)
	defer cancel()
	for {
		var p corev1.Pod
		err := a.client.Get().Namespace(a.agents()).Resource("pods").Name(a.agentName(a.node.Name)).Do(ctx).Into(&p)
		if apierrors.IsNotFound(err) {
			return errors.Join(fmt.Errorf("somebody has deleted the agent's pod on %s", a.node.Name), lost)
		}
		if err == nil {
			if status, over := statusOf(p); over {
				if status != 0 {
					return &agent.ExitError{Where: "the agent's pod", Status: status}
				}
				return nil
			}
		}
		if !wait(ctx, step) {
			return errors.Join(fmt.Errorf("the output of the agent on %s has ended, and it has not within %v",
				a.node.Name, restartGrace), lost, err)
		}
	}
}

// statusOf is how an agent's first run has ended, once its pod is over.
func statusOf(p corev1.Pod) (status int, over bool) {
	if !ended(p) || len(p.Status.ContainerStatuses) == 0 {
		return 0, false
	}
	c := p.Status.ContainerStatuses[0]
	for _, t := range []*corev1.ContainerStateTerminated{c.LastTerminationState.Terminated, c.State.Terminated} {
		if t != nil && t.ExitCode != 0 {
			return int(t.ExitCode), true
		}
	}
	if p.Status.Phase == corev1.PodFailed {
		return 1, true
	}
	return 0, true
}

// close drops the connection, and with it the agent's input.
func (a *agentPod) close() {
	a.in.Close()
	a.over()
}

// tell hands a waiting pod what it is to run.
func (s *scenario) tell(ctx context.Context, pod string, t Task) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	return s.stream(ctx, s.Namespace, pod, "attach", &corev1.PodAttachOptions{Container: main, Stdin: true},
		remotecommand.StreamOptions{Stdin: newLine(text)})
}
