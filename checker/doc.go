// Package checker judges a history: from events to a verdict, in one pass, with no clock, no
// randomness and no I/O. The same history gives the same verdict, byte for byte, today and with a
// better checker tomorrow.
//
// This essay defines what a violation is. Every definition has simpler readings that look right.
// For each of them there is a small history in which a correct lock is accused, or a broken one
// goes free. The smallest are shown beside the definitions, and all are tests
// (TestCounterexamples). A reading in quotation marks is such a simpler one, and wrong. Times are
// in ms, the TTL is 500, and A.acquire [0,1] means that A's call ran from 0 to 1.
//
// What all properties rest on comes first. Each property, and each rule that several properties
// need, is defined at the head of the file that judges it; go doc shows them all, by file name.
//
// # Stamps
//
// An op's start and end are the worker's stamps around the library call. Where no clock is shared,
// they are the recorder's invocation and completion. The difference matters. Here the harness asks
// A for a write while A's process is stopped:
//
//	A.acquire [0,1]      A is stopped from 2 on
//	A.write   [700,  ]   asked, never begun: A is killed at 800
//	B.acquire [600,601]  B acts until 810
//
// A did nothing after 1, yet by invocations it "held" until 700. So an op that never reported
// proves nothing, unless the store's ledger has it. Then it began after its invocation.
//
// "Before" is strict, and equal stamps decide nothing: A.release invoked at 7 and B.acquire done at
// 7 are two ends of a lawful hand-over.
//
// # Act and hold
//
// These are acts:
//
//   - a read, write or renewal that the worker began under a grant, whatever came of it;
//   - a release that was answered ok by a lock whose releases confirm.
//
// A write that the fence refused is an act, because it was still sent. To leave it out would hide
// every double-hold on a fenced store. These are no acts: an op that the worker declined since it
// knew of the loss, a release that was refused or of unknown fate, and the question "held?".
//
// A hold lasts from the end of the acquire to the start of its last act. Without an act there is no
// hold: a client that was granted the lock while it was stopped, woke up and declined has done no
// harm. A lost-event, a declined op and a kill end no hold; only acting less does.
//
// With fencing tokens a hold begins no later than the end of any acquire with a greater token:
//
//	A.acquire [0,700] token 33   the reply came while A was stopped
//	B.acquire [600,601] token 34, B.release 650
//	A.write   [701,702]          A acts after a greater token was granted
//
// The two spans of calls do not overlap, and their order by time is unknown. The tokens say that A
// was first. This rule, and every other one that uses tokens, applies only to a key whose tokens
// kept their order to the end of the history. So its findings wait for the end, while a finding by
// time alone is certain at once (Options.OnViolation).
//
// Suppose that the tokens order the beginnings of two holds, and time does not contradict them.
// Then the holds conflict if the first still acts when the second has begun. That is so even if the
// second is of no length and lies at the very instant that bounds the first one's begin.
//
// # Conflicts, by the kind of lock
//
// Mutex: two holds conflict.
//
// Semaphore with N permits (Claims.Permits): holds conflict if they have more than N together. A
// hold has one permit, or as many as its acquire asked for (Claims.PerAcquire, Event.Permits). A
// violation is counted for each hold that was one too many where it began. Some holds begin at
// one instant, or in unknown order. Of these, the earlier are those whose acquire ended first,
// or was invoked first. That order only counts them. None is named as the one too many
// (Violation.Unordered), unless one was certainly granted last, or one explains the rest.
//
// # Reader-writer locks
//
// A reader-writer lock (Claims.ReadWrite) says with every acquire whether it asks for a reader's
// hold or a writer's (Event.Mode). Two holds conflict unless both are readers'. So a writer let in
// beside a reader is found, and a reader beside a writer, by their acts and by their promises.
// Readers side by side are not. Everything said here of writes is said of those under a writer's
// grant: two readers that write are not the lock's fault.
//
// Fencing tokens order two grants of it if one is a writer's. Those of two readers order nothing:
// both hold, in either order, and may share one. But a writer's token orders the readers around it.
// Here A was granted the key by 601: R shows that of W, and W of A:
//
//	A.acquire [0,700] token 5, a reader; W.acquire [0,650] token 6, a writer; R.acquire [600,601] token 7, a reader
//
// "Tokens order nothing there" left one kind of overrun unexplained: that of a reader beside a
// writer, if the reader's reply had come late.
//
// # Which properties are judged
//
// Properties about order are for exclusive locks; of a reader-writer lock they are about grants of
// which one is a writer's.
//
// Some kinds claim no exclusion at all (Claims.Permits 0: a write on condition, a queue). They are
// judged by what becomes of the data: lost-update and duplicate-effect. A write that met another
// version was not accepted, and that is no violation. A write that the store made itself from what
// it replaced (Event.Atomic) overwrites nothing unseen.
//
// A claim that the lock does not make is not held against it. The property is then not judged,
// which is never a pass.
//
// # Severity
//
//   - corrupting: one of the two has an unfenced write or a lost update.
//   - contained: none has, and the fence refused an act of theirs.
//   - untested: nothing stale reached the store.
//
// The run's severity is its worst.
//
// # Inconclusive
//
// A certain violation stands, with one exception: a lease-overrun, or the harm that it did, for
// which an uninjected stall is the only explanation. That is so if nobody had told the client,
// without the time that it stalled it would have acted inside its promise, and no injected fault
// stopped it for as long as that promise (where the promise has an end; where it has none, no
// injected fault touched it). An application with guard none does not listen to news of a loss. So
// for it, such news is no better explanation than what led to the loss: a stall in the TTL before
// it. That is this machine's doing, and says nothing about the lock.
//
// Faults are recorded a little later than what they explain, so a finding is decided half a TTL
// after it was made. A stall leaves open only the properties that it would have violated. Two holds
// that met only because of one leave mutual-exclusion open, and unfenced-write passes where the
// whole ledger shows that no harm came of it.
//
// Nothing passes on a truncated history, with an injected fault that did not prove its effect, or
// with fewer grants, contended hand-overs or holders met by a fault than the scenario needs. A
// single property does not pass without its evidence: the whole ledger, a probe, a token.
//
// A history that was translated from another tool's (package audit) says itself which facts it
// lacks (Header.Untold) and which it leaves in doubt (Header.Doubts). A property that needs an
// untold fact is not judged. One that needs a doubtful fact is inconclusive, unless a violation is
// certain. No harness watched its clients, so nothing follows from their being undisturbed. One
// client may have several grants of a key at a time, which do not conflict with each other
// (Header.Translated).
//
// # Left out on purpose
//
// A lock that declares NoExpiry is not yet held to it: its holds end after their last act, like any
// other's. An answer ok to the release of an acquire of unknown fate proves nothing here.
package checker
