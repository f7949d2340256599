// Package postgres has locks on PostgreSQL: advisory locks of a session and of
// a transaction, a row that is locked, and a lease in a row.
//
// # Locks of a connection
//
// pg-advisory, pg-advisory-xact and pg-row are held by a connection
// (https://www.postgresql.org/docs/current/explicit-locking.html): they last
// until they are given back or the server notices that the connection has ended.
// They have no expiry and no token. Each grant has a connection of its own; a
// client that is stopped keeps its lock, since the kernel answers for it.
//
// The server looks after connections that are silent: keepalives are sent when nothing was
// heard for the TTL (in whole seconds), and after two that were not answered, a second apart,
// the session ends and the lock is free. So a client asks the server four times a TTL, and
// takes the lock for lost when it was not answered for the rest of one, sooner than the server
// can give it to another; then it closes the connection. What it slept through, stopped, does
// not count: the server may hear of a sleeping client, and then it still has its lock.
//
// # Waiting
//
// A statement that waits for a lock goes on waiting on the server when its client has
// gone, and may be granted what nobody wants any more. So the server is told to end each
// wait after lock_timeout, 100 ms, and the client asks again: what the client gives up is
// over by then, and the answer is definite. The price is that a waiter goes to the end of
// the queue each time, so these locks are not fair. Cancelling a statement by a second
// connection, as drivers do, would need that connection just when the network fails.
//
// # The lease
//
// pg-lease is a row with an owner, an expiry by the server's clock and a fencing
// number that rises with every grant. A connection that breaks costs nothing but
// time: the lease is good for its TTL, and is renewed by its owner only.
package postgres
