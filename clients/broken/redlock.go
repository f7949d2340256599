package broken

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redlock"
)

// RedlockNoQuorum is the control broken-redlock-no-quorum: redlock that is
// content with one server of five. Any two clients may have one each.
var RedlockNoQuorum = clients.Kind{
	Name:    "broken-redlock-no-quorum",
	About:   "redlock that is content with one server of five, so two clients may each have one",
	Service: "redis-five",
	Claims:  redlock.Redlock.Claims,
	Control: checker.MutualExclusion,
	Open:    clients.With(redlock.Open, redlock.Rules{Quorum: 1}),
}

// RedlockNoValidity is the control broken-redlock-no-validity: redlock without
// its clock. A server that does not answer is waited for, and the time that
// asking took is not subtracted from the validity: the client may be told
// "yours for the TTL" when the keys that it got first have expired.
var RedlockNoValidity = clients.Kind{
	Name:    "broken-redlock-no-validity",
	About:   "redlock that waits for every server and does not subtract the time that it waited from the validity",
	Service: "redis-five",
	Claims:  redlock.Redlock.Claims,
	Control: checker.DeadGrant,
	Open:    clients.With(redlock.Open, redlock.Rules{Patient: true, Whole: true}),
}
