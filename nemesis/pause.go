package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// KindPause is the fault that stops processes.
const KindPause = "pause"

var pause = Kind{Name: KindPause, Nodes: true, Needs: NeedsNothing,
	Touch: history.Touch{Stops: history.StopsProcesses, Words: history.FaultWords{Did: "frozen",
		Client: "is frozen, as by a stop-the-world collection", Nodes: "is frozen, as a suspended machine is",
		Over: "wakes up", Plight: "was frozen", Doc: "pause"}},
	About: "stops every thread of a client's process group, or of all that runs on a node's host (SIGSTOP), as a stop-the-world collection or a suspended virtual machine does",
	draws: []Draw{
		{Weight: 8, of: func(d Dice) Part {
			return aimed(pick(d, Holder, Holder, RandomClient, AllClients), pick(d, d.step(), Random),
				d.share(0.2, 2.5, 1))
		}},
		{Weight: 2, of: func(d Dice) Part {
			return aimed(NextWaiter, pick(d, BeforeRelease, Random),
				d.share(0.2, 2.5, 1))
		}},
		{Weight: 4, of: func(d Dice) Part { return aimed(Holder, Acquiring, d.share(0.5, 2, 1)) }},
		{Weight: 6, Beside: true, of: func(d Dice) Part {
			return aimed(d.nodes(),
				pick(d, Random, Acquiring, AfterGrant), d.share(0.3, 2, 1))
		}},
	},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		if len(s.Clients) > 0 && !s.Clients[0].Whole {
			return startPause(ctx, s.procs()...)
		}
		return pauseHosts(ctx, s.hosts()...)
	}}

// stopLimit is how long the kernel may take to stop every thread; it takes a
// millisecond, unless the machine is overloaded.
const stopLimit = 5 * time.Second

// slowStop is from when on the time between signal and proof is worth telling.
const slowStop = 20 * time.Millisecond

// Pause is a stop of a process and everything in its group, or of all that runs on
// some hosts, as by a stop-the-world garbage collection, a suspended virtual machine
// or a starved container: they notice nothing, and when they go on, only clocks tell.
type Pause struct{ parts []stopped }

// stopped is one part of a pause; host is "" where only one process was meant.
type stopped struct {
	host string
	*hosts.Pause
}

// Effect is what a fault was measured to have done.
type Effect struct {
	// From and To bound the time in which the fault was certainly in effect
	// (monotime.Now stamps); of a kill, the time in which the process certainly ended.
	From, To int64
	// Bit reports whether the proof shows that somebody was hit.
	Bit bool
	// Kept reports whether the proof shows that those which took over from servers knew all that
	// these had answered for.
	Kept bool
	// Proof says what was seen, in words and figures.
	Proof string
}

// Lasted is how long the fault was certainly in effect.
func (e Effect) Lasted() time.Duration { return time.Duration(e.To - e.From) }

// startPause stops the processes, each with its group, and returns when every thread has
// been seen stopped. If one can't be stopped, all of them go on and an error is returned.
func startPause(ctx context.Context, procs ...*hosts.Process) (*Pause, error) {
	var all []stopping
	for _, p := range procs {
		name := ""
		if len(procs) > 1 {
			name = p.Host().Name
		}
		all = append(all, stopping{name, p.Stop})
	}
	return stopAll(ctx, "no process", all)
}

// pauseHosts stops every process on the hosts, whatever group or session it
// made for itself, and returns when all have been seen stopped. If one can't be
// stopped, all of them go on and an error is returned.
func pauseHosts(ctx context.Context, hosts ...*hosts.Host) (*Pause, error) {
	var all []stopping
	for _, h := range hosts {
		all = append(all, stopping{h.Name, h.Stop})
	}
	return stopAll(ctx, "no host", all)
}

// stopping is one part of a pause to be.
type stopping struct {
	host string
	stop func(context.Context) (*hosts.Pause, error)
}

func stopAll(ctx context.Context, nobody string, all []stopping) (*Pause, error) {
	if len(all) == 0 {
		return nil, errors.New("pause: of " + nobody)
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	p := &Pause{}
	for _, s := range all {
		one, err := s.stop(ctx)
		if err != nil {
			err = fmt.Errorf("pause: %w", err)
			if len(p.parts) > 0 {
				_, healed := p.Heal()
				err = errors.Join(err, healed)
			}
			return nil, err
		}
		p.parts = append(p.parts, stopped{s.host, one})
	}
	return p, nil
}

// From is when every thread had been seen stopped.
func (p *Pause) From() (from int64) {
	for _, s := range p.parts {
		from = max(from, s.Stopped)
	}
	return from
}

// Heal lets everything go on. The error says that the evidence is broken:
// something ran or died meanwhile. The processes go on all the same.
func (p *Pause) Heal() (Effect, error) {
	e := Effect{From: p.From()}
	var proofs []string
	var errs []error
	for _, s := range p.parts {
		if err := s.Resume(); err != nil {
			errs = append(errs, fmt.Errorf("pause: %w", err))
		}
		if e.To == 0 || s.Resuming < e.To {
			e.To = s.Resuming
		}
		proofs = append(proofs, s.proof())
	}
	e.Proof = strings.Join(proofs, "; ")
	e.Bit = len(errs) == 0
	return e, errors.Join(errs...)
}

func (s stopped) proof() string {
	text := s.Evidence()
	if s.host != "" {
		text = s.host + ": " + text
	}
	// On a busy machine some threads stand still long before the last one is
	// seen to: then the pause was longer than what is proven.
	if slow := time.Duration(s.Stopped - s.Signalled); slow > slowStop {
		text += fmt.Sprintf(", %v after the signal to stop", slow.Round(time.Millisecond))
	}
	return text
}
