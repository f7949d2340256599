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
	// KindNeverExpired: its last holder gave nothing back, and the key stayed
	// taken after every client was closed.
	KindNeverExpired = "never-expired"
)

// The kinds of a tick that was executed twice.
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
