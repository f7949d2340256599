package broken

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redlock"
)

// RedlockNoQuorum is the control broken-redlock-no-quorum: redlock that is content with one server of five. Any two clients may have one each.
var RedlockNoQuorum = clients.Kind{
	Name:    "broken-redlock-no-quorum",
	About:   "redlock that is content with one server of five, so two clients may each have one",
	Service: "redis-five",
	Claims:  redlock.Redlock.Claims,
	Control: checker.MutualExclusion,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return redlock.Open(c, redlock.Rules{Quorum: 1})
	},
}
