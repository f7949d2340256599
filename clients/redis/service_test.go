package redis_test

import (
	"os"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

func TestMain(m *testing.M) {
	if os.Getenv(mutantVar) != "" { // it is in the sandbox of TestMutantsAreCaught
		clienttest.Child(mutantKind())
		os.Exit(m.Run())
	}
	backendstest.Main(m, redis.Setnx, redis.SetnxFenced, redis.Watchdog, redis.Fair, redis.Semaphore, redis.Multi, redis.Queue,
		redis.Failover, redis.RenewLate, redis.GrantUnchecked, redis.RenewUnchecked, redis.WatchdogDeaf, mutantKind())
}

func TestConformance(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	backendstest.Conform(t, "redis", time.Second, clienttest.Run, redis.Setnx, redis.SetnxFenced, redis.Watchdog, redis.Fair,
		redis.Semaphore, redis.Multi)
	backendstest.Conform(t, "redis", time.Second, clienttest.RunQueue, redis.Queue)
	backendstest.Conform(t, "redis-failover", time.Second, clienttest.Run, redis.Failover)
}

// TestControls: each control fails the tests that its fault breaks, and keeps every other promise.
func TestControls(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	for _, c := range []struct {
		kind           clients.Kind
		caught, unsure []string
	}{
		// What an answer on its way does to it, the suite cannot show: TestRenewLate tries it.
		{redis.RenewLate, nil, nil},
		// an error that a server answers, likewise: attack node-refuses
		{redis.GrantUnchecked, nil, nil},
		{redis.RenewUnchecked, nil, nil},
		// It answers "held?" from memory: one that wakes up learns of its loss
		// by its next renewal, before it is asked or after.
		{redis.WatchdogDeaf, []string{"a holder that hears nothing"}, []string{clienttest.FrozenHolder}},
	} {
		backendstest.Conform(t, "redis", time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
			clienttest.RunControl(t, kind, s, c.caught, c.unsure)
		}, c.kind)
	}
}

func TestGrantThatIsOver(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	for _, kind := range []clients.Kind{redis.Setnx, redis.SetnxFenced, redis.Fair} {
		t.Run(kind.Name, func(t *testing.T) { backendstest.GrantThatIsOver(t, kind) })
	}
}
