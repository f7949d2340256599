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
)

// KindThrottle is the fault that leaves a share of the time.
const KindThrottle = "throttle"

var throttle = Kind{Name: KindThrottle, Nodes: true, Needs: NeedsNothing, takes: []string{"share", "period"},
	check: checkThrottle, Touch: history.Touch{Stops: history.StopsShare,
		Words: history.FaultWords{Did: "throttled", Client: "gets only a share of its processor time",
			Nodes: "gets only a share of its processor time", Plight: "got only a share of its processor time",
			Doc: "throttle"}},
	About: "lets a client or all that runs on a node's host have only a share of the time: it is stopped for the rest of each period (SIGSTOP)",
	draws: []Draw{
		{Weight: 2, of: func(d Dice) Part {
			p := aimed(Holder, AfterGrant, d.share(1, 3, 1))
			p.Share = pick(d, 0.1, 0.3)
			return p
		}},
		{Weight: 2, Beside: true, of: func(d Dice) Part {
			p := aimed(d.nodes(), Random, d.share(1, 3, 1))
			p.Share = pick(d, 0.2, 0.5)
			return p
		}},
	},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return startThrottle(ctx, s.Spec, s.subjects()...)
	}}

// usualPeriod is the period of a throttle that names none: that of the kernel's
// own scheduler for quotas (cpu.max, cpu.cfs_period_us).
const usualPeriod = 100 * time.Millisecond

// leastShare bounds what a throttle leaves: with less, a program hardly gets
// through one signal handler between two stops.
const leastShare = 0.01

// checkThrottle reports whether there is such a throttle.
func checkThrottle(s Spec, _ Setting) error {
	switch {
	case s.Share < leastShare || s.Share >= 1:
		return fmt.Errorf("share %v: the part of the time in which the target runs must be given, at least %v and less than 1", s.Share, leastShare)
	case s.Period != 0 && (s.runs() < shortestPeriod || s.period()-s.runs() < shortestPeriod):
		return fmt.Errorf("period %v, of which the target runs a share of %v: either part must last %v or longer",
			s.Period, s.Share, shortestPeriod)
	}
	return nil
}

// period is that of the throttle.
func (s Spec) period() time.Duration {
	if s.Period == 0 {
		return usualPeriod
	}
	return s.Period
}

// runs is how long the target runs in each period.
func (s Spec) runs() time.Duration { return time.Duration(s.Share * float64(s.period())) }

// Throttle are processes that get only a share of the time: in each period they are stopped for the
// rest of it, as the kernel does with a group that has used its quota up. It is done by signals,
// and not by a control group: so none is left behind, whichever user runs it and however it ends.
type Throttle struct {
	spec Spec
	from int64
	end  context.CancelFunc
	over sync.WaitGroup
	all  []*throttled

	heal   sync.Once
	effect Effect
	err    error
}

// throttled is one subject.
type throttled struct {
	subject
	stops   int
	stopped time.Duration // certainly, all stops added up
	since   int64         // of before
	before  time.Duration // what it had used of the processors
	unknown error         // why that is not known
	err     error
}

// startThrottle begins with a stop of all subjects. If one can't be stopped,
// all go on and an error is returned.
func startThrottle(ctx context.Context, s Spec, subjects ...subject) (*Throttle, error) {
	if len(subjects) == 0 {
		return nil, fmt.Errorf("%s: of nobody", s.Kind)
	}
	var running context.Context
	t := &Throttle{spec: s}
	running, t.end = context.WithCancel(context.WithoutCancel(ctx))
	begun := make(chan error, len(subjects))
	for _, one := range subjects {
		x := &throttled{subject: one}
		t.all = append(t.all, x)
		t.over.Go(func() { x.err = x.cycle(running, s, begun) })
	}
	var errs []error
	for range subjects {
		errs = append(errs, <-begun)
	}
	if err := errors.Join(errs...); err != nil {
		t.end()
		t.over.Wait()
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	t.from = monotime.Now()
	return t, nil
}

// cycle stops and continues the subject until the context ends. What came of
// the first stop is told.
func (x *throttled) cycle(ctx context.Context, s Spec, begun chan<- error) error {
	x.before, x.unknown = x.used()
	x.since = monotime.Now()
	err := x.stopOnce(ctx, s, func() { begun <- nil })
	if x.stops == 0 && err != nil {
		begun <- fmt.Errorf("host %s: %w", x.Name, err)
	}
	for err == nil && wait(ctx, s.runs()) {
		err = x.stopOnce(ctx, s, func() {})
	}
	return err
}

// stopOnce stops the subject for its part of a period, or until the context ends.
func (x *throttled) stopOnce(ctx context.Context, s Spec, done func()) error {
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	p, err := x.Stop(stopping)
	if err != nil {
		return err
	}
	x.stops++
	done()
	wait(ctx, x.due(s, time.Duration(p.Stopped-x.since)))
	err = p.Resume()
	x.stopped += p.Length()
	return err
}

// due is how long the subject is to be stopped when so much time has passed: as planned; or, where
// it ran for longer than its share because this machine was late to stop it, up to twice that.
func (x *throttled) due(s Spec, passed time.Duration) time.Duration {
	planned := s.period() - s.runs()
	behind := time.Duration(((1-s.Share)*float64(passed) - float64(x.stopped)) / s.Share)
	return min(max(behind, planned), 2*planned)
}

// wait returns true after d, false as soon as the context ends.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// used is what the subject's living processes have had of the processors.
func (x *throttled) used() (time.Duration, error) {
	pids, err := x.PIDs()
	if err != nil {
		return 0, err
	}
	return hosts.CPUTime(pids)
}

// From is when the first stop of all subjects had been seen.
func (t *Throttle) From() int64 { return t.from }

// Heal lets everything run on. The proof is how often and for how long each was
// stopped, and what it had of the processors; it is none if anybody was stopped
// for less than half of what was planned, as an overloaded machine may come to.
func (t *Throttle) Heal() (Effect, error) {
	t.heal.Do(func() {
		t.end()
		t.over.Wait()
		t.effect = Effect{From: t.from, To: monotime.Now(), Bit: true}
		var errs []error
		var proofs []string
		for _, x := range t.all {
			proof, share := x.proof(t.effect.To)
			proofs = append(proofs, proof)
			t.effect.Bit = t.effect.Bit && x.err == nil && share >= (1-t.spec.Share)/2
			if x.err != nil {
				errs = append(errs, fmt.Errorf("%s: host %s: %w", t.spec.Kind, x.Name, x.err))
			}
		}
		t.effect.Proof = strings.Join(proofs, "; ")
		t.err = errors.Join(errs...)
	})
	return t.effect, t.err
}

// proof also returns the share of the time in which the subject was certainly stopped.
func (x *throttled) proof(to int64) (text string, share float64) {
	lasted := time.Duration(to - x.since)
	share = float64(x.stopped) / float64(lasted)
	text = fmt.Sprintf("%s: stopped %d times, for %v of %v (%.0f %%)", x.Name, x.stops,
		x.stopped.Round(time.Millisecond), lasted.Round(time.Millisecond), 100*share)
	used, err := x.used()
	if err = errors.Join(err, x.unknown); err != nil {
		return text + fmt.Sprintf("; what it had of the processors is not known: %v", err), share
	}
	if used < x.before {
		return text + "; what it had of the processors is not known: processes of it have ended", share
	}
	return text + fmt.Sprintf("; it had %.1f ms of the processors, and %.1f ms in its life before", ms(used-x.before),
		ms(x.before)), share
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
