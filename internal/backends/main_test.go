package backends_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/mariadb"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redislock"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

func TestMain(m *testing.M) {
	backendstest.Main(m, append(onRedis, redis.Semaphore, redis.Multi, redis.Queue, redis.Failover, mariadb.GaleraGetLock)...)
}

// onRedis are the exclusive locks on one Redis.
var onRedis = []clients.Kind{redis.Setnx, redis.SetnxFenced, redis.Watchdog, redis.Fair, redislock.Redislock}

// standInVar marks the process of its own in which TestStandInConforms has the
// stand-in run as redis: so it can run beside the tests of other servers.
const standInVar = "LOCKCHAOS_TEST_STANDIN"

// TestStandInConforms runs the suites of the locks on one Redis against the stand-in.
func TestStandInConforms(t *testing.T) {
	if os.Getenv(standInVar) != "" {
		t.Setenv(backends.RedisVar, "miniredis")
		backendstest.Conform(t, "redis", time.Second, clienttest.Run, onRedis...)
		backendstest.Conform(t, "redis", time.Second, clienttest.Run, redis.Semaphore, redis.Multi)
		backendstest.Conform(t, "redis", time.Second, clienttest.RunQueue, redis.Queue)
		return
	}
	t.Parallel()
	child := exec.CommandContext(backendstest.Limit(t), os.Args[0], "-test.v", "-test.parallel", "4", "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), standInVar+"=yes")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+"/") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// needs skips a test where a program is missing that the service needs.
func needs(service string) func(testing.TB) {
	return func(t testing.TB) {
		t.Helper()
		backendstest.Need(t, service)
	}
}
