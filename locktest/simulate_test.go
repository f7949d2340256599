package locktest_test

import (
	"context"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/locktest"
)

func simulatedFenced(n locktest.Nodes) (clients.Lock, error) {
	return redis.SetnxFenced.Open(context.Background(), n.Config)
}

// TestSimulated: a right lock passes under a frozen holder, with each of several seeds.
func TestSimulated(t *testing.T) {
	locktest.Simulate(t, locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: redis.SetnxFenced.Claims, Inherent: true, Seeds: 3}, simulatedFenced)
}
