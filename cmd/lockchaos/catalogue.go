package main

import (
	"os"
	"sync"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/consul"
	"github.com/lockchaos/lockchaos/clients/dynamodb"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/clients/kubernetes"
	"github.com/lockchaos/lockchaos/clients/mariadb"
	"github.com/lockchaos/lockchaos/clients/memcached"
	"github.com/lockchaos/lockchaos/clients/nats"
	"github.com/lockchaos/lockchaos/clients/noop"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redislock"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/clients/redsync"
	"github.com/lockchaos/lockchaos/clients/s3"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// locks is the catalogue: every lock that a scenario can name.
func locks() []clients.Kind {
	honest := []clients.Kind{
		redis.Setnx, redis.SetnxFenced, redis.Watchdog, redis.Fair, redislock.Redislock, redis.Semaphore, redis.Multi,
		redis.Queue,
		redis.Failover,
		redlock.Redlock, redsync.Redsync,
		etcd.Lease, etcd.LockAPI, etcd.Semaphore, etcd.ReadWrite, etcd.Election,
		zookeeper.Recipe, zookeeper.Gozk,
		postgres.Advisory, postgres.AdvisoryXact, postgres.Row, postgres.Lease,
		postgres.AdvisoryXactPooled, postgres.LeasePooled,
		memcached.Add,
		nats.KV,
		consul.Session, consul.Semaphore,
		mariadb.GetLock, mariadb.Row, mariadb.Lease,
		s3.Lease, dynamodb.Lease,
		kubernetes.Lease,
		redis.Cron, postgres.Cron, postgres.CronAll, postgres.CronExact, kubernetes.Cron, // no locks: schedulers, which execute a job
		etcd.Txn, noop.Cas, noop.ConditionalUpdate, // no locks: the store refuses what is stale
	}
	return append(append(honest, broken.Kinds()...), redis.SemaphoreMiscounts, redis.MultiPartial, redis.MultiSteps,
		redis.WatchdogDeaf, redis.RenewLate, redis.RenewBlind, redis.RenewRetakes, redis.WatchdogRetakes, redis.GrantUnchecked,
		redis.RenewUnchecked,
		redis.WatchdogLenient, etcd.WaiterBlind, etcd.QueueStayer, etcd.QueueCareless, etcd.TokenLease, etcd.ElectionStays,
		zookeeper.SessionBlind, zookeeper.Herd, postgres.AdvisoryPooled,
		memcached.BrokenDelete, memcached.BrokenBrief, nats.BrokenUpdate, consul.BrokenDeaf, mariadb.BrokenReconnect,
		mariadb.GaleraGetLock, s3.Object, s3.BrokenDelete, dynamodb.BrokenRetry, kubernetes.BrokenRelease,
		redis.CronLooks, redis.CronHolds, redis.CronOpen, redis.CronForever,
		postgres.CronForgets, postgres.CronOverlaps, postgres.CronForever, postgres.CronSilent, postgres.CronLeaves, postgres.CronOnce,
		postgres.CronSkips, postgres.CronMarksAfter, postgres.CronMarksBefore, kubernetes.CronPatches)
}

// workerLocks are those that a worker knows: the catalogue, the lock that does
// nothing, for measuring the harness, and programs of the user's own.
func workerLocks() []clients.Kind { return append(locks(), noop.Noop, external.Kind("")) }

// ours is this command, with its locks.
var ours = sync.OnceValue(func() *runs.Tool {
	t := runs.NewTool(version, os.Args[0], locks())
	t.Build = hosts.Program()
	return t
})

func catalogue() scenarios.Catalogue { return ours().Catalogue() }
