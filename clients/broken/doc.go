// Package broken has the controls: locks that are broken on purpose, each in
// one way that is found in real code.
//
// They test the tester. Each names the property that must catch it (Kind.Control), and claims
// what the honest lock claims that it was made from, or what its author would believe of it.
// Each is the honest lock but for the one thing that its comment is about. Never use one.
package broken

import "github.com/lockchaos/lockchaos/clients"

// Kinds are all controls of this package.
func Kinds() []clients.Kind {
	return []clients.Kind{Del, TwoStep, SetnxExpire, NoTTL, RedlockNoQuorum, RedlockNoValidity, WatchdogBlind,
		RetryBlind, TokenClock, WallClock, ClientExpiry, OneConnection, ReadersYield, Sleeper, ReleaseUnseen, OwnName, HostPID}
}
