package mylock

import (
	"context"
	"errors"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/locktest"
	"github.com/lockchaos/lockchaos/scenarios"
)

// claims is what the lock promises: a grant lasts for the TTL, its tokens rise,
// and a release that succeeds proves that it was still ours.
var claims = clients.Claims{Validity: "from_invocation", Token: "fencing", Confirms: []string{"release"}}

// open makes one client of the lock, as an application would.
func open(n locktest.Nodes) (clients.Lock, error) { return adapt(n, (*Locker).Unlock) }

func openCareless(n locktest.Nodes) (clients.Lock, error) {
	return adapt(n, (*Locker).UnlockCarelessly)
}

func adapt(n locktest.Nodes, unlock func(*Locker, context.Context, string) error) (clients.Lock, error) {
	l := New(n.Addrs[0], n.TTL)
	return locktest.Funcs{
		Acquire: l.Lock,
		Release: func(ctx context.Context, key string) error {
			err := unlock(l, ctx, key)
			if errors.Is(err, ErrNotHeld) {
				return clients.ErrNotHeld // definite: the server said so
			}
			return err
		},
		Close: func(context.Context) error { return l.Close() },
	}.Lock()
}

// A holder that is frozen past its lease comes too late: no lock prevents that.
// The store refuses what it writes then, since the lock has fencing tokens.
// Anything else would be a defect of the lock.
func TestFrozenHolder(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: claims, Inherent: true}, open)
}

// A holder that is killed costs the others a lease, and no more.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Scenario{Service: "redis", Fault: "kill-holder", Claims: claims}, open)
}

// The same in virtual time, with five seeds: no namespaces, no server, and a
// seed that fails does so again, byte for byte.
func TestSimulateFrozenHolder(t *testing.T) {
	locktest.Simulate(t, locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: claims, Inherent: true, Seeds: 5}, open)
}

// Attacks that the claims invite, each a subtest. Without Attacks it would be
// every one, with Short the most telling third.
func TestExam(t *testing.T) {
	locktest.Exam(t, locktest.Examination{Service: "redis", Claims: claims,
		Attacks: []string{"stop-work", "kill-work", "lost-acquire-reply", "late-release"}}, open)
}

// With an Unlock that deletes the key, even if another holds it, a late holder gives away
// another's lock, and is told that all is well. This test wants that to be found.
func TestCarelessUnlock(t *testing.T) {
	t.Parallel()
	// Of two clients that are given the lock at once, the one with the later
	// token may hear of it first.
	found := scenarios.Expect{Properties: map[string]string{"mutual-exclusion": "violated", "continuity": "violated",
		"stolen-release": "any", "token-order": "any"}}
	locktest.Run(t, locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: claims, Expect: found}, openCareless)
}

// In virtual time it is found as well.
func TestSimulateCarelessUnlock(t *testing.T) {
	found := scenarios.Expect{Properties: map[string]string{"mutual-exclusion": "violated", "continuity": "violated",
		"stolen-release": "any", "token-order": "any"}}
	locktest.Simulate(t, locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: claims, Expect: found}, openCareless)
}
