// Package backends starts the lock services, and the store, on hosts of a private network, and says
// when they answer.
//
// A service is a recipe (Kind): which nodes it has, what each of them runs, and when it is ready.
// Start launches it on hosts, or attaches to nodes that already run, for instance in containers.
//
// # What is started
//
//   - redis: one redis-server, as found on PATH, without persistence. A Redis that dies forgets its
//     locks, as one configured for speed does. Without redis-server, or with
//     LOCKCHAOS_REDIS=valkey-server, it is a Valkey. Without either, or with
//     LOCKCHAOS_REDIS=miniredis, a stand-in written in Go takes its place. StandIns then returns a
//     sentence that every output must show.
//   - redis-five: five of them that know nothing of each other.
//   - redis-failover: a primary, a replica and three sentinels, which take a silent server for down
//     after 500 ms. Clients are given the sentinels' addresses, and logins.RedisPrimary.
//   - etcd: three members of the real etcd server, which is compiled in, on three hosts. Heartbeats
//     are sent every 50 ms, and an election starts after 500 ms without one, so that a lease may be
//     as short as one second. Writes are not forced to disk (--unsafe-no-fsync): the data lies on a
//     tmpfs, and a run does not outlive its machine.
//   - zookeeper: an ensemble of three. The tick is 100 ms, so that sessions of one second are
//     granted. A member that has heard nothing from its leader for 800 ms stops serving, which is
//     sooner than any session may end.
//   - postgres: one PostgreSQL server with a new cluster. Its sessions are processes that leave the
//     server's group. To stop this node, stop its host (hosts.Host.Stop).
//   - postgres-pgbouncer: the same behind PgBouncer, in transaction pooling.
//   - store: the ledger of package store, started by StartStore.
//   - The others are as their Kind.About and Kind.Notes say.
//
// Every node is a process on a host of its own, so it can be stopped, killed or cut off like any
// other. It is either a program of the machine, or this very program again ("lockchaos node etcd
// …", see NodeMain).
//
// # What is guaranteed
//
// Start returns when the service answers as its clients will ask it:
//
//   - redis answers a PING, and sentinels that a failover could be authorised;
//   - etcd answers a linearizable read on every member, all naming one leader, and a write;
//   - ZooKeeper does the same without the reads;
//   - PostgreSQL answers a query.
//
// Nothing waits for a length of time. If a node dies on the way or never answers, the error names
// it, its address, and the end of its log, and nothing that was started is left.
//
// Versions are those that the running servers report. Logs go to files in the folder that the
// caller names, and survive the run. Data goes to the sandbox's tmpfs, and does not survive.
//
// A node that dies later is reported on Died, unless the service is being closed. That includes a
// node that the caller killed on purpose.
//
// Node.Kill is the exception: it is no such death. Node.Start then runs the node again on its host,
// with the data that it left, or without it if its service forgets (Kind.Forgets). With
// Spec.Durable a node writes down what it answers for before it answers, so nothing of it is lost
// with the process.
package backends
