// Package conformance tries an adapter against its real service, and tells its
// author, in order, what is missing or wrong, each with the exchange that shows it.
//
// It tests the promises of the protocol, not the safety of the lock: that a definite
// error is really definite, that a call keeps its time limit, that a grant which was
// lost is not confirmed, that a lock dies with its holder. The verdict of a run is
// drawn from what the adapter answers, so one that fails here would make it worthless.
//
// Adapters run as they do in a run: each on a host of its own, stopped and
// killed by real signals, the service frozen in the middle of things. Durations
// are upper bounds only; what is waited for is a condition. A check that took
// so long that a lease may have run out says nothing, and is repeated.
package conformance
