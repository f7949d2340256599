package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// InCluster: those who are struck are pods of an application, which a cluster runs.
const InCluster Trait = "pods of an application of your own, on Kubernetes"

// Cluster is what runs the pods of an application. A pod is called by the name
// of its client. Errors that are hosts.ErrForbidden say that the cluster does
// not allow it, or that the pod is another one by now: nothing was done.
type Cluster interface {
	// Delete has a pod deleted, by force without any grace, and Evict by the
	// API for evictions, which honors budgets. They return when the cluster has
	// accepted that, and what it says of the pod then.
	Delete(ctx context.Context, pod string, force bool) (said string, err error)
	Evict(ctx context.Context, pod string) (said string, err error)
	// Replaced waits until the cluster knows the pod no more, and until another one
	// is ready in its place, if any is to be. It returns what was read of both.
	Replaced(ctx context.Context, pod string) (said string, err error)
	// Drain has the node of a pod take no more pods, and the application's pods
	// there evicted. Uncordon lets it take pods again.
	Drain(ctx context.Context, pod string) (said string, err error)
	Uncordon(ctx context.Context, pod string) (said string, err error)
	// Control is where nodes reach the API server; none: it is not known.
	Control() []netip.AddrPort
	// Expect says that nothing may be heard of the API server for so long, and
	// that this is planned.
	Expect(silence time.Duration)
}

// checkCluster reports whether there are pods to strike.
func checkCluster(s Spec, at Setting) error {
	if !at.has(InCluster) {
		return fmt.Errorf("%s strikes %s (app); there are none here", s.Kind, InCluster)
	}
	return nil
}

// goneLimit bounds how long the processes of a pod may live that is to end: its
// grace, which is seldom longer.
const goneLimit = 3 * time.Minute

// goneStep is the pause between two looks whether a pod's processes have ended.
const goneStep = 5 * time.Millisecond

// PodEnding is the end of a client's pod, in whose place a controller puts another one.
type PodEnding struct {
	ctx    context.Context // of the run
	from   int64
	client Client
	by     Cluster
	said   string
	gone   chan podTermination
}

// podTermination is when the last process of a pod was gone.
type podTermination struct {
	at  int64
	err error
}

// endPod has the pod of the only victim ended.
func (s *Site) endPod(ctx context.Context, end func(ctx context.Context, pod string) (said string, err error)) (InEffect,
	error) {
	c := s.Clients[0]
	name := c.name()
	o := &PodEnding{ctx: ctx, from: monotime.Now(), client: c, by: s.Cluster, gone: make(chan podTermination, 1)}
	var err error
	if o.said, err = end(ctx, name); err != nil {
		if errors.Is(err, hosts.ErrForbidden) {
			err = errors.Join(ErrMissed, err)
		}
		return nil, fmt.Errorf("%s of %s: %w", s.Kind, name, err)
	}
	go func() {
		ctx, cancel := context.WithTimeoutCause(ctx, goneLimit,
			fmt.Errorf("its processes were there after %v", goneLimit))
		defer cancel()
		err := c.awaitNoProcess(ctx)
		o.gone <- podTermination{monotime.Now(), err}
	}()
	return o, nil
}

// From is an instant before the cluster was asked.
func (o *PodEnding) From() int64 { return o.from }

// Heal waits until the pod's processes are gone, and another pod is ready.
// There is nothing to undo.
func (o *PodEnding) Heal() (Effect, error) {
	name := o.client.name()
	e := Effect{From: o.from, Proof: name + ": " + o.said}
	gone := <-o.gone
	o.gone <- gone // Heal may be called again
	err := gone.err
	e.To = gone.at
	if err == nil {
		var after string
		after, err = o.by.Replaced(o.ctx, name)
		e.Proof += fmt.Sprintf("; its processes were gone after %v; %s", e.Lasted().Round(time.Millisecond), after)
	}
	if err != nil {
		return e, fmt.Errorf("the end of the pod of %s: %w", name, err)
	}
	e.Bit = true
	return e, nil
}

// awaitNoProcess waits until no process of the client lives.
func (c Client) awaitNoProcess(ctx context.Context) error {
	if c.Far != nil {
		return c.Far.Emptied(ctx, c.Name)
	}
	return AwaitNoProcess(ctx, c.Proc.Host())
}

// AwaitNoProcess waits until no process lives on a host.
func AwaitNoProcess(ctx context.Context, h *hosts.Host) error {
	for {
		pids, err := h.PIDs()
		if err != nil || len(pids) == 0 {
			return err
		}
		select {
		case <-time.After(goneStep):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
