package postgres

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
)

// pooled is a lock whose client reaches PostgreSQL through PgBouncer, which lends it a connection
// to the server for one transaction at a time (https://www.pgbouncer.org/features.html). The lock
// is the same to the letter; whether it still is one depends on what holds it.
func pooled(k clients.Kind, about string) clients.Kind {
	k.Name += "-pgbouncer"
	k.About = about
	k.Service = "postgres-pgbouncer"
	return k
}

// AdvisoryPooled is broken on purpose: advisory locks of a session, through a pool that
// lends sessions by transaction. The session that holds the lock goes back to the pool with
// it, and the client that is lent it next has the lock as well: an advisory lock of a session may
// be taken again by its own. Nobody knows which session the release will meet. PgBouncer's
// manual says so ("session-level advisory locks: never"), and it is done all the same.
var AdvisoryPooled = func() clients.Kind {
	k := pooled(Advisory, "pg-advisory through PgBouncer in transaction pooling: the session that has the lock is lent to whoever asks next")
	k.Control = checker.MutualExclusion
	return k
}()

// AdvisoryXactPooled is the lock pg-advisory-xact-pgbouncer.
var AdvisoryXactPooled = pooled(AdvisoryXact,
	"pg-advisory-xact through PgBouncer in transaction pooling: the transaction that has the lock keeps its connection for as long as it is open")

// LeasePooled is the lock pg-lease-pgbouncer.
var LeasePooled = pooled(Lease, "pg-lease through PgBouncer in transaction pooling: each of its statements is a transaction, and the row does not mind who sends it")
