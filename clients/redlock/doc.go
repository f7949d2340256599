// Package redlock has Redlock, the lock that asks a majority of independent Redis servers.
//
// The algorithm is that of the Redis documentation, "Distributed Locks with Redis", section "The
// Redlock Algorithm" (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/), by
// Salvatore Sanfilippo. The client draws a random value and asks all N servers at once to take
// the key for it (SET NX PX), waiting for each for a time that is small against the TTL. It
// holds the lock if N/2+1 servers or more took the key and time is left: the lock is valid for
// the TTL, less the time that asking took, less a drift for clocks that do not run alike (a
// hundredth of the TTL, and 2 ms). If not, it deletes its value from all servers, also from
// those that did not answer, and tries again after a random pause.
//
// # What is promised
//
// The library says how long a grant is good for (validity library), counted by the client's
// clock. That is all there is: nothing renews the grant, there is no fencing token, and a client
// that is stopped does not see its validity pass. What the algorithm adds to a lock on one server
// is that it goes on when a minority of servers fails. It assumes that clocks of clients and
// servers run at about the same rate, and that a server that loses its data stays away for a TTL.
//
// A release that answers ok proves that the hold stood until then: a majority of the
// servers deleted the value, and only servers count that were known to have taken the
// key when the lock was granted. Each of them had the value all the while, since a value
// is never set twice, and nobody else can have had a majority without one of them.
//
// # Open attempts
//
// Each attempt has a value of its own. A request to delete the value of an earlier
// attempt may arrive late, and must not take a later one's key. So an attempt that is
// given up can never become the grant of a later one, and a grant's First is its Attempt.
//
// An attempt is open when a server did not answer whether it took the key or,
// having taken it, whether it deleted it: then Acquire's error is not definite, and
// First tells since when. Busy is the answer when so many servers said that another
// has the key that no majority was left, and nothing of ours is left behind.
//
// An attempt in progress when the context ends is finished, which takes a few
// timeouts of a single server (50 ms at most) at the worst.
package redlock
