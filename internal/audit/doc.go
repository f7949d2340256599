// Package audit reads histories that other tools wrote, and production logs, as histories
// of lockchaos. It makes operations of events, and says what it assumes and what is open.
//
// # Rooms
//
// A file passes through rooms, of which each knows only those before it: audit/times
// reads its times, audit/words finds out what a record says, and audit/formats makes
// records of bytes. audit/remarks keeps what a room has to say besides, and audit/spill
// what does not fit into memory. The files of this room, from the ground to the top:
//
//   - options, endpoints, op, holds, log, grains, tokenorder, tokens, readings, tracer: what
//     is known of a log, of its operations, and of the holds that they are done under
//   - nested, openhold, acts, releases, acquires, spans, trace: under which grant
//     each operation was done
//   - clients, implied, uncertain, likekeys, ledger, emit: who its client is, what follows from
//     it, what it leaves open, in which order the store took its writes, and its events
//   - source, translate: the history
//   - gather, versions, read: operations of the events of a log
//   - steps, parser, explain, lines, process, mergefaults: what else is asked of a
//     log: line by line, of one process, with faults
//
// # What such a history can tell
//
// It has no claims of the lock, no stamps of workers, no probe, and mostly no ledger of
// a store. What it cannot tell is neither an alarm nor a pass: the header names those
// facts with the reason (history.Header.Untold), and a judge leaves out the properties
// that need them. What it tells only perhaps is a doubt (history.Header.Doubts):
// without a certain violation a property that needs it is inconclusive.
//
// # From ops to grants
//
// Each format is read into the same list of ops: who asked what of which key,
// when, and how it ended. Then, in one place for all formats (trace.go):
//
//   - A hold lasts from the end of its acquire to the start of its last act.
//     The client's own word counts as an act: "acquired", when it says so, and
//     a release that was answered ok, for until then it held, for all it knew.
//     That the lock vouched for it, nobody says: continuity is not judged.
//   - With Options.Reentrant an owner's nested acquires are folded into its
//     outermost hold. Where a lost answer leaves the depth open, a release is the
//     outermost one unless the owner's next op is a release that was answered ok.
//   - A lock with N permits gives one client several grants at a time. They are
//     told apart as "a", "a (2)" …; a release gives up the newest.
//   - An acquire of unknown fate that its owner released ok was certainly granted,
//     at the latest when it was released: it is a hold of no length then.
//   - A grant that the log lacks is inferred from a write that carries its token:
//     made at some time before, held from the first such write to the last.
//   - What needs more than an exclusive lock with N permits (shared locks,
//     several permits at once) is refused with its line.
//
// # Clocks
//
// Options.ClockError says how far a stamp may lie from the instant that it tells. Every op is
// widened by it on both sides, so whatever is found is certain. What another reading of the
// stamps would make a violation is counted as a doubt. So with clocks that err: violated, if
// every reading of the stamps is a violation; pass, if none is; inconclusive otherwise, with
// the number of possible ones. The ledger's order, too, is the one that accuses least: of
// writes that the clocks can't order, the one with the smaller token comes first.
//
// Equal stamps decide nothing, so a log with whole seconds raises no false alarm. It shows less.
// Where only some clients write whole seconds, each of their ops lasts up to a second (grains.go).
package audit
