// Package adapter is the protocol between lockchaos and a lock that is a program of its own, in any
// language. That program is the adapter.
//
// lockchaos starts one adapter for each client, and exchanges JSON lines with it. A request is one
// line on the adapter's standard input. The reply is one line on its standard output, where
// lost-events may come at any time. Standard error is for humans. docs/protocol.md is the
// specification, and docs/schema/ has it as JSON Schemas. A test holds both to real exchanges.
//
// # What a reply may do
//
// A reply is read strictly, because every conclusion about a run rests on these lines. A line that
// says something else than its author meant must not pass for an answer: a misspelt member, a
// second answer, a token where none was declared. Each of these is a [BrokenError]. It names what
// the adapter did, ends the run, and is never held against the lock. An error of the lock (busy,
// not held, or one that leaves the question open) is an ordinary answer.
//
// # Time
//
// Every request has a time limit, and the adapter keeps to it. When the time is over, the adapter
// answers that it does not know. If it has not answered [Grace] later, it hangs. Both are counted
// in time that this process ran. So a fault that stops client and adapter together is not taken for
// a hang.
package adapter
