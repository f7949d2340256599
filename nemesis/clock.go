package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/clockskew"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Clock names one of the clocks that a process reads.
type Clock string

// The clocks.
const (
	Wall Clock = "wall" // the time of day
	Mono Clock = "mono" // the monotonic clock, which timers and leases go by; it never goes back
)

// clockLimit bounds a change of the clocks of all processes that a fault strikes.
const clockLimit = 20 * time.Second

// shortestPeriod bounds a strobe: between two changes the process should read its clock.
const shortestPeriod = time.Millisecond

// change returns what the fault makes of a process's clocks when it begins.
func (s Spec) change() func(clockskew.Skew) clockskew.Skew {
	return func(now clockskew.Skew) clockskew.Skew {
		c := &now.Wall
		if s.Clock == Mono {
			c = &now.Mono
		}
		if s.Rate != 0 {
			c.Rate = s.Rate
		} else {
			c.Offset += s.By
		}
		return now
	}
}

// onClock is the kind of a fault of clocks; wrong says what is wrong with such a change.
func onClock(name, about string, words history.FaultWords, wrong func(Spec) error, draws []Draw, takes ...string) Kind {
	words.Bar, words.Nodes, words.Over, words.Doc = "skewed", words.Client, "reads a clock that runs right again",
		"clock-jump-clock-rate-clock-strobe"
	return Kind{Name: name, Nodes: true, Needs: NeedsClocks, takes: append([]string{"clock"}, takes...), About: about,
		Touch: history.Touch{Words: words}, draws: draws,
		check: func(s Spec, _ Setting) error {
			if s.Clock != Wall && s.Clock != Mono {
				return fmt.Errorf("a %s needs a clock: %s (the time of day) or %s (what timers and leases go by); not %q", s.Kind, Wall, Mono, s.Clock)
			}
			return wrong(s)
		},
		inject: func(ctx context.Context, s *Site) (InEffect,
			error) {
			return skewClocks(ctx, s.Spec, s.subjects()...)
		}}
}

// checkOffset reports whether a clock can jump so far.
func (s Spec) checkOffset() error {
	if s.By == 0 || s.By.Abs() > clockskew.MaxOffset {
		return fmt.Errorf("by %v: how far the clock jumps must be given, such as 1h or -30s, and be at most %v", s.By,
			clockskew.MaxOffset)
	}
	return nil
}

// subject is whose clocks are changed, or who is throttled: a process with its
// group, or all processes of a host.
type subject struct {
	Name string
	// Stop freezes them.
	Stop func(context.Context) (*hosts.Pause, error)
	// PIDs lists the processes that live now.
	PIDs func() ([]int, error)
}

// Clocks are clocks that are wrong.
type Clocks struct {
	spec     Spec
	clocks   []processClock
	from     int64
	stop     context.CancelFunc // ends the strobe, or the watch over clocks that do not strobe
	watched  chan struct{}
	jumps    int   // of the strobe, beside the first
	failed   error // of the strobe
	readings readings

	heal   sync.Once
	effect Effect
	err    error
}

// processClock is that of one process.
type processClock struct {
	subject       subject
	target        *clockskew.Target
	before, after clockskew.Skew
}

// skewClocks makes the clocks of all processes of the subjects wrong. If one
// can't be reached, all are healed and an error is returned.
func skewClocks(ctx context.Context, s Spec, subjects ...subject) (*Clocks, error) {
	ctx, cancel := context.WithTimeout(ctx, clockLimit)
	defer cancel()
	c := &Clocks{spec: s, stop: func() {}, watched: make(chan struct{})}
	close(c.watched)
	if err := c.skew(ctx, subjects); err != nil {
		_, healed := c.Heal()
		return nil, fmt.Errorf("%s: %w", s.Kind, errors.Join(err, healed))
	}
	c.from = monotime.Now()
	c.note(stepBegin)
	var watching context.Context
	watching, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.watched = make(chan struct{})
	if s.Period != 0 {
		go c.strobe(watching)
	} else {
		go c.watch(watching)
	}
	return c, nil
}

// skew prepares every process, and then changes the clocks of all in quick succession.
func (c *Clocks) skew(ctx context.Context, subjects []subject) error {
	for _, s := range subjects {
		if err := c.add(ctx, s); err != nil {
			return fmt.Errorf("host %s: %w", s.Name, err)
		}
	}
	if len(c.clocks) == 0 {
		return errors.New("no process to strike: none is left on the hosts")
	}
	c.note(stepBefore)
	for i := range c.clocks {
		one := &c.clocks[i]
		if err := one.target.Adjust(ctx, c.spec.change()); err != nil && !errors.Is(err, clockskew.ErrGone) {
			return fmt.Errorf("host %s: %w", one.subject.Name, err)
		}
		one.after, _ = one.target.Now() // of one that has exited nothing is to be told
	}
	return nil
}

// add prepares the processes of one subject. One that exits just then is no
// loss: it reads no clock any more.
func (c *Clocks) add(ctx context.Context, s subject) error {
	pids, err := s.PIDs()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		t, err := clockskew.Open(pid)
		if errors.Is(err, clockskew.ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		one := processClock{subject: s, target: t}
		if _, err = t.Install(ctx); err == nil {
			one.before, err = t.Now()
		}
		if err != nil {
			t.Close()
			if errors.Is(err, clockskew.ErrGone) {
				continue
			}
			return err
		}
		c.clocks = append(c.clocks, one)
	}
	return nil
}

// strobe jumps to and fro until its context ends.
func (c *Clocks) strobe(ctx context.Context) {
	defer close(c.watched)
	tick := time.NewTicker(c.spec.Period)
	defer tick.Stop()
	for there := true; ; there = !there {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		by := c.spec.By
		if there {
			by = -by
		}
		for _, one := range c.clocks {
			err := one.target.Adjust(ctx, func(s clockskew.Skew) clockskew.Skew { s.Wall.Offset += by; return s })
			if err != nil && !errors.Is(err, clockskew.ErrGone) && ctx.Err() == nil {
				c.failed = err
				return
			}
		}
		c.jumps++
		c.between()
	}
}

// From is since when every clock was wrong.
func (c *Clocks) From() int64 { return c.from }
