// Package redis has the locks that keep one key on one Redis server.
//
// redis-setnx is what the Redis manual describes under "Distributed Locks with Redis" as the
// single-instance lock: SET key value NX PX ttl takes the key if it is free and gives it an expiry,
// with a random value that names the grant; a script deletes the key if it still has that value, so
// that nobody frees what has passed on to another. redis-setnx-fenced takes a fencing token as
// well, from a counter that the same script increments at the very moment the key is taken.
//
// redis-watchdog is redis-setnx whose grants are renewed for as long as the
// client lives, as the locks of Redisson are (see Watchdog).
//
// # What is promised
//
// A grant is good for the TTL from the start of the attempt that took the key
// (validity from_invocation): the server starts counting when it carries the SET out,
// which is not before it was sent. But for redis-watchdog, only the application renews
// it and nobody tells the client of its end: a client that is stopped for longer, or
// that works for longer, goes on believing. A release that answers ok proves that the
// hold stood until then, since the value was compared. The token, where there is one,
// rises with every grant of its key for as long as the server keeps its data.
//
// # Attempts
//
// Acquire polls, with random pauses that begin at a few milliseconds and grow to TTL/20.
// go-redis is told to retry nothing. An attempt that ends in an error after it may have been
// sent is open: the server may have taken the key for us, or may take it later. Such an
// attempt is not forgotten. The next one carries the same random value, so if the key turns
// out to be ours it is recognised, its expiry is set anew (the promise counts from there),
// and the grant's First is the start of the earliest open attempt. If time runs out instead,
// Acquire tries to delete what may have been taken and reports an error that is not definite.
//
// An attempt in progress when the context ends is given a short grace, at most
// 100 ms, to be answered: an answer is worth more than an open question.
//
// # Renewal
//
// The application may renew a grant of redis-setnx and redis-setnx-fenced, by a script
// that compares the value and sets the expiry anew. The new lease runs from the sending
// of the renewal, so an answer that comes a TTL later is an error that is not definite.
//
// redis-watchdog renews a grant every third of the TTL, on a connection of its own, with a
// script that compares the value and sets the expiry anew. A renewal that is not answered is
// sent again. The grant is lost, and the client is told, when the server says that the key no
// longer has its value, or when a TTL has passed since the start of the last renewal that was
// confirmed: the server may have given the key on by then. So the lock promises a session:
// "yours until you are told". The promise is as good as the client's ability to run: one that
// is stopped for the TTL finds out when it wakes up, at the same time as the application does.
//
// # Keys on the server
//
// The lock k is the key "lock:{k}", its counter "token:{k}"; the braces keep
// both on one node of a cluster.
package redis
