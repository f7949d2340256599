// Package redsync has the lock of the library github.com/go-redsync/redsync/v4
// on five independent Redis servers.
//
// Redsync follows Redlock ("Distributed Locks with Redis", see package redlock), through its
// adapter for go-redis. It is used here as applications use it: a mutex for each acquire,
// LockContext, UnlockContext; no Extend. Its options follow from the TTL: the expiry is the
// TTL, the pause between tries keeps the library's own proportion to it (50 to 250 ms for
// its 8 s), and the context alone limits their number. The timeout of a try (a twentieth of
// the expiry) and the drift (a hundredth) are the library's. go-redis is told to obey
// deadlines, without which the timeout of a try means nothing, and to retry nothing.
//
// # What is promised
//
// Until, which the library counts by the client's clock (validity library), and which is
// passed on as it is: as the time from the attempt until that instant. There is no fencing
// token. A release is not claimed to confirm the hold, though it deleted the value from a
// majority: all tries of one LockContext share a value, so a request of an earlier try that
// was held up on its way can set the value anew on a server where the grant's own had gone.
//
// # Open attempts
//
// The library's errors do not tell what was sent and not answered. So each command is looked
// at as it goes to its server, and as its answer comes. What is found does not change what
// the library does; it only decides whether an error is definite, and stamps the attempt.
//
// The library is stopped between tries only, by its own means: a context that ends in the pause. A
// context that ended in the middle of a try would leave what the try has taken for the TTL, for the
// library uses the same one to take and to give back. Applications that limit the number of tries
// see what is seen here. So Acquire may outlive its context by two timeouts, a tenth of the TTL.
package redsync
