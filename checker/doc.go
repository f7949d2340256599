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
// # Reentrant locks
//
// A reentrant lock (Claims.Reentrant) gives an owner what it has already. It is free when the owner
// has released it as often as it was granted it. Every acquire is a grant of its own, with a hold
// and a promise of its own, which the release that names it ends. Grants of one owner never
// conflict. Two simpler readings are wrong.
//
// "The nested grants are one hold, from the first acquire on" accuses a correct lock whose lease
// ran out:
//
//	A.acquire [0,1], stopped to 690; B.acquire [600,601], B.release 650
//	A.acquire [700,701], with no release before: nested by A's count, a fresh grant by the service's
//
// Nothing shows that A had the key between, unless it acts under its first grant again.
//
// "An outer grant stands after a release of unknown fate" accuses the lock of what its client asked
// for:
//
//	A.acquire, A.acquire; A.release, reply lost; A.release again, ok    sent twice, it may have given back both
//	B.acquire ok; A writes under its first grant
//
// So an act counts only while the owner certainly has a level left. That is, it has more grants
// that it has not given back than releases that may have been carried out and name other grants
// than the act's. From the first release that might have been one too many, the promise is
// withdrawn as well.
//
// An answer that confirms a grant (a release, "held?") shows only that its owner has some level, so
// it counts for the newest. Renewals and losses count for all that the owner has: its lease is one.
// A nested grant passes the queue by right (fifo), and takes no turn from another client
// (starvation). In the store's order the writes of one owner do not interrupt each other, whichever
// of its grants they are under.
//
// # Promise
//
// The promise is the time in which the lock said "yours". It lasts to the start of the successful
// attempt plus what the library said, or plus the TTL, less 2 ms. The 2 ms are there because the
// library looked at its clock at some time between the attempt's start and its return, and a stop
// may lie between that look and the worker's stamp. For example, A.acquire [0,700] valid 495,
// stopped from 2 to 699, was valid until 495 and not until 1195. A confirmed renewal that ended
// inside the promise extends it likewise.
//
// "Inside the promise" means before its end. If A's reply was late, B may be granted before A's
// acquire ends, and A's lease runs all the same.
//
//	A.acquire [0,1] valid to 498, A lies idle; B.acquire [300,301] ok
//
// The lock broke its word though neither client acted. A check of holds alone would miss that.
//
// The promise is withdrawn by a lost-event, a declined op, an answer "not held", a kill, the start
// of a release or a close, and the same client's next acquire of the key. A process found dead may
// have died at any time since its last sign of life, so its promise is withdrawn as of then. A
// recorded kill is a sign of life.
//
// # The promise of a session
//
// A session promises an instant only if no injected fault touched the client, its links or the
// service through the TTL before it. "Until a lost-event" cannot be held against a lock whose
// client is stopped, for the event cannot arrive. Faults before the grant count too, because a
// session is older than its grants. "Since the grant" would accuse a correct lock with a TTL of
// 500:
//
//	A is stopped from 10 to 440, A.acquire [450,451], B.acquire [507,508], A.lost [521]
//
// A's session missed its keep-alives while A was stopped, and ended at 500.
//
// A fault touches from its first event to its second. Its measured effect (FaultInfo.From to To) is
// shorter: a stop bites before it is proven, and a wrong clock is set right after its last
// measurement. To count the measured time alone would accuse the same lock, if A was stopped until
// 60 and its stop measured until 6: no more than 502 before B's grant.
//
// A stall of the machine ends a session only if the client, or the service, stood still for half a
// TTL on end. A client that keeps a session is heard every half of it at least, and as soon as it
// runs again. Stalls are measured up to Header.Stall too short at either end.
//
//	A.acquire [0,1], A stalls from 100 to 200, B.acquire [400,401]
//
// "Any stall voids the promise" lets a broken lock go free on a busy machine. A session that does
// not end by time (Claims.NoExpiry) ends by no stall. But the lock may have noticed the loss: by a
// lost-event at any time, a declined op, or an answer "not held". Then the session did end, and any
// stall in the TTL before voids the promise, because a machine that stalls now and then stalls more
// than is recorded.
//
// A fault that ends the session ends the promise. So does a reset, or a connection that was cut, if
// the lock claims within which time it notices a loss (Claims.LostGrace). Acts within that time are
// then inherent, and a later act is a late notice. An answer that confirms the hold after the fault
// restores the promise. Here the grace is 6,500, and nothing is wrong:
//
//	A.acquire [0,1], A's connection is reset at 10, B.acquire [900,901], A.write [950,951]
//
// "Undisturbed for a TTL, so the session stands" accuses every lock that lives as long as its
// connection, and looks for the connection every few seconds.
//
// The promise is also over if the next grant of the key was another client's, and a fault may have
// ended the session by then. The later grants do not break it:
//
//	A.acquire [0,1], A is stopped from 4 to 700, B.acquire [600,601], B.release [610,611]; C.acquire [5000,5001]
//
// # Order of grants
//
// A grant was made at an instant between the start of the first attempt that may have taken effect
// and the end of the acquire. It is not the attempt that succeeded: the first may have taken effect
// with its reply lost, and the second may have recognised its own value.
//
// B is later than A when B's earliest instant is after A's end. Where time is silent, a greater
// fencing token decides, on a key without a token-order violation. "Token, else time" would judge a
// reset counter by the tokens that it broke. Otherwise the order is unknown, and nothing follows
// from it.
//
// Many locks poll, and report the start of the call as the first attempt, so all their waits
// overlap. To decide which of two double-holds is the later one (granted-while-valid, kinds and
// patterns), there is one more rule. B is later, too, if its attempt that succeeded began after A's
// end, and nothing disturbed B's client, its links or the service since B's first attempt. Only a
// lost reply makes an earlier attempt take effect unseen.
//
//	A.acquire [0,10], A is stopped from 20 to 690, B.acquire [1,601] of an attempt at 600, A.write [700,701]
//
// By the calls alone either may be the earlier, and the overrun of A would be assumed. "The lock
// confirmed A's hold before B's acquire had ended, so B is later" accuses a correct lock: B may
// have been granted the key before A, and its reply may have come late.
//
// # Packets
//
// Most locks cannot say when their attempt began. Where a lock does not, lockchaos records what the
// packets of its client tell: when its last request to the service left (Event.Sent), and when the
// last answer arrived before the acquire returned (Event.Came). They decide between two orders of a
// double-hold that the calls leave open, and nothing else.
//
//   - A's last answer arrived before B's acquire began: A is the earlier. A lock knows of its grant
//     by what its service said to it, so the grant was made by then. An order that convicts may
//     follow from it.
//   - B's last request left after A's acquire had ended: A is the earlier,
//     unless the lock sends more requests when it has been granted the key. So
//     this convicts nobody. An overrun of A then needs no other assumption.
//
// Here A was first, by the second rule:
//
//	B.acquire [-5,900], last request at 800; A.acquire [0,10], A is stopped from 20 to 1490, A.write [1500,1501]
//
// "The grant was made after the last request" accuses locks that send more when they
// have the key: an expiry, a notice to waiters, a heartbeat on the same connection. No
// request is recorded if the client asked on several connections within the acquire,
// as a quorum or a pool does, or said something after the last answer. Encryption
// hides no stamps, but its own messages count as requests, and so do those that keep
// HTTP/2 alive. A segment that is sent again does not count. Nothing is recorded if a
// packet was missed, if the service sent nothing, and for locks without a service.
//
// # mutual-exclusion
//
// Violated in two cases:
//
//   - Conflicting holds share an instant. This includes a hold of no length strictly inside another
//     one.
//   - A later grant ended inside the promises of so many earlier ones that they left too few
//     of the key's permits for it. If the order is unknown, each must have ended inside the
//     other's promise. Whichever was later, it was then granted inside the other's promise.
//
// Each pair counts once; on a semaphore, each hold that was one too many.
//
// # unfenced-write
//
// Violated if, in the ledger's order of one protected key, a later grant's write stands before an
// earlier one's, or a hold's writes are not contiguous.
//
// Keys are judged apart: A(k0) B(k1) A(k0) is fine. So are locks that protect the same key: their
// holds do not exclude each other, and none hides what happened under another. Each write counts
// once. Where a hold goes on after a certainly earlier one wrote in between, that one's write is
// the violation.
//
// # lost-update
//
// Violated if another hold's write stands between the version that a hold last read before its
// write, and that write.
//
// "Version read is not the version replaced" would accuse a hold of its own writes: read 1, write
// 2, write 3.
//
// A request that the store takes a second time is made from what its hold wrote last. "The store's
// doing, and no loss" would pass A.write v35, B.write v41, A's same request again as v42: B's is
// lost.
//
// Where a client released its grant, and the ledger then took what it had written in a transaction,
// the lost update is of the kind released-before-commit. The order of release and commit is decided
// by the store's stamp and the start of the release.
//
// # stale-read
//
// Judged in workload transaction only, for exclusive locks. Violated if a hold reads a version
// that is older than one which an earlier grant's write made, whenever the ledger took that
// write. "Older than what the ledger had when it read" would pass this: A.write (in its
// transaction), A.release, B.acquire, B.read v1, A.commit v2. When B read, v1 was the newest.
//
// A write in a transaction stands when the ledger has it. Until the commit is answered, or its
// client's process has ended, the grant stays open. A commit that failed, or was never sent, leaves
// nothing: "a write that was answered is in the ledger" would call such a ledger short. A commit is
// an act of its holder unless a release was asked for before: then its client does not take itself
// for a holder any more.
//
// # token-order
//
// Judged for declared fencing tokens only. Violated if:
//
//   - two clients share one;
//   - a grant that is later by time has a smaller one;
//   - an undisturbed client's acquire returned a smaller one after another's returned a greater.
//
// The same client may get its own token again. Of a reader-writer lock: two grants of which one is
// a writer's.
//
// 0 is a token, and "none" is an absent field. To read 0 as none would pass a counter that falls
// from 7 to 0.
//
// # duplicate-effect
//
// Judged for workloads payment and leader only, with any lock or none. Violated if, of the ledger's
// accepted writes, a second one charges an order again, or runs a tick again. The same request
// applied twice is the store's doing. Kinds are as of an unfenced write.
//
// # continuity
//
// Violated if a renewal, release or question "held?" that the lock declares to confirm the hold was
// answered ok, though it began after the end of another client's later grant. Each pair of grants
// counts once.
//
// By completions a correct lock would be accused: A.release [10,30] takes effect at 11, B.acquire
// [12,13], and A's answer comes at 30.
//
// # dead-grant
//
// Violated if an acquire returned ok when nothing was left of its lease: by the library's own word,
// or a TTL after the attempt that succeeded. "Since the invocation" is wrong: a waiter's attempt
// comes late.
//
// A client that an injected fault stopped or skewed between the attempt and its return is not
// judged. A reply that is late on its way excuses nothing. The time of uninjected stalls is
// subtracted: a grant that is dead only with it is inconclusive. A grant that a stall too short to
// be recorded may explain is not counted.
//
// Of a session: the client was stopped (an injected pause, as measured) within the acquire for
// longer than a session can live that the service does not hear (the TTL and Header.Slack), and it
// had asked, or had its place, before:
//
//	A.acquire [0,1600] of an attempt at 0, A is stopped from 100 to 1500
//
// A session that was made before 100 is over. "A waited for longer than a session lives" would
// accuse every waiter. "A was stopped meanwhile" would accuse a lock that made a new session at
// 1501 and queued again. It says so by its attempt, or by its place (Event.Enqueued).
//
// These show nothing of a session:
//
//   - A stop right after the attempt's stamp (Header.Stall): the request may have left after the
//     stop.
//   - A cut link, since the history does not say which packets passed.
//   - A stop while an injected fault touched the service, which may then keep sessions for longer.
//
// Stalls of any client are subtracted: servers that stand still end no session. After a stall of
// the service its sessions have their whole time again, for it may have lost its leader. A grant
// that is dead only without that is inconclusive.
//
// Also of a session: a fault had the service end the very session that the grant came with, and the
// acquire returned more than a session's life after that (Event.Ended). For example, A.acquire
// [0,1600], and its session is ended by 500. Sooner is left to chance, since no service informs a
// client at once. A fault that stopped the client meanwhile, or kept it from the service, excuses
// it; stalls are subtracted.
//
// # dead-renewal
//
// Violated if a renewal that the lock declares to confirm the hold was answered ok when nothing was
// left of the lease that it gave. It is judged as a dead grant is, from the renewal's own attempt.
// For example, A.acquire [0,1], A.renew [400,1001] of an attempt at 400 gives a lease that ended at
// 900.
//
// "From the call" is wrong: a renewal that was lost and sent again at 900 is answered at 1001 in
// time. The end of the old lease does not count either: the service alone knows whether the renewal
// came in time. A stop of the client before the attempt excuses nothing, since the renewal after it
// was sent by a client that ran.
//
// # stolen-release
//
// Violated if C was granted inside B's promise, and between B's end and C's earliest instant
// another client began a release, not refused, of an older grant whose lease had surely ended. A
// lease has surely ended a TTL after its acquire or last renewal ended; of a session, when its
// client was told.
//
// The key must have become free by that release. So C's client had it within a quarter of
// the TTL of the release, or of its own request if that came later, and no answer confirmed
// B's hold between the two. "C was granted it some time after" blames a release that freed
// nothing for a queue that lets two in. Here B keeps the key, and C waits for 2,400:
//
//	A.release [2000,2010], B holds the key; C.acquire [2100,4500]
//
// No injected fault touched the service meanwhile. A finding that a stall of the service explains,
// too, is inconclusive. "A release answered ok that freed another's key" cannot be asked: many
// services answer ok to anything, and no history shows what was freed.
//
// # stuck-lock
//
// See "Stuck locks" below.
//
// # false-busy
//
// Violated if an acquire was told busy, though all else was settled when it was invoked, and no
// other client asked for the key until its end. Busy is definite: another client holds the key, and
// nothing of this attempt is left. The recorder's order counts, so that no stamp is relied on:
//
//	A.acquire [0,1], A.release [2,3]; B.acquire [10,20] busy
//
// B's first request was granted, its reply was lost, and B met itself.
//
// Settled is a grant whose release was answered ok, and an acquire that was told no. "No hold at
// that instant" would accuse a lock whose holder idles. "No promise" would accuse one whose lease
// runs at the service for longer than its client may count on.
//
// A remainder counts for a TTL and Slack (or Header.Slack). A remainder is the grant of a client
// that is gone, one whose release came too late, and one that took more than one request, of which
// the first may arrive yet. It counts for ever without expiry, under a clock that was made wrong,
// and with sessions of a service that does not say how long it keeps them.
//
// An acquire of unknown fate that reported counts for as long as the lock says (Claims.Abandons),
// else for a TTL, and Slack. It counts until later if a fault on its client held it back. Releases
// of unknown fate, and acquires that never reported, count until their client is closed or gone:
//
//	A.acquire [0,1] of unknown fate; B.acquire [1002,1003] busy
//
// "Until A is closed" lets every lock go free whose replies get lost.
//
// Acquires that overlap excuse each other, though each was told busy. The answer busy says that
// nothing is left of an acquire when it ends. Until then it may have had a place in a queue, or
// some votes of a quorum: with A.acquire [0,11] busy and B.acquire [1,12] busy each may have met
// the other. A client that asks alone after that has met no other.
//
// The answer to a fresh client of the probe is judged as a stuck lock. An injected fault of the
// service excuses for as long, since a key that was given up may come back. A finding that only a
// stall of the service explains is inconclusive. All findings until the next grant have one cause,
// and count once.
//
// # false-loss
//
// Violated if a client was told that its grant is lost, by an answer "not held" to a
// renewal, a release or "held?", or by a lost-event, although the grant certainly stood.
// It was inside its promise, with a quarter of the TTL left where the promise has an end;
// no release of it had been tried; nobody else had been granted the key. No injected
// fault had touched the service, the links of the client, or a clock, and of a session
// nothing had touched its client. A finding that a stall explains, too, is inconclusive.
//
//	A.acquire [0,1], A.renew [100,101] not held
//
// "A definite no to a holder is a defect" accuses a library that sends a release
// again whose reply was lost. So a release counts only if the lock declares that
// releases confirm, and if the answer came within a tenth of the TTL.
//
// # kept-key
//
// Violated if a release was answered ok, by a lock whose releases confirm, and the
// next client waited until the released lease was over. It asked alone, undisturbed,
// more than a quarter of the TTL before that end. None of its attempts that may have
// taken the key began before that end, if it tells (First). What may be left behind
// excuses as in false-busy. A client that is told busy is judged there.
//
//	A.acquire [0,1], A.release [10,11]; B.acquire [20,505]
//
// "The key was not free at once" accuses locks whose waiters look only now and
// then. A client that asks alone for a free key has it by its first request.
//
// # fifo
//
// Judged if the lock declares to be fair. Violated if an undisturbed waiter, enqueued before
// another's acquire began, was granted later, in the order of grants. "Invoked before" would accuse
// a fair lock: A.acquire is invoked at 0 and lies in a pipe until 6, B's is invoked at 1 and
// arrives at 2.
//
// # starvation
//
// Judged if the lock declares to be fair, or the workload is queue. Violated if more than ten
// grants for each client of the run lay wholly inside one undisturbed client's wait, from its
// worker's start to its end. A wait in which a stall touched the client or the service, and no
// injected fault, is inconclusive.
//
// # deadlock
//
// Violated if undisturbed clients in a cycle waited for each other for the bound (Header.Bound,
// else half a TTL): each had a grant, neither released nor at the end of its promise, and an open
// acquire of the next one's key. "By holds" is wrong: asking for the second key is no act, so the
// first hold is over by then.
//
// Not judged where no client asked for a key while it had another. An injected fault ends a cycle:
// a disturbed client is no part of it. A cycle that only a stall makes too short is inconclusive,
// for the machine may have kept the clients from going on, or the session from being heard. So is a
// cycle in which an acquire never reported. Two clients that wait for ever are ended by the
// harness, and say nothing more:
//
//	A.acquire k0 [0,1], B.acquire k1 [0,1], A.acquire k1 [2, ], B.acquire k0 [3, ], both are gone at 900
//
// "An op that never reported proves nothing" would pass every lock that knows no deadline.
//
// # herd
//
// Judged if the lock declares to wake one waiter, and the workload is stampede. Take the requests
// that the service says it handled between two instants, less heartbeats, divided by the grants
// between. Violated if that exceeds 10 + waiters/4. With fewer than 40 clients the two cases are
// too close to distinguish. A fault of the service in between leaves it open, or a stall of half a
// TTL: clients connect again, and that costs requests.
//
// # Several keys in one acquire
//
// One acquire may ask for several keys, which are granted all together or not at all
// (Claims.MultiKey). The history has one op for each key, with the same stamps and one answer
// (Event.Set). Each key is judged by its own op, as if it had been asked for alone. An acquire of
// unknown fate may have any of its keys, or all.
//
// What the answer says, it says of the set. "Each key by itself" accuses correct locks:
//
//	A.acquire k0 [0,1]; B.acquire k0+k1 [10,20] busy
//
// Nobody has k1, yet busy is right. So busy is false only if nobody can have any
// key of the set. It says too that nothing is left: a client that asks for k1
// alone after that has it, or a false busy. In the same way, "not held" says that
// some key of the set is lost. It is a false loss only if each of them certainly
// stood. A client waits for a kept key only if it could have all the others.
//
// An acquire of a set that is open may have some of its keys, while it waits
// for another. Here B may keep k1 for as long as C has k2:
//
//	C.acquire k2 [0,1]; B.acquire k1+k2 [5,4200] busy; A.acquire k1 [10,4000] busy
//
// So a key is free, for a stuck lock, only if those keys are free too that an
// open acquire asks for together with it, and so on from set to set. Until a
// set is refused, its keys count as held if one of these was. "What an open
// acquire asks for may be held" lets two sets go free that wait for each other:
//
//	B.acquire k1+k2 [5,4200] busy; A.acquire k2+k1 [10,4000] busy
//
// A set that waits may be passed over rightly, while one of its keys is taken.
// So no property accuses a lock for it of being unfair (fifo, starvation). A
// set that passes over a single key is judged.
//
// A set is not judged as a whole. If the tokens of one key show that a set was granted before its
// reply came, its holds of the other keys still begin with the reply. Porcupine and the enumerating
// judge see one key at a time, as this one does.
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
// # Stuck locks: the probe
//
// The harness lets fresh clients (numbers above Header.Clients) acquire every key twice: in phase
// "probe" with the losers alive and idle, in phase "final" with every client closed.
//
// No client can hold a key when each of its grants was released ok (or its release denied: the
// service itself says that it is not held), or its client has closed or is gone. The same goes for
// acquires and releases of unknown fate, and for acquires that are still open. If that has been so,
// with every fault healed, for a TTL and Slack by the end of a fresh client's acquire, and the
// answer was busy, the lock is stuck. In phase "probe" it is a ghost if a live client had a
// definite no and the key was free once all were closed. An error instead of busy shows nothing: a
// service without a leader is not a stuck lock. A pass needs that in the last phase a fresh client
// acquired every key.
//
// An acquire of unknown fate that reported may have left something for as long as the lock says
// (Claims.Abandons), else for a TTL. A key that stays busy for longer is stuck, though its client
// lives:
//
//	A.acquire [0,5] of unknown fate; P, a fresh client, is told busy at 1,100
//
// "Until A is closed" lets every ghost go free that lives until the end of the run. An acquire that
// never reported may still be under way, and counts until then.
//
// A client that was killed is gone, even where a fresh process goes on under its number. That one
// has a greater Event.Process, and knows nothing of what its predecessor held. The dead one's
// grant, or one that it was about to get, may stand at the service until its lease is over. A lock
// that never expires keeps it for ever, and that is a stuck lock. It is named a ghost only if the
// key is free as soon as all are closed.
//
// # Stuck locks: while the clients work
//
// A key is stuck while the clients work, too, if it is free and wanted for longer than Patience:
// the TTL, Slack and two seconds, in which a lock that polls looks again. Here the TTL is 500, so
// Patience is 3,000:
//
//	A.acquire [0,1], A.release [10,11]
//	B.acquire [20,600] busy, and again at once, until 3,400
//
// Free: each grant was given back, or the lease of the last one began at that time at the latest:
// when it was granted, renewed, or last acted under. A live session's grant that was not given back
// may be held, and so may that of a lock that declares NoExpiry. An acquire of unknown fate may
// have been granted when it ended. It excuses the lock for a TTL (which is in Patience), or for
// what the lock claims (Claims.Abandons). "For as long as its client lives" lets every lock go free
// whose clients give up. An acquire that is open holds nothing, unless its client is disturbed: it
// would have been answered.
//
// Wanted: one client waits in one acquire, or asks again within a TTL and Slack and is told busy.
// One refusal does not do: Redlock's clients may split the votes. An error ends what the client
// wanted.
//
// Disturbed: a fault on the service, on the client that asks, or on one that asked for the key and
// was not answered before the fault. It counts for twice its time, since delayed requests are sent
// again later and later. Stalls of the machine are subtracted, of clients and of nodes. The wait
// does not begin anew after one, and where several stood still at a time, that time counts once. If
// the wait was too long only with them, nothing follows. Times of a second or more in which the
// service gave no definite answer at all are subtracted, too, unless the whole lasts ten seconds: a
// service may elect a leader, and no record says so.
//
// A wrong clock disturbs for ever, if it is the service's or the asking client's own. Programs wait
// for an instant of their clock, and a monotonic clock keeps what it gained when it is healed. The
// TTL is 500, and B's clock jumped 10,000 ahead at 2:
//
//	A.acquire [0,1], A.release [10,11], B.acquire [5,9000] busy; C.acquire [4000,4001] ok
//
// B may have slept by that clock: it is not asleep. A client with a wrong clock that waits may be
// the first of a queue, so the others have waited for the lock only since it was answered. "Nothing
// follows after a wrong clock" lets every lock go free that sleeps when some other client's clock
// has jumped.
//
// The simpler readings accuse correct locks. "Longer than a TTL and Slack" forbids a lock to look
// only every two seconds. "Nobody answered, so the lock is stuck" takes the outage of a service for
// a defect. "Granted in the end, so all was well" lets a waiter sleep for a minute.
//
// A service may keep a session for longer than the TTL and Slack. Where the header says for how
// long (Header.Slack), Patience is that much longer. TTL 500, Header.Slack 4,000, so Patience is
// 6,500:
//
//	A.acquire [0,1], A is gone at 10; B asks again and again, and is granted the key at 6,410
//
// # Stuck locks: the diagnosis
//
// The harness does not only wait. When a key is stuck as its clients see it, and no fault is in
// force, it enters phase "ask": a fresh client asks while the workload goes on. If that one is
// refused too, the clients are closed one after the other, and after each a fresh one asks again:
//
//	P.acquire [3501,7000] busy, P is closed
//	C.close [7200,7201]              C was refused the key once, and held nothing
//	B.acquire [7110,7250] busy       B asked before C was closed
//	P.acquire [7301,7302] ok         a ghost: the end of client C freed the key
//
// A client that ended before a refusal did not free the key, unless its session may have stood
// until then: a refusal counts that comes a TTL and Slack (or Header.Slack) after the end. "The
// last refusal counts" would clear C for B's sake. The end of a fresh client frees nothing: the key
// was stuck before it came. In phase "probe" the clients are closed in the same way.
//
// Each time between two grants counts once. Its kind is:
//
//   - asleep, if another client, which began to ask only after Patience, was granted the key within
//     Slack, while the first one still waited: the key was free;
//   - ghost, if only clients without a grant may have freed it by their end, and then it was
//     granted;
//   - never-expired, if the last one to hold it gave nothing back, and the key stayed taken after
//     all were closed;
//   - wedged, if none of these is certain.
//
// # What a fault on nodes excuses
//
// A fault on the service excuses what it may explain. Of a lock on a quorum that claims to tolerate
// a minority (Claims.Tolerates), one that touches only a minority of the nodes excuses nothing. The
// TTL is 500, and the lock is on five nodes:
//
//	A.acquire [0,1], A.release [10,11]
//	nodes 1 and 2 are frozen from 30 to 7,000; B asks again and again from 20 on, and is told busy until 3,400
//
// Tolerated are nodes that are away, slow or out of reach. A node that comes back without its data,
// or whose clock is wrong, gives its vote twice. A stall of one node is the machine's doing, and
// the others are next. Nodes count together for a lifetime (TTL and Slack) after they were struck,
// since what was given up meanwhile may still stand there: nodes 1 and 2 until 40, and node 3 from
// 900 on, are three of five.
//
// To let a minority excuse nothing at all would accuse every correct session lock whose clients
// each talk to one node. A client that talked to a node that is away is cut off, and needs time to
// find another one. So there such a fault excuses for a lifetime from its beginning, in which the
// client has moved on or its session has ended. A node that is merely slow excuses for as long as
// it is slow: no quorum replaces a leader that answers.
//
// # Kinds of double-holds
//
// The kind of a double-hold is the first match, with B the later grant:
//
//   - granted-dead, if one of the two is certainly dead (dead-grant). It should not be there,
//     whichever was later, and "A outlived its session" would call inherent what is a defect.
//   - granted-while-valid, if B was granted inside A's promise: a defect of the lock under the
//     faults shown.
//     Where A and B have one identity (Header.Twins), or a twin of A was granted the key inside A's
//     promise before, or A was granted it inside the lease of its own dead predecessor, it is
//     same-identity: by a name that the lock makes (Claims.Identity). It is same-configured-identity
//     where the lock claims no such name. "A dead client's lease is nobody's" would call it
//     granted-while-valid when the predecessor's lease ends inside A's promise.
//   - late-notice, if the lock declares how soon it reports a loss, and A ran undisturbed and
//     untold for longer, since B's end and A's last disturbance, and then acted. (For a lock that
//     notices alone: below.)
//   - lease-overrun, if A's promise was over, or A was stopped, cut off or skewed, before it acted:
//     inherent to leases.
//   - unexplained otherwise.
//
// Where the order is unknown, each order is judged. Neither client is then named as
// the one that came too late (Violation.Unordered), whichever acquire ended first.
//
//   - If both orders are of one kind, it is that kind. Here both grants are inside the other's
//     promise: A.acquire [0,10], B.acquire [5,20], both write at 30.
//   - If packets tell the order, it is the kind of that order (see Packets).
//   - If one order is an overrun, the kind is lease-overrun, and the verdict says what it assumes
//     (Violation.Assumed). A correct lock can have made that history. Only the start of the attempt
//     that succeeded would tell the order.
//   - If each order needs a defect, it is the milder one. A holder that is cut off is never told
//     and acts beyond its grace, and its successor had been waiting since before it. Either the
//     lock told it too late, or it was granted a key that was promised already: late-notice.
//   - Otherwise no order is innocent, and none convicts for certain: unexplained.
//
// Here the first reading is that A outlived its lease. The second is that B was
// granted the key first, and A inside B's promise. "The kinds differ, so it is
// not clear" leaves every lock in doubt that cannot tell when its attempt began:
//
//	B.acquire [-5,900], A.acquire [0,10], A is stopped from 20 to 1490, A.write [1500,1501], B.write [1600,1601]
//
// Nothing follows if a stall of the machine explains one of the orders.
//
// A lock may claim that it notices a loss alone, by its own clock, cut off or not (Claims.Notices).
// Such a lock counts a TTL from its last confirmed renewal, so B's grant shows that A's lease was
// over by A's clock as well. From then on it has its grace. The time that A was stopped since is
// subtracted. A cut link or a fault on the service excuses nothing. "Since A's last disturbance"
// lets every lock go free that never looks at its clock. Here the grace is 200:
//
//	A.acquire [0,1], A is cut off from 2 to 1850, B.acquire [600,601], A.write [850,851]
//
// To count from B's grant alone would accuse a correct lock whose lease was ended before its time,
// by a fault on the service or by one that ends sessions. A renewal may have been confirmed until
// B's grant, and A's clock is a TTL behind that. The same holds after a fault that made A's clock
// wrong. With the service started again at 100, an act of A at 1250 is a lease-overrun, and one at
// 1350 a late notice.
//
// # Patterns
//
// A kind says whose fault a violation is. A pattern says how it came about, for every property for
// which that is a question (Patterns). It is decided by what would have been: a fault explains a
// conflict if, without the time that it lasted, the earlier holder would have acted inside its
// promise.
//
//	A.acquire [0,1], A is stopped from 4 to 24, B.acquire [600,601], A.write [710,711]
//
// "The longest fault on the holder" would blame the stop. Without it A would have written at 690,
// when its lease of 500 was over as well: it worked past its lease. Where faults of two sorts would
// each explain it, the history does not show which did.
//
// A session's end is not in a history. So a client that was away for half a TTL when the other was
// granted the key is taken to have lost its session by that. Where the order of two grants is
// unknown, a pattern is given if it is the same either way, or if only one order has an explanation
// at all.
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
// # Executions of a job
//
// A scheduler is no lock (Claims.Job). Its grant is an execution of the job by an instance, its
// token the tick that is executed, in ms since 1970. An instance owns an execution for a TTL from
// the attempt that claimed it (without an attempt: from the start of its wait), or until it is
// marked as done, by a release that is answered ok. All properties of jobs are judged when the
// history is over, by all faults in it. The TTL is 500, and the tick of 0 is 1000:
//
//	A.acquire [-50,1] attempt 0 tick 1000, A.release [20,21]; B.acquire [-50,801] attempt 800 tick 1000
//
// B replayed the tick, which had been done. "B executed it when A's lease was over, so it is
// inherent" would clear a scheduler that forgets what was done. The claim of B may lie anywhere
// between its attempt and its answer. So where A marked the tick between those two, within its
// lease, either order convicts. Where the mark came after the lease, B may have claimed between
// the two, and it is twice-after-loss:
//
//	A.acquire [-50,1] attempt 0 tick 1000, A.release [590,601]; B.acquire [-50,602] attempt 595 tick 1000
//
// An instance may stand still between its claim and its telling of it. B claimed the tick first, A
// had it when B's lease was over, and B tells of it when A had marked it. "Told after the mark, so
// it is replayed" would accuse the scheduler of that. It is twice-after-loss, and an overlap is
// overlap-after-loss, wherever A began when B's lease might have been over:
//
//	A.acquire [-50,501] attempt 500 tick 1000, A.release [520,521]; B.acquire [-50,900] attempt 0 tick 1000
//
// Executions overlap if the later one began before the last read or write of the earlier one began.
// "Until it was marked as done" would accuse a frozen instance that wakes up, looks, and does
// nothing but mark. An execution without a read or a write overlaps nothing.
//
// A tick is missed if an instance waited for it for a whole period, nobody ever executed it, and
// nothing can have kept all of them from it: a fault or a stall on anyone, from a lease and a
// period before; a wrong clock, ever before; the end of an instance; or another execution that went
// on, or that was not marked as done and had its lease. "Nobody executed it, so it was missed"
// accuses each scheduler whose instance claims a tick and dies. A scheduler claims ticks whether or
// not it is asked for them, so none is judged from the last wait of an instance on that lives while
// the workload winds down: what it claims then it tells nobody.
//
// After a death another instance has the claimed time (Claims.Handover) and a period, since ticks
// come only so often. Injected faults on anyone else excuse it. Stalls of the instance that waits,
// or of the service, are taken off, and what is left must then be twice that time.
//
// After an orderly stop it is the same, with Claims.StopHandover, and an elected component or
// another lock that claims it is judged alike. An orderly stop is a close that was answered while
// the instance executed the job. "It was closed, so it gave up nothing it had to" accuses the
// instances that are closed when the workload winds down, and nobody waits; those do not count.
// With its close an instance gives its tick up: that another one executes it then is no
// twice-while-owned.
//
// # Why one pass decides it
//
// Model a lock so: a failed acquire may fail spuriously, an op of unknown fate may or may not have
// happened, and a hold may end by itself after its last act. Then a key's history is linearizable
// iff no instant lies in conflicting holds, because each hold can shrink to exactly its own span
// and no further. With fencing tokens: iff, moreover, tokens rise with the grants and no act under
// a smaller token starts after an acquire with a greater one ended.
//
// The proof for a mutex is that for every kind. If no instant lies in conflicting holds, let each
// hold begin at the end of its acquire and end at its last act, ends before begins where stamps are
// equal. Then in the order of time no hold begins while one is held that it conflicts with, so it
// is a run of the lock.
//
// If an instant lies in conflicting holds, then in every order all of them have begun by then and
// none has ended. The begin of the last of them comes while the others are held, which the lock
// refuses.
//
// Only which holds conflict differs: any two; any N+1; any two of different owners; any two of
// which one is a writer's. With tokens, the begins are in the order of tokens besides, so a hold
// begins no later than the end of any acquire with a greater one. The levels of a reentrant owner
// need no count in it: a count is the number of its holds that are open, and no other owner is let
// in while it is above zero.
//
// Three judges hold each other to it. Package oracle asks Porcupine the same question with a model
// for each kind (mutex, semaphore, reentrant, reader-writer, both, fenced). A test enumerates
// orders without any cleverness. All three agree on 200,000 random histories of each kind (make
// soak).
//
// # Memory
//
// Which pairs can conflict? Spans only grow until a grant settles: closed by its client, none of
// its ops open, the ledger's account of them in. A grant that settles is compared with the settled
// ones whose bound (last act, end, promise) is not before its begin. A settled grant is forgotten
// when no open acquire was invoked before its bound and no open hold began before it: no later
// event can meet it. So memory is proportional to what is open at one time.
//
// A semaphore's grants are compared only where more were beside each other than it has
// permits. Where thousands are beside each other, time grows with their square
// (TestPermitsOfEqualStamps). Of sessions that a fault may have ended, a search for those
// that exclude each other gives up after 2^17 comparisons, and then convicts nobody.
//
// Two things make memory grow: a client that waits, or lies frozen while it holds,
// for a large part of the run; and a ledger that comes only at the end, since each
// write is then open until the end. The store's order needs four writers a key:
// the last, the one before, the latest by time, the highest by token.
//
// # Left out on purpose
//
// A lock that declares NoExpiry is not yet held to it: its holds end after their last act, like any
// other's. An answer ok to the release of an acquire of unknown fate proves nothing here.
package checker
