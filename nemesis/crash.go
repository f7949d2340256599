package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sync/errgroup"
)

// KindCrash is the fault that kills servers and starts them again.
const KindCrash = "crash-restart"

var crash = Kind{Name: KindCrash, Nodes: true, NodesOnly: true, Needs: NeedsLocal, endsSessions: true, alone: true,
	Ours: true, takes: []string{"data"}, check: checkCrash,
	Touch: history.Touch{Ends: history.EndsServer, Words: history.FaultWords{Did: "crashed",
		Nodes: "crashes, to be started again", Over: "answers again", Doc: "crash-restart"}},
	About: "kills the servers of nodes (SIGKILL) and starts them again on the same host, with their data or, as a Redis without a file, without",
	draws: []Draw{{Weight: 4, Beside: true, of: func(d Dice) Part {
		p := aimed(pick(d, oneNode, Leader), Random, d.share(0.2, 1, 1))
		p.Data = pick(d, DataKept, DataLost)
		return p
	}}},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return CrashNodes(ctx, s.Spec, s.Nodes...)
	}}

// Server is what runs on a node's host, as far as it is killed and started again.
type Server interface {
	// Kill ends every process of the node by SIGKILL, and returns the server's when all are gone.
	Kill(ctx context.Context) (*hosts.Process, error)
	// Start runs the server again in its place, with the data that it left
	// (keep) or with none. It returns as soon as its process runs.
	Start(ctx context.Context, keep bool) (*hosts.Process, error)
	// Await returns when the server answers again. It takes a bounded time.
	Await(ctx context.Context) error
}

// Data says what a node knows after a crash.
type Data string

// The words.
const (
	// DataKept: all that it had answered for. It is meant where nothing is said.
	DataKept Data = "kept"
	// DataLost: nothing. It had forced nothing to disk, as a Redis without a file does not.
	DataLost Data = "lost"
)

// checkCrash reports whether there is such a crash.
func checkCrash(s Spec, at Setting) error {
	if s.Target.Client() {
		return fmt.Errorf("a %s strikes nodes: a client that dies is a %s", s.Kind, KindKill)
	}
	if s.Data != "" && s.Data != DataKept && s.Data != DataLost {
		return fmt.Errorf("unknown data %q: %s (a node knows what it had answered for) or %s (it had forced nothing to disk)", s.Data, DataKept, DataLost)
	}
	if s.Data == DataLost && !at.has(Forgets) {
		return fmt.Errorf("data %s: a node of %s has written down what it answers for before it answers; only a Redis loses all", DataLost, at.Service)
	}
	if s.Data != DataLost && at.has(Volatile) {
		return fmt.Errorf("data %s: a node of %s does not write to disk what it answers for before it answers",
			DataKept, at.Service)
	}
	return nil
}

// Crash are nodes that are down.
type Crash struct {
	spec  Spec
	ctx   context.Context // of the run: when it has ended, nobody is left to start a node for
	nodes []crashed
	from  int64

	heal   sync.Once
	effect Effect
	err    error
}

// crashed is one node of a crash. Stamps are monotime.Now readings.
type crashed struct {
	Place
	was, is     *hosts.Process
	up, answers int64 // the start of the new process, its first answer
}

// CrashNodes kills the servers of the nodes, all at about the same time, and
// returns when nothing of them is left.
func CrashNodes(ctx context.Context, s Spec, nodes ...Place) (*Crash, error) {
	c := &Crash{spec: s, ctx: ctx, from: monotime.Now()}
	for _, n := range nodes {
		if n.Server == nil {
			return nil, fmt.Errorf("%s: node %s can't be started again", s.Kind, n.Name)
		}
		c.nodes = append(c.nodes, crashed{Place: n})
	}
	if len(c.nodes) == 0 {
		return nil, fmt.Errorf("%s: of no node", s.Kind)
	}
	// a kill half done would be the worst of all
	killing, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	if err := c.each(func(n *crashed) error { return n.kill(killing) }); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	return c, nil
}

func (c *Crash) each(do func(*crashed) error) error {
	var all errgroup.Group
	for i := range c.nodes {
		all.Go(func() error { return do(&c.nodes[i]) })
	}
	return all.Wait()
}

func (n *crashed) kill(ctx context.Context) (err error) {
	if n.was, err = n.Server.Kill(ctx); err != nil {
		return err
	}
	_, err = ending(n.was)
	return err
}

// From is an instant before the first kill.
func (c *Crash) From() int64 { return c.from }

// Heal starts the nodes again, each on its host and under its address, and waits
// until all of them answer. From is before the first kill, To when the last one
// answered. If the run has ended meanwhile they stay down, as they go with it.
func (c *Crash) Heal() (Effect, error) {
	c.heal.Do(func() { c.err = c.restart() })
	return c.effect, c.err
}

func (c *Crash) restart() error {
	c.effect.From = c.from
	err := c.ctx.Err()
	if err == nil {
		err = c.each(func(n *crashed) error { return n.restart(c.ctx, c.spec.Data != DataLost) })
	}
	c.effect.To = monotime.Now()
	var proofs []string
	for _, n := range c.nodes {
		proofs = append(proofs, n.proof(c.spec.Data))
	}
	c.effect.Proof = strings.Join(proofs, "; ")
	if err != nil {
		return fmt.Errorf("%s: start again: %w", c.spec.Kind, errors.Join(err, context.Cause(c.ctx)))
	}
	c.effect.Bit = true
	return nil
}

func (n *crashed) restart(ctx context.Context, keep bool) error {
	p, err := n.Server.Start(ctx, keep)
	if err != nil {
		return err
	}
	n.up, n.is = monotime.Now(), p
	if err := n.Server.Await(ctx); err != nil {
		return err
	}
	n.answers = monotime.Now()
	return nil
}

// proof tells the life of the node through the crash.
func (n *crashed) proof(data Data) string {
	text := n.Name + ": process "
	how, err := ending(n.was)
	if err != nil {
		return text + err.Error()
	}
	text += fmt.Sprintf("%d ended by %s", n.was.PID(), how)
	if n.is == nil {
		return text + ", not started again"
	}
	with := "with its data"
	if data == DataLost {
		with = "without its data"
	}
	text += fmt.Sprintf(", process %d started %v later, %s", n.is.PID(), round(n.up-n.was.Gone()), with)
	if n.answers == 0 {
		return text + ", has not answered"
	}
	return text + fmt.Sprintf(", answered after %v", round(n.answers-n.up))
}

// round is a time as a proof tells it.
func round(ns int64) time.Duration { return time.Duration(ns).Round(100 * time.Microsecond) }
