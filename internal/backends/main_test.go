package backends_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/consul"
	"github.com/lockchaos/lockchaos/clients/dynamodb"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/kubernetes"
	"github.com/lockchaos/lockchaos/clients/mariadb"
	"github.com/lockchaos/lockchaos/clients/memcached"
	"github.com/lockchaos/lockchaos/clients/nats"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redislock"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/clients/redsync"
	"github.com/lockchaos/lockchaos/clients/s3"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func TestMain(m *testing.M) {
	// nodes that tests stop are no news, and would bury what a failing test says
	logging.Disable()
	// the user's; a test that wants another Redis sets it, and can't run beside others
	os.Unsetenv(backends.RedisVar)
	clienttest.Child(append(append(broken.Kinds(), onRedis...), redis.SemaphoreMiscounts, redis.MultiPartial,
		redis.MultiSteps, redis.WatchdogDeaf, redis.RenewLate, redis.GrantUnchecked, redis.RenewUnchecked, redis.Failover,
		redis.Semaphore, redis.Multi, redis.Queue, redlock.Redlock, redsync.Redsync,
		etcd.Lease, etcd.LockAPI, etcd.Semaphore, etcd.ReadWrite, etcd.TokenLease, zookeeper.Recipe, zookeeper.Gozk,
		postgres.Advisory, postgres.AdvisoryXact, postgres.Row, postgres.Lease, postgres.AdvisoryXactPooled, postgres.LeasePooled,
		memcached.Add, memcached.BrokenDelete, memcached.BrokenBrief, nats.KV, nats.BrokenUpdate, consul.Session,
		consul.Semaphore, consul.BrokenDeaf, mariadb.GetLock, mariadb.Row, mariadb.Lease, mariadb.BrokenReconnect,
		mariadb.GaleraGetLock, s3.Object, s3.Lease, s3.BrokenDelete, dynamodb.Lease, kubernetes.Lease, kubernetes.BrokenRelease)...)
	hoststest.Main(m, map[string]func([]string) int{"node": backends.NodeMain})
}

// onRedis are the exclusive locks on one Redis.
var onRedis = []clients.Kind{redis.Setnx, redis.SetnxFenced, redis.Watchdog, redis.Fair, redislock.Redislock}

// start starts a service on a network of its own.
func start(t testing.TB, name string) *backends.Service {
	t.Helper()
	return started(t, backends.Spec{Service: name})
}

// started starts a service as it is wanted.
func started(t testing.TB, spec backends.Spec) *backends.Service {
	t.Helper()
	n, _ := hoststest.Network(t)
	spec.Logs = t.TempDir()
	s, err := backends.Start(limit(t), n, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func limit(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), decided.Limit)
	t.Cleanup(cancel)
	return ctx
}

// refused demands that a lock is refused a key that another has. Where the
// machine was too slow for an answer, it is asked again.
func refused(t *testing.T, l clients.Lock, key string) {
	t.Helper()
	decided.Run(t, func() {
		switch g, err := l.Acquire(shortly(t), key); {
		case errors.Is(err, clients.ErrBusy):
		case err == nil || clients.Definite(err):
			t.Errorf("%s is taken: %+v, %v", key, g, err)
		default:
			decided.Lacks("an answer in time: %v", err)
		}
	})
}

// released gives a grant back. A run that takes longer than the lease decides nothing.
func released(t *testing.T, l clients.Lock, g clients.Grant, ttl time.Duration) {
	t.Helper()
	err := l.Release(limit(t), g)
	within(g, ttl, err)
	if err != nil {
		t.Fatal(err)
	}
}

// within ends a run with an error whose lease may be over: whatever was asked for came too late.
func within(g clients.Grant, ttl time.Duration, err error) {
	if err != nil && monotime.Since(g.Attempt) >= ttl {
		decided.Lacks("a run within a lease of %v: %v", ttl, err)
	}
}

// needRedis skips a test that needs the real server, where there is none.
func needRedis(t testing.TB) { t.Helper(); needed.Program(t, "redis-server") }

// freeze makes the functions that stop and continue every node of a service.
func freeze(nodes ...*backends.Node) (stop, resume func(*testing.T)) {
	var pauses []*hosts.Pause
	stop = func(t *testing.T) {
		t.Helper()
		for _, n := range nodes {
			p, err := n.Process.Stop(limit(t))
			if err != nil {
				t.Fatal(err)
			}
			pauses = append(pauses, p)
		}
	}
	resume = func(t *testing.T) {
		t.Helper()
		for _, p := range pauses {
			if err := p.Resume(); err != nil {
				t.Error(err)
			}
		}
		pauses = nil
	}
	return stop, resume
}

// conform runs the suite of each kind. Much of it is waiting for leases to end, so the
// kinds are tried side by side, each against a service of its own, which its suite freezes.
func conform(t *testing.T, service string, ttl time.Duration, suite func(*testing.T, clients.Kind, clienttest.Service),
	kinds ...clients.Kind) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := start(t, service)
			stop, resume := freeze(s.Nodes...)
			suite(t, kind, clienttest.Service{Nodes: s.Addrs(), TTL: ttl, Stop: stop, Continue: resume})
		})
	}
}

// TestConformance runs every lock's suite against its real service.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, service := range []struct {
		name  string
		need  func(testing.TB)
		tried func(*testing.T)
	}{
		{"redis-server", needRedis, singleConforms},
		{"redis-five", needRedis, func(t *testing.T) {
			conform(t, "redis-five", time.Second, clienttest.Run, redlock.Redlock, redsync.Redsync)
		}},
		{"redis-failover", needRedis, func(t *testing.T) { conform(t, "redis-failover", time.Second, clienttest.Run, redis.Failover) }},
		{"etcd", needNothing, func(t *testing.T) {
			conform(t, "etcd", time.Second, clienttest.Run, etcd.Lease, etcd.LockAPI, etcd.Semaphore, etcd.ReadWrite)
		}},
	} {
		t.Run(service.name, func(t *testing.T) {
			t.Parallel()
			service.need(t)
			service.tried(t)
		})
	}
}

func needNothing(testing.TB) {}

// standInVar marks the process of its own in which TestStandInConforms has the
// stand-in run as redis: so it can run beside the tests of other servers.
const standInVar = "LOCKCHAOS_TEST_STANDIN"

// TestStandInConforms runs the suites of the locks on one Redis against the stand-in.
func TestStandInConforms(t *testing.T) {
	if os.Getenv(standInVar) != "" {
		t.Setenv(backends.RedisVar, "miniredis")
		singleConforms(t)
		return
	}
	t.Parallel()
	child := exec.CommandContext(limit(t), os.Args[0], "-test.v", "-test.parallel", "4", "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), standInVar+"=yes")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+"/") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func singleConforms(t *testing.T) {
	conform(t, "redis", time.Second, clienttest.Run, onRedis...)
	conform(t, "redis", time.Second, clienttest.Run, redis.Semaphore, redis.Multi)
	conform(t, "redis", time.Second, clienttest.RunQueue, redis.Queue)
}
