// Package remote puts servers that run somewhere already, and that lockchaos
// was given the addresses of, on hosts of the private network.
//
// The network of a sandbox has no way out, and needs one to them. So each such
// server has a host there, on which a relay listens (Relay) at the server's usual
// port. For each connection that a client makes, the relay asks the outer program,
// which lives in the user's own network, for one to the server itself; outer dials,
// and hands the connected socket over (SCM_RIGHTS, unix(7)). A socket belongs to the
// network in which it was made, so the relay can use it, and all it does is to copy.
//
// To a client the relay is the server. Its links can be cut, delayed and held like
// all others, so faults of clients and of their links are the same as with servers
// that lockchaos has started. What can't be reached is the server: its processes, its
// clocks, its own links. And a relay acknowledges what it has received: a packet that
// is held on a client's link has not reached the server, one that has passed it will.
package remote
