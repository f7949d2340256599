package backends_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
)

func failoverConforms(t *testing.T) {
	conform(t, "redis-failover", time.Second, clienttest.Run, redis.Failover)
}
