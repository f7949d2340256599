package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// Faults of a node strike the node of the cluster that a client's pod is on, by the agent there.

// machinePID is a process in the network of the node itself, as an agent sees it: its first one.
const machinePID = 1

// CutNode is a node that does not reach the control plane.
type CutNode struct {
	name   string
	host   *hosts.Host
	filter *netfault.Filter
	rule   *netfault.Rule
	from   int64
}

// cutNode drops what the node and its pods send to the API server, and what
// comes back. It lasts until it is healed, and no longer than this program.
func (s *Site) cutNode(ctx context.Context) (_ InEffect, err error) {
	control := s.Cluster.Control()
	if len(control) == 0 {
		return nil, fmt.Errorf("%s: where the API server is was not to be read: %w", s.Kind, ErrMissed)
	}
	c := &CutNode{name: s.Clients[0].name()}
	if c.host, err = hosts.Visit("the node of "+c.name, hosts.Seat{PID: machinePID}); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	fail := func(err error) (InEffect, error) {
		return nil, fmt.Errorf("%s: %w", s.Kind, errors.Join(err, c.close()))
	}
	// Not with the run's context: see Net.filter.
	if c.filter, err = netfault.OpenGateway(context.Background(), c.host); err != nil {
		return fail(err)
	}
	s.Cluster.Expect(s.For)
	if c.rule, err = c.filter.Drop(s.Tag, toControl(control)...); err != nil {
		return fail(err)
	}
	c.from = monotime.Now()
	return c, nil
}

// toControl matches what is sent to the API server, and what it answers.
func toControl(control []netip.AddrPort) (matches []netfault.Match) {
	for _, at := range control {
		for _, dir := range []netfault.Direction{netfault.In, netfault.Out} {
			matches = append(matches, netfault.Match{Dir: dir, Peer: at.Addr(), PeerPort: at.Port()})
		}
	}
	return matches
}

func (c *CutNode) close() error {
	var errs []error
	if c.filter != nil {
		errs = append(errs, c.filter.Close())
	}
	return errors.Join(append(errs, c.host.Close())...)
}

// From is since when nothing passes.
func (c *CutNode) From() int64 { return c.from }

// Heal lets packets pass. The proof is how many were dropped.
func (c *CutNode) Heal() (Effect, error) {
	e := Effect{From: c.from, To: monotime.Now()}
	counts, err := c.rule.Remove()
	packets, _ := netfault.Total(counts)
	e.Bit = err == nil && packets > 0
	e.Proof = fmt.Sprintf("%s: %d packets between its node and the API server dropped", c.name, packets)
	return e, errors.Join(err, c.close())
}

// kubelet is the name of the program that starts and ends the pods of a node.
const kubelet = "kubelet"

// kubelets are the processes of that program on this node.
func kubelets() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		text, err := os.ReadFile(dir + "/cmdline")
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(text), "\x00")
		// or one program that is all of Kubernetes
		if filepath.Base(args[0]) == kubelet || len(args) > 1 && args[1] == kubelet {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}

// heldLimit bounds how long it may take to stop all threads of a program.
const heldLimit = 5 * time.Second

// StoppedKubelet is a node whose kubelet stands still.
type StoppedKubelet struct {
	name string
	all  []*hosts.Held
	from int64
}

// stopKubelet stops the kubelet of the node, until it is healed, or until this program ends.
func (s *Site) stopKubelet(ctx context.Context) (InEffect, error) {
	k := &StoppedKubelet{name: s.Clients[0].name()}
	pids := kubelets()
	if len(pids) == 0 {
		return nil, fmt.Errorf("%s: no process of the node is called kubelet: %w", s.Kind, ErrMissed)
	}
	s.Cluster.Expect(s.For)
	ctx, cancel := context.WithTimeoutCause(ctx, heldLimit, fmt.Errorf("it took longer than %v", heldLimit))
	defer cancel()
	for _, pid := range pids {
		held, err := hosts.Hold(ctx, pid)
		if err != nil {
			_, healed := k.Heal()
			return nil, fmt.Errorf("%s: %w", s.Kind, errors.Join(err, healed))
		}
		k.all = append(k.all, held)
		k.from = max(k.from, held.Stopped)
	}
	return k, nil
}

// From is since when it stands still.
func (k *StoppedKubelet) From() int64 { return k.from }

// Heal lets it go on.
func (k *StoppedKubelet) Heal() (Effect, error) {
	e := Effect{From: k.from}
	var errs []error
	threads := 0
	for _, h := range k.all {
		at, err := h.Release()
		if e.To == 0 || at < e.To {
			e.To = at
		}
		threads += h.Threads
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	e.Bit = err == nil
	e.Proof = fmt.Sprintf("%s: the kubelet of its node: %d threads in state t for %.2f s", k.name, threads,
		e.Lasted().Seconds())
	return e, err
}

// Drained is a node that is drained: cordoned until it is healed, and without
// the application's pods.
type Drained struct {
	*PodEnding
}

// drain has the node of the client's pod drained.
func (s *Site) drain(ctx context.Context) (InEffect, error) {
	in, err := s.endPod(ctx, s.Cluster.Drain)
	if err != nil {
		return nil, err
	}
	return &Drained{in.(*PodEnding)}, nil
}

// Heal lets the node take pods again, and tells what has become of the client's pod.
func (d *Drained) Heal() (Effect, error) {
	// Also at the end of the run: see PodEnding.ctx.
	ctx, cancel := context.WithTimeout(context.Background(), uncordonLimit)
	defer cancel()
	to := monotime.Now()
	said, uncordoned := d.by.Uncordon(ctx, d.client.name())
	e, err := d.PodEnding.Heal()
	e.To = max(e.To, to)
	e.Proof += "; " + said
	e.Bit = e.Bit && uncordoned == nil
	return e, errors.Join(err, uncordoned)
}

// uncordonLimit bounds how long the cluster may take to let a node take pods again.
const uncordonLimit = 30 * time.Second
