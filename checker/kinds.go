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
//   - loss-ignored, if A had been told of the loss, and only what it began afterwards conflicts with
//     B (see loss-ignored below).
//   - lease-overrun, if A's promise was over, or A was stopped, cut off or skewed, before it acted:
//     inherent to leases.
//   - unexplained otherwise.
//
// # loss-ignored
//
// A lock told its client of the loss, or answered "not held", and the application went on to read
// or write. That is the application's defect, or that of the adapter between the two. Without
// these later acts nobody would have conflicted. "A's lease was over, so it is inherent" excuses an
// application that could know.
//
//	A.acquire [0,1], A is cut off from 2 to 900, A.lost 600, B.acquire [650,651], A.write [850,851]
//
// An application looks first and acts then, and the news may come in between. So an act counts only
// if it was asked for later than a tenth of a TTL after the news, or later than a stall that is too
// short to be measured. Each of these would accuse an application that could not know:
//
//   - "Any act after the news": the write was asked for at 605, and decided at 599.
//   - "Any act that began after the news": A was asked for the write at 590, and stood still until 700.
//     A fault on A between the news and the act excuses it. A stall leaves it open.
//   - "Any act that the log tells of after the news": a log of others has one stamp for a write, and
//     that may be its end.
//   - "Renewals are acts": who asks the lock for more time goes by its answer.
//
// An application with guard none does not listen, on purpose. What it does is a lease-overrun.
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
package checker

// The kinds of violations, where a property has several.

// The kinds of a double-hold.
const (
	// KindGrantedWhileValid: the later grant was made inside the promise of the
	// earlier one. A defect of the lock, under the faults shown.
	KindGrantedWhileValid = "granted-while-valid"
	// KindLateNotice: the lock should have told its client of the loss by then,
	// and had not. A defect of the lock.
	KindLateNotice = "late-notice"
	// KindGrantedDead: one of the two grants was certainly dead when it was
	// made (dead-grant). A defect of the lock.
	KindGrantedDead = "granted-dead"
	// KindSameIdentity: the later grant was made inside the promise of the earlier one, since the
	// lock took two clients for one, or one for its predecessor under the same name, by a name
	// that it makes itself. A defect of the lock.
	KindSameIdentity = "same-identity"
	// KindConfiguredIdentity: the same, where the lock claims no names of its own making. Two
	// clients were given one name: the doing of those who configured it.
	KindConfiguredIdentity = "same-configured-identity"
	// KindLossIgnored: the client had been told of the loss, and its application went on. A defect
	// of the application, or of the adapter.
	KindLossIgnored = "loss-ignored"
	// KindLeaseOverrun: the client outlived its lease, because it was stopped,
	// cut off or skewed, or too slow. Inherent to leases.
	KindLeaseOverrun = "lease-overrun"
	// KindUnexplained: none of the others is certain.
	KindUnexplained = "unexplained"
)

// The kinds of an unfenced write. The kind is empty where the write's worker
// never reported when it began.
const (
	// KindStale: the write began after the later grant had ended: the client was wrong to write.
	KindStale = "stale"
	// KindInFlight: the write was sent before; only a fence can help.
	KindInFlight = "in-flight"
)

// The kinds of what transactions did to each other. The kind is empty where none is certain.
const (
	// KindReleasedBeforeCommit: the earlier holder gave the lock back while its transaction was
	// open, and committed afterwards. The lock did what it was asked; the order was wrong.
	KindReleasedBeforeCommit = "released-before-commit"
)

// The kinds of a stuck lock. The kind is empty where a probe found it and none of them is certain.
const (
	// KindGhost: a live client without a grant occupied the key; its end freed it.
	KindGhost = "ghost"
	// KindAsleep: the key was free, another client got it at once, and a waiter slept on.
	KindAsleep = "asleep"
	// KindWedged: nobody held the key and nobody got it; more is not certain.
	KindWedged = "wedged"
	// KindShutOut: one client was granted nothing any more, though nothing disturbed it and others
	// were granted what they asked for.
	KindShutOut = "shut-out"
	// KindNeverExpired: its last holder gave nothing back, and the key stayed
	// taken after every client was closed.
	KindNeverExpired = "never-expired"
)

// The kinds of a tick that was executed twice, or in vain.
const (
	// KindTwiceWhileOwned: the second execution began while the first instance owned the tick.
	KindTwiceWhileOwned = "twice-while-owned"
	// KindReplayed: it began when the tick was marked as done.
	KindReplayed = "replayed"
	// KindTwiceThoughOnce: the first instance had lost the tick, and the scheduler claims that a
	// tick is executed at most once, whatever happens.
	KindTwiceThoughOnce = "twice-though-once"
	// KindTwiceAfterLoss: the first instance had lost the tick, and the scheduler claims to
	// execute it at least once. Inherent to that claim.
	KindTwiceAfterLoss = "twice-after-loss"
	// KindEffectTwice: the store took the effects of two executions of the tick, and the scheduler
	// claims that it takes one (exactly-once).
	KindEffectTwice = "effect-twice"
	// KindEffectLost: the tick began, and its effect never came though it was marked as done, or
	// an instance was there to execute it again. The scheduler claims that it comes (exactly-once).
	KindEffectLost = "effect-lost"
)

// The kinds of an overlap.
const (
	// KindOverlapWhileOwned: the later execution began while the earlier instance owned the job.
	KindOverlapWhileOwned = "overlap-while-owned"
	// KindOverlapAfterLoss: the earlier instance had lost it, and worked on. Inherent to leases.
	KindOverlapAfterLoss = "overlap-after-loss"
)

// The kinds of an effect that came too late.
const (
	// KindRanOn: nothing had disturbed the application since it began.
	KindRanOn = "ran-on"
	// KindWokeLate: it was stopped or cut off meanwhile. Only a fence helps.
	KindWokeLate = "woke-late"
)
