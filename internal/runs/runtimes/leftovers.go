package runtimes

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/internal/clockskew"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// healLeftovers heals what a run that was killed together with its agent has left on nodes that
// outlive both: wrong clocks of their processes, rules in their networks. They are nobody
// else's doing, for a project takes one run at a time. What it found it tells to say.
func healLeftovers(ctx context.Context, nodes []agent.Attached, say io.Writer) error {
	var errs []error
	for _, n := range nodes {
		if n.Host != nil { // else it is on another machine, or has ended
			errs = append(errs, heal(ctx, n.Name, n.Host, say))
		}
	}
	return errors.Join(errs...)
}

// heal is sweep for one node.
func heal(ctx context.Context, name string, h *hosts.Host, say io.Writer) error {
	found, err := netfault.Sweep(h.NetNS)
	if found {
		harmless.Fprintf(say, "node %s: removed the rules that a killed run had left in its network\n", name)
	}
	healed, clocks := healClocks(ctx, h)
	for _, pid := range healed {
		harmless.Fprintf(say, "node %s: set the clocks of process %d right, which a killed run had left wrong\n", name,
			pid)
	}
	if err := errors.Join(err, clocks); err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	return nil
}

// healClocks sets those clocks of a host's processes right that somebody has
// made wrong, and says whose.
func healClocks(ctx context.Context, h *hosts.Host) (healed []int, err error) {
	pids, err := h.PIDs()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		wrong, err := healClock(ctx, pid)
		if err != nil && !errors.Is(err, clockskew.ErrGone) {
			return healed, err
		}
		if wrong && err == nil {
			healed = append(healed, pid)
		}
	}
	return healed, nil
}

// healClock sets the clocks of one process right, and reports whether they were
// wrong. Where clocks can't be made wrong, none is.
func healClock(ctx context.Context, pid int) (wrong bool, err error) {
	t, err := clockskew.Open(pid)
	if err != nil {
		return false, nil
	}
	defer t.Close()
	if changed, err := t.Installed(); err != nil || !changed {
		return false, nil
	}
	now, err := t.Now()
	if err != nil || ClocksTrue(now) {
		return false, err
	}
	return true, t.Heal(ctx)
}

// ClocksTrue reports whether clocks are as healing leaves them: the wall clock
// shows the true time, the monotonic one runs at the true rate.
func ClocksTrue(s clockskew.Skew) bool {
	right := func(c clockskew.Clock) bool { return c.Rate == 0 || c.Rate == 1 }
	return s.Wall.Offset == 0 && right(s.Wall) && right(s.Mono)
}
