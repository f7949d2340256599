package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"golang.org/x/sync/errgroup"
)

// KindRefuseWrites is the fault that has servers answer writes with errors.
const KindRefuseWrites = "refuse-writes"

var refuseWrites = Kind{Name: KindRefuseWrites, Nodes: true, NodesOnly: true, Needs: NeedsLocal, alone: true,
	Ours: true, check: checkRefuseWrites,
	Touch: history.Touch{Words: history.FaultWords{Did: "made to refuse writes", Bar: "read-only",
		Nodes: "answers every write with an error", Over: "takes writes again",
		Plight: "answered every write with an error", Doc: "refuse-writes"}},
	About: "has nodes answer every write with an error, by the service's own means, such as a Redis that lacks replicas; they answer reads, and leases go on running out",
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return RefuseWrites(ctx, s.Nodes...)
	}}

// checkRefuseWrites returns an error if the target has no nodes that can refuse writes.
func checkRefuseWrites(s Spec, at Setting) error {
	if s.Target.Client() {
		return fmt.Errorf("a %s strikes nodes: they answer every client alike", s.Kind)
	}
	if !at.has(Refuses) {
		return fmt.Errorf("a %s needs a service that has %s", s.Kind, Refuses)
	}
	return nil
}

// refuseLimit bounds how long servers may take to refuse writes, or to take them again.
const refuseLimit = 5 * time.Second

// Refuser is a server, as far as it is made to refuse writes.
type Refuser interface {
	// RefuseWrites has the server refuse writes from now on, or take them again.
	RefuseWrites(ctx context.Context, on bool) error
	// TryWrite writes something of lockchaos's own, and returns the error with
	// which the server refused it; "": it did not.
	TryWrite(ctx context.Context) (refusal string, err error)
}

// Refusal are nodes that refuse writes.
type Refusal struct {
	nodes []refusing
	from  int64

	heal   sync.Once
	effect Effect
	err    error
}

// refusing is one node of a refusal.
type refusing struct {
	Refuser
	name string
	// refusal is what it answered to a write when the fault began.
	refusal string
}

// RefuseWrites has the nodes refuse writes, and returns when each has refused
// one. If one does not, all take writes again.
func RefuseWrites(ctx context.Context, nodes ...Place) (*Refusal, error) {
	r := &Refusal{}
	for _, n := range nodes {
		server, can := n.Server.(Refuser)
		if !can {
			return nil, fmt.Errorf("%s: node %s can't be made to refuse writes", KindRefuseWrites, n.Name)
		}
		r.nodes = append(r.nodes, refusing{Refuser: server, name: n.Name})
	}
	if len(r.nodes) == 0 {
		return nil, fmt.Errorf("%s: of no node", KindRefuseWrites)
	}
	if err := r.turn(ctx, true); err != nil {
		return nil, fmt.Errorf("%s: %w", KindRefuseWrites, errors.Join(err, r.turn(context.Background(), false)))
	}
	r.from = monotime.Now()
	return r, nil
}

// turn has all nodes refuse writes, or take them again, and returns when each has done so with one.
func (r *Refusal) turn(ctx context.Context, on bool) error {
	var all errgroup.Group
	for i := range r.nodes {
		n := &r.nodes[i]
		all.Go(func() error {
			if err := n.RefuseWrites(ctx, on); err != nil {
				return err
			}
			return retryUntil(ctx, refuseLimit, func() error {
				said, err := n.TryWrite(ctx)
				switch {
				case err != nil:
					return err
				case !on && said != "":
					return fmt.Errorf("node %s still refuses writes: %s", n.name, said)
				case on && said == "":
					return fmt.Errorf("node %s still takes writes", n.name)
				case on:
					n.refusal = said
				}
				return nil
			})
		})
	}
	return all.Wait()
}

// From is when each of the nodes had refused a write.
func (r *Refusal) From() int64 { return r.from }

// Heal has the nodes take writes again. The proof is what each answered to a write of lockchaos's
// own in the beginning. The fault has bitten if each refused another one just before the end.
func (r *Refusal) Heal() (Effect, error) {
	r.heal.Do(func() {
		// Not with the run's context: what it changed is set right also when it is interrupted.
		ctx, cancel := context.WithTimeout(context.Background(), refuseLimit)
		defer cancel()
		r.effect = Effect{From: r.from, Bit: true}
		var proofs []string
		var errs []error
		for _, n := range r.nodes {
			said, err := n.TryWrite(ctx)
			r.effect.Bit = r.effect.Bit && said != ""
			errs = append(errs, err)
			proofs = append(proofs, n.proof(said))
		}
		r.effect.To, r.effect.Proof = monotime.Now(), strings.Join(proofs, "; ")
		if r.err = errors.Join(append(errs, r.turn(ctx, false))...); r.err != nil {
			r.err = fmt.Errorf("%s: %w", KindRefuseWrites, r.err)
		}
	})
	return r.effect, r.err
}

// proof tells what the node answered to writes; last is its answer to the last one.
func (n refusing) proof(last string) string {
	if last == "" {
		return fmt.Sprintf("%s refused a write (%s), but took the last one", n.name, n.refusal)
	}
	return fmt.Sprintf("%s refused the first write and the last (%s)", n.name, n.refusal)
}
