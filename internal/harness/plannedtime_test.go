package harness

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestStretch: a run that has shown enough ends at its time; one that has not
// goes on while it shows more, and no longer than it may.
func TestStretch(t *testing.T) {
	const planned, longer = 100 * time.Millisecond, 400 * time.Millisecond
	for _, c := range []struct {
		name   string
		needed int64
		every  time.Duration // how often it shows one more; 0: never
		longer time.Duration
		least  time.Duration // that it takes
		enough bool
	}{
		{"enough at the time", 1, 10 * time.Millisecond, time.Hour, planned, true},
		{"nothing needed", 0, 0, time.Hour, planned, true},
		{"enough later", 5, 50 * time.Millisecond, time.Hour, 250 * time.Millisecond, true},
		{"never enough", 1000, 10 * time.Millisecond, longer, planned + longer, false},
		{"nothing more for long", 1000, 0, longer, longer / 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			have := func() int64 { // by the clock: nothing that the machine could be late with
				if c.every == 0 {
					return 0
				}
				return int64(time.Since(began) / c.every)
			}
			plannedTime{planned, c.longer, c.needed, have, have, never}.pass(t.Context())
			if took := time.Since(began); took < c.least {
				t.Errorf("it ended after %v, and may not before %v", took, c.least)
			}
			if enough := have() >= c.needed; enough != c.enough {
				t.Errorf("it ended with %d of %d", have(), c.needed)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// it ends with its context
	plannedTime{time.Hour, time.Hour, 1, new(atomic.Int64).Load, new(atomic.Int64).Load, never}.pass(ctx)
}

func never() bool { return false }

// TestStretchEndsEarly: a run that has shown more than enough ends before its time.
func TestStretchEndsEarly(t *testing.T) {
	var shown atomic.Int64
	go shown.Store(1)
	plannedTime{time.Hour, 0, 0, shown.Load, shown.Load, func() bool { return shown.Load() == 1 }}.pass(t.Context())
	if t.Context().Err() != nil || shown.Load() != 1 {
		t.Error("it ended before it had shown more than enough")
	}
}

// TestEnough: enough is twice of everything that is needed, and a bite of each planned fault.
func TestEnough(t *testing.T) {
	s := scenarios.Scenario{Enough: 2, Needs: scenarios.Needs{Grants: 3, Handovers: 2, Bites: 1}, Faults: make([]scenarios.Fault, 2)}
	grants := func(clients ...int32) func(*wire.Numbers) {
		return func(n *wire.Numbers) {
			for _, c := range clients {
				n.Granted(c, "k")
			}
		}
	}
	bites := func(places ...int) func(*wire.Numbers) {
		return func(n *wire.Numbers) {
			for _, p := range places {
				n.Bit(p)
			}
		}
	}
	for _, c := range []struct {
		name     string
		show     []func(*wire.Numbers)
		expected bool
	}{
		{"nothing", nil, false},
		{"all", []func(*wire.Numbers){grants(1, 2, 1, 2, 1, 2), bites(1, 2)}, true},
		{"too few grants", []func(*wire.Numbers){grants(1, 2, 1, 2, 1), bites(1, 2)}, false},
		{"too few hand-overs", []func(*wire.Numbers){grants(1, 1, 1, 2, 1, 2), bites(1, 2)}, false},
		{"one fault never bit", []func(*wire.Numbers){grants(1, 2, 1, 2, 1, 2), bites(1, 1, 1)}, false},
	} {
		var n wire.Numbers
		for _, show := range c.show {
			show(&n)
		}
		if got := enough(&n, s); got != c.expected {
			t.Errorf("%s: %v, not %v", c.name, got, c.expected)
		}
	}
}
