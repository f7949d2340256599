// Package external is a lock that is a program of its own, in any language: an
// adapter, which speaks the protocol of package adapter (docs/protocol.md).
//
// The adapter is a child of the worker and lives in its process group, on its host: a
// fault that stops, kills, cuts off or misleads the client does the same to the
// adapter. What leaves the group is found and refused, since no fault would reach it.
//
// What the lock claims it says itself when it is opened; see clients.Declarer. An adapter
// that breaks the protocol makes every call fail with an error in which errors.Is finds
// adapter.ErrBroken: the run ends, and nothing is concluded about the lock.
package external
