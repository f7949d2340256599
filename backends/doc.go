// Package backends starts the lock services, and the store, on hosts of a private network, and says when they answer.
//
// A service is a recipe (Kind): which nodes it has, what each of them runs, and when it is ready. Start launches it on hosts, or attaches to nodes that
// run already, in containers for instance.
//
// # What is started
//
//	redis           one redis-server, as found on PATH, without persistence: a Redis that dies forgets its locks, as one configured
//	                for speed does. Without redis-server, or with LOCKCHAOS_REDIS=miniredis, a stand-in written in Go
//	                takes its place, and StandIns says so in a sentence that every output must show.
//	redis-five      five of them that know nothing of each other.
//	redis-failover  a primary, a replica and three sentinels, which take a silent server for down after 500 ms. Clients are given the sentinels'
//	                addresses and FailoverMaster.
//	etcd            three members of the real etcd server, which is compiled in, on three hosts. Heartbeats are sent every 50 ms and an
//	                election starts after 500 ms without, so that a lease may be as short as one second. Writes are not
//	                forced to disk (--unsafe-no-fsync): the data lies on a tmpfs, and a run does not outlive its machine.
//	zookeeper       an ensemble of three. The tick is 100 ms, so that sessions of one second are granted, and a member that has heard nothing from
//	                its leader for 800 ms stops serving: sooner than any session may end.
//	postgres        one PostgreSQL server with a new cluster. Its sessions are processes that leave the server's group: whoever stops this
//	                node stops its host (hosts.Host.Stop).
//	postgres-pgbouncer  the same behind PgBouncer, in transaction pooling.
//	memcached       one memcached.
//	nats            three servers of the real NATS with JetStream, which are compiled in.
//	consul          three Consul servers, which scripts/servers builds.
//	mariadb         one MariaDB server.
//	mariadb-galera  three of them, which replicate by Galera.
//	s3              one object store with conditional writes, the Versity S3 Gateway.
//	dynamodb        dynalite, a stand-in for DynamoDB.
//	kubernetes      one kube-apiserver, which scripts/servers builds, on an etcd of three members.
//	store           the ledger of package store, started by StartStore.
//
// Every node is a process on a host of its own, so that it can be stopped, killed or cut off like any
// other: either a program of the machine, or this very program again ("lockchaos node etcd …", see NodeMain).
//
// # What is guaranteed
//
// Start returns when the service answers as its clients will ask it: redis a PING, sentinels that a failover could be authorised, etcd a
// linearizable read on every member, all naming one leader, and a write, ZooKeeper the same without the reads, PostgreSQL a query. Nothing waits for a length of time. If a node dies on the way or never answers, the error
// names it, its address, and the end of its log; and nothing that was started is left.
//
// Versions are what the running servers say of themselves. Logs go to files in the folder that the caller names, and survive the
// run; data goes to the sandbox's tmpfs and does not. A node that dies later is told on Died, unless the service is being closed:
// whoever kills a process on purpose is told as well and must know.
// A node that is killed by Node.Kill is no such death: Node.Start runs it again on its host, with the data that it left or, where its service forgets
// (Kind.Forgets), without. With Spec.Durable a node has written down what it answers for before it answers, so that nothing of it is lost with the process.
package backends
