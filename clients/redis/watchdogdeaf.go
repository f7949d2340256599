package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// WatchdogDeaf is broken on purpose: redis-watchdog, which never looks at its clock. It repeats a
// renewal that is not answered for as long as it takes. While its client is cut off from the server
// it tells nothing, and says that it holds what has expired and is another client's by then.
//
// It claims that it notices a loss alone, as redis-watchdog does, and not that
// its answer to "held?" confirms anything: it asks nobody.
var WatchdogDeaf = clients.Kind{
	Name:    "broken-watchdog-deaf",
	About:   "redis-watchdog that repeats an unanswered renewal for ever: it never notices that it is cut off",
	Service: "redis",
	Claims: clients.Claims{Validity: "session", Token: "none", Confirms: []string{"release"}, Notices: "alone",
		Permits: 1},
	LostGrace: Watchdog.LostGrace,
	Renews:    true,
	Control:   checker.MutualExclusion,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		w, err := openWatchdog(c, Algorithm{})
		if err != nil {
			return nil, err
		}
		w.deaf = true
		return deaf{w}, nil
	},
}

// never is longer than any client lives.
const never = 100 * 365 * 24 * time.Hour

type deaf struct{ *watchdog }

// Held believes in a grant for as long as no renewal was refused.
func (d deaf) Held(_ context.Context, g clients.Grant) error {
	s, _ := g.Secret.(secret)
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.holds[s.value]; h == nil || h.over {
		return fmt.Errorf("%q: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}

// openDeaf opens a watchdog that never looks at its clock.
func openDeaf(c clients.Config, how Algorithm) (clients.Lock, error) {
	w, err := openWatchdog(c, how)
	if err != nil {
		return nil, err
	}
	w.deaf = true
	return w, nil
}
