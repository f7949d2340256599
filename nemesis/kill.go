package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// KindKill is the fault that ends clients' processes.
const KindKill = "kill"

var kill = Kind{Name: KindKill, Needs: NeedsNothing, alone: true, Ours: true,
	Touch: history.Touch{Ends: history.EndsProcess, Words: history.FaultWords{Did: "killed", Client: "is killed",
		Doc: "kill"}},
	About: "kills a client's process group (SIGKILL); a fresh process takes its place",
	draws: []Draw{{Weight: 4, of: func(d Dice) Part {
		return aimed(pick(d, Holder, RandomClient), pick(d, d.step(), Random), d.share(0, 0.5, 0))
	}}},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		effect, err := killAll(ctx, s.procs()...)
		return &Instantaneous{effect}, err
	}}

// killLimit is how long the kernel may take to end every process of a group.
const killLimit = time.Minute

// Kill ends a process and everything in its group, as the kernel does when memory runs out, or
// a machine that loses power: nothing is given back, nobody is told. It returns when all of it
// is gone. From is an instant at which the process still ran, To one by which it was certainly
// gone. A process that ended in another way is an error: then the kill proves nothing.
func Kill(ctx context.Context, p *hosts.Process) (Effect, error) {
	// a kill half done would be the worst of all
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	if err := p.Err(); err != nil {
		return Effect{}, fmt.Errorf("kill: it was gone already: %w", err)
	}
	pids, err := p.Group()
	if err != nil {
		return Effect{}, fmt.Errorf("kill: %w", err)
	}
	e := Effect{From: monotime.Now()}
	if err := p.Kill(ctx); err != nil {
		return e, err
	}
	e.To = p.Gone()
	how, err := ending(p)
	if err != nil {
		return e, err
	}
	e.Bit = true
	e.Proof = fmt.Sprintf("process %d ended by %s, gone %.1f ms after the signal", p.PID(), how,
		float64(e.Lasted())/float64(time.Millisecond))
	if len(pids) > 1 {
		e.Proof += fmt.Sprintf(", with all %d processes of its group", len(pids))
	}
	return e, nil
}

// killAll kills several processes, one right after the other. The effect lasts
// from an instant at which all still ran to one at which all were gone.
func killAll(ctx context.Context, procs ...*hosts.Process) (all Effect, err error) {
	var proofs []string
	for _, p := range procs {
		e, err := Kill(ctx, p)
		if err != nil {
			return all, err
		}
		if all.From == 0 {
			all.From = e.From
		}
		if len(procs) > 1 {
			e.Proof = p.Host().Name + ": " + e.Proof
		}
		all.To, all.Bit = max(all.To, e.To), true
		proofs = append(proofs, e.Proof)
	}
	all.Proof = strings.Join(proofs, "; ")
	return all, nil
}

// ending says how a process ended, if that was by SIGKILL.
func ending(p *hosts.Process) (*os.ProcessState, error) {
	var died *hosts.DiedError
	if !errors.As(p.Err(), &died) || died.State == nil {
		return nil, fmt.Errorf("kill: how process %d on host %s ended is not known: %w", p.PID(), p.Host().Name,
			p.Err())
	}
	status, ok := died.State.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return nil, fmt.Errorf("kill: process %d on host %s ended by itself: %s", p.PID(), p.Host().Name, died.State)
	}
	return died.State, nil
}
