//go:build linux

package locktest_test

import (
	"context"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/locktest"
)

// A test of a lock with fencing tokens: frozen past its lease, its holder comes too
// late, as with every lock (Inherent). Whatever else is violated fails the test.
func ExampleRun() {
	var t *testing.T // that of the test function

	claims := clients.Claims{Validity: "from_invocation", Token: "fencing", Confirms: []string{"release", "held"}}
	run := func() {
		locktest.Run(t, locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: claims, Inherent: true},
			func(n locktest.Nodes) (clients.Lock, error) {
				// yours: mylock.New(n.Addrs[0], n.TTL)
				return redis.SetnxFenced.Open(context.Background(), n.Config)
			})
	}
	_ = run
}
