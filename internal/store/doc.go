// Package store is the protected resource: what a lock guards, and where a broken lock shows.
//
// It is a ledger of registers. A key holds a value and a version. Every read, every accepted write
// and every refused write is an entry, numbered in one order over all keys. Entries are never
// changed or removed. Versions of a key count 1, 2, 3 …, and a write says which version it
// replaced. So the ledger alone shows whose write overwrote what, whatever the clients saw or
// failed to see. A checker needs no more to find a lost update.
//
// # Fencing
//
// An unfenced store accepts every write. A fenced one compares tokens. The lock gives a greater
// token with every grant, and a request carries the token of its grant. The key's fence is the
// highest token seen, and a write with a lower token is refused. An equal token passes if it comes
// with the grant that brought it first, since one grant writes many times. With another grant it is
// refused: if two holders share a token, at most one is the newest, and the store cannot know
// which. The idea is Gray and Cheriton's (Leases, 1989), the name and the popular account
// Kleppmann's (How to do distributed locking, 2016).
//
// It matters which requests raise the fence. Suppose that only writes do (Fencing{Writes: true}).
// Then a client that reads, thinks and writes is not protected between its read and its write. The
// newer holder has read, but the fence does not know it yet. So the older holder's late write
// passes, and the newer holder then overwrites it without having seen it. If reads raise the fence
// too (Fencing{Writes: true, Reads: true}), the late write is refused.
//
// Reads themselves are never refused: a stale reader learns nothing that it may act on, and its
// write is refused later. A read without a token raises nothing. A write without a token to a
// fenced store is ErrBadRequest.
//
// A guarded store has no fence. It lies in the same etcd as the lock, and each write is a
// transaction that compares the create revision of the lock's own key with the grant's. So the lock
// itself is asked, in the instant of the write. No write is late, not even before the newer holder
// is known. For a scheduler on PostgreSQL it lies in the scheduler's own database, and each write
// is one statement that marks the tick as done in the scheduler's row as well: on condition that
// the row has this tick, is the same instance's, and is not done. So a tick is done if and only if
// its effect came, and comes once.
//
// # Without a lock
//
// A write of mode WriteIfVersion is carried out only if the key still has the version that it was
// made from; else it is a conflict. A write of mode WriteAdd reads, adds and writes in one step.
// Both are decided here, so they lose no update without a lock and without a fence.
//
// # Engines
//
// SQLite decides in this process, and keeps a file. The others (Remote) decide in their own server,
// by one transaction for each request, with decision, change and ledger entry in one: a statement
// of PostgreSQL, a procedure of MariaDB, a script of Redis, a transaction of etcd, a conditional
// PUT of an object store. With the last two the process in front of the server decides first, and
// the server carries that out only if all is still as the process knew it.
//
// So nothing that the process remembers decides, and it numbers nothing. It sends one request at a
// time, so that stamps rise as numbers do. It settles what a server left unanswered before it sends
// or gives out anything else. A register's decide is the definition; the conformance suite holds
// every engine to it. An engine is one file here (a keeper) and one line of engines. Its server is
// the service of that name.
//
// # Guarantees
//
// Requests are carried out one after the other, each at the instant Entry.At between its arrival
// and its answer. The ledger is that order. Before an answer is sent, its entry is in the file, or
// in the engine's server, and survives the death of the store's process. Redis keeps it in memory:
// if that server dies the ledger is gone, and the store says so instead of beginning anew. The
// ledger does not survive the machine's death. A run does not outlive its machine, and fsync would
// make the store the bottleneck of every experiment.
//
// Nothing is retried behind the caller's back: not by the engine, not by its client library, not by
// the server, not by Client. (etcd's library repeats a write only if it had no connection to send
// it on.) A retried write that took effect twice would be a fault of ours that looks like one of
// the lock's. So the protocol is plain JSON lines on TCP, one request and one answer at a time.
// HTTP would not do: Go's client repeats some requests on a connection that turns out to be closed.
//
// # Watermark
//
// Client.Entries returns, besides entries, a watermark W. Every request that the store carried out
// before W (Entry.At < W) is among the entries returned so far. The server takes W before it reads
// the ledger, as the least of the present instant and the arrivals of the requests then in
// progress. So it holds with any engine, without stopping the traffic.
package store
