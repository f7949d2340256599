package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/clockskew"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// toldClocks is of how many processes of a fault the proof tells one by one.
const toldClocks = 6

// Heal sets the clocks right: the wall clock is true again; the monotonic clock
// runs at the true rate, and keeps what it gained or lost, since it must not go
// back. Processes that were forked meanwhile have inherited the fault and are
// healed too. The proof is what the clocks of the processes showed before, when
// the fault began, when it ended, and now, as it stands in their memory.
func (c *Clocks) Heal() (Effect, error) {
	c.heal.Do(func() {
		c.stop()
		<-c.watched
		ctx, cancel := context.WithTimeout(context.Background(), clockLimit)
		defer cancel()
		c.err = errors.Join(c.failed, c.setRight(ctx))
		for _, one := range c.clocks {
			one.target.Close()
		}
	})
	return c.effect, c.err
}

func (c *Clocks) setRight(ctx context.Context) error {
	c.effect = Effect{From: c.from, To: monotime.Now()}
	c.note(stepEnd)
	errs := []error{c.addForks()}
	var proofs []string
	for i := range c.clocks {
		proof, bit, err := c.clocks[i].setRight(ctx, c.spec)
		if errors.Is(err, clockskew.ErrGone) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("heal the clocks on host %s: %w", c.clocks[i].subject.Name, err))
		}
		c.effect.Bit = c.effect.Bit || bit
		proofs = append(proofs, proof)
	}
	c.note(stepHealed)
	if more := len(proofs) - toldClocks; more > 0 {
		proofs = append(proofs[:toldClocks], fmt.Sprintf("and %d processes more", more))
	}
	if c.jumps > 0 {
		proofs = append(proofs, fmt.Sprintf("%d jumps to and fro", c.jumps+1))
	}
	c.effect.Proof = strings.Join(proofs, "; ")
	return errors.Join(errs...)
}

// addForks finds the processes that were forked since the fault began: they have its clocks.
func (c *Clocks) addForks() error {
	known := map[int]bool{}
	asked := map[string]bool{}
	for _, one := range c.clocks {
		known[one.target.PID()] = true
	}
	for _, one := range c.clocks {
		if asked[one.subject.Name] {
			continue
		}
		asked[one.subject.Name] = true
		pids, err := one.subject.PIDs()
		if err != nil {
			return fmt.Errorf("host %s: %w", one.subject.Name, err)
		}
		for _, pid := range pids {
			if known[pid] {
				continue
			}
			t, err := clockskew.Open(pid)
			if errors.Is(err, clockskew.ErrGone) {
				continue
			}
			if err != nil {
				return fmt.Errorf("host %s: %w", one.subject.Name, err)
			}
			if skewed, err := t.Installed(); err != nil || !skewed {
				t.Close() // not forked from one that was struck
				continue
			}
			c.clocks = append(c.clocks, processClock{subject: one.subject, target: t})
		}
	}
	return nil
}

// setRight heals one clock, and looks that it is right. bit reports whether it
// was wrong, as planned.
func (c *processClock) setRight(ctx context.Context, s Spec) (proof string, bit bool, err error) {
	last, err := c.target.Now()
	if err != nil {
		return "", false, err
	}
	if err := c.target.Heal(ctx); err != nil {
		return "", false, err
	}
	healed, err := c.target.Now()
	if err != nil {
		return "", false, err
	}
	if healed.Wall.Offset != 0 || !trueRate(healed.Wall) || !trueRate(healed.Mono) {
		err = fmt.Errorf("process %d reads %v though its clocks were healed", c.target.PID(), healed)
	}
	return fmt.Sprintf("%s, process %d: %v before, %v at the beginning, %v at the end, healed to %v", c.subject.Name,
			c.target.PID(), c.before, c.after, last, healed),
		s.shows(c.before, c.after, last), err
}

func trueRate(c clockskew.Clock) bool { return c.Rate == 0 || c.Rate == 1 }

// shows reports whether a clock that read so before, at the beginning and at the end of the
// fault was as wrong as planned. A process that was forked meanwhile has no beginning.
func (s Spec) shows(before, after, last clockskew.Skew) bool {
	pick := func(k clockskew.Skew) clockskew.Clock {
		if s.Clock == Mono {
			return k.Mono
		}
		return k.Wall
	}
	if s.Rate != 0 {
		gained := pick(last).Offset - pick(before).Offset
		return gained != 0 && (gained > 0) == (s.Rate > 1)
	}
	const unsure = time.Millisecond // offsets are read against the true clock, a moment apart
	return (pick(after).Offset - pick(before).Offset - s.By).Abs() < unsure
}
