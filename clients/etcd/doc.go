// Package etcd has the lock of etcd's own Go library: a Session and a Mutex of
// client/v3/concurrency, used as its documentation shows.
//
// A session is a lease that a background task keeps alive. A mutex puts a key with that
// lease into a queue, under the lock's prefix, and has the lock when no key there was
// created earlier. The create revision of the lock's own key is the fencing token:
// etcd's revision rises with every change, and the key is created when the waiter enters
// the queue, so a later grant has the greater one. It is read from the mutex (IsOwner),
// not from the header of the last response, which may be of a much later revision.
//
// # What is promised
//
// A grant is good until its session ends (validity session); Lost tells when the library
// noticed that. A client that is stopped cannot notice: it acts on, until the library's
// timers have run again. The library looks at the deadline of a lease once a second and sends
// what keeps it alive at most every half second, from which the grace of two seconds is
// derived; a lease that the server gave up early is noticed by the next renewal, at a third
// of the TTL, so for TTLs above 3 s the grace is that third and one second more. Unlock
// deletes the key and answers ok whether it was there or not: so a release confirms nothing.
//
// # TTL
//
// A lease is granted for whole seconds, and for no less than one and a half election timeouts
// of the servers (rounded up): with an election timeout of up to 600 ms a lease of one second
// is possible. GrantedTTL tells what was granted. The server looks for expired leases twice a
// second, so a dead holder's key lives up to half a second longer than its TTL.
//
// # One session, and when it is given up
//
// A client has one session at a time, opened by the first acquire and again after its
// end. The library derives the name of a client's key in the queue from its lease:
// all of a session's requests for one lock are about the same key. A request that was
// sent and never answered could therefore delete the key of a later grant, or find it
// and take it for its own. So after an acquire or a release that is open, the session
// is given up, with a lost-event for whatever else it held, and the next acquire
// opens another: whatever the old request does, it does to a key of the old lease.
//
// When its context ends while it waits in the queue, the library deletes its
// key on the client's own context, which may take for ever if the servers do
// not answer. Acquire waits a moment for that, and then gives the session up.
package etcd
