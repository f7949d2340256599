// Package adapter is the protocol between lockchaos and a lock that is a program of its own, in any language: the adapter.
//
// lockchaos starts the adapter once for each client, and speaks JSON lines with it: one request a line on the adapter's standard input, one
// reply a line on its standard output, lost-events at any time, whatever it wants to tell a human on standard error. docs/protocol.md is the
// specification, docs/schema/ has it as JSON Schemas, and a test holds both to real exchanges.
//
// # What a reply may do
//
// A reply is read strictly. What lockchaos concludes from a run it concludes from these lines, so a line that says something else than its
// author meant (a misspelt member, a second answer, a token where none was declared) must not pass for an answer. Everything of that kind is a
// [BrokenError]: it names what the adapter did, ends the run, and is never held against the lock. An error of the lock (busy, not held, or one that leaves
// the question open) is an ordinary answer.
//
// # Time
//
// Every request has a time limit, and the adapter keeps it itself: when it is over, the adapter says that it does not know. One that has not
// answered [Grace] later hangs. Both are counted in time that this process ran, so that a fault that stops client and adapter together is not taken for a hang.
package adapter
