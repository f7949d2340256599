package history

import "math"

// Type says what an event is.
type Type uint8

// The event types. Invoke, OK, Fail and Info are Jepsen's: every op has one Invoke and at most one
// completion. The others are told by the harness, not asked for.
const (
	TypeNone Type = iota
	// Invoke: the harness is about to send an op to a client.
	Invoke
	// OK: the op happened.
	OK
	// Fail: the op definitely did not happen, and never will.
	Fail
	// Info: nobody knows whether the op happened; it may still happen later.
	Info
	// Lost: the lock told its client that a hold is gone (Grant names it, Text
	// says why). Start is the worker's stamp.
	Lost
	// Fault: a fault begins or ends; Fault holds the particulars.
	Fault
	// Ledger: one entry of the store's ledger, in the store's order (see Event).
	Ledger
	// Watermark: every request that the store handled before Start is in the Ledger events so far.
	Watermark
	// Exit: a client's process ended or was retired; nothing that it did not already start will
	// start. Start is the stamp by which the process was certainly gone, Process its last
	// incarnation. After a kill a fresh process may go on under the same client number, with a
	// greater Process: it knows nothing of what its predecessor held, and nobody gave that back.
	Exit
	// Mark: the harness passes from one phase to the next; Text is a Phase.
	Mark
	// Count: a figure that a server tells of itself. Text says which
	// (CountRequests), Value how many.
	Count
	// End: the history is complete. A history without it is truncated.
	End
)

// CountRequests is the figure of a Count: the requests that all nodes of the lock
// service together have handled since they started. In workload stampede it is recorded
// when all clients wait but the holder, and again at the end of the workload's time.
const CountRequests = "requests"

// The phases that Mark announces.
const (
	PhaseRun = "run" // the workload starts, or goes on alone
	// a key that nobody gets is asked for by fresh clients, while the workload goes on
	PhaseAsk   = "ask"
	PhaseQuiet = "quiet" // every fault is healed, the workload winds down
	PhaseProbe = "probe" // losers are alive and idle; fresh clients try every key
	PhaseEach  = "each"  // each client that is alive asks for a key, while the others are idle
	PhaseClose = "close" // every client is closed
	PhaseFinal = "final" // fresh clients try every key once more
)

// Kind is what an op does.
type Kind uint8

// WorkloadTransaction is the workload whose reads and writes are parts of transactions (see
// Commit).
const WorkloadTransaction = "transaction"

// The ops. Read, Write and Commit go to the store, the others to the lock.
const (
	KindNone Kind = iota
	Acquire
	Release
	Renew
	Held // asks the lock whether the hold still stands
	Read
	Write
	Close // gives the lock client up, with whatever it holds
	// Commit ends a transaction at the store (Header.Workload is WorkloadTransaction). It makes
	// the client's writes stand that were answered since its last one. Those enter the ledger
	// then, and never if the commit fails, or is never sent.
	Commit
)

// Mode is what an acquire of a reader-writer lock asks for.
type Mode uint8

// The modes. Locks without readers and writers have none (Claims.ReadWrite).
const (
	ModeNone Mode = iota
	// ModeRead: a shared hold, beside those of other readers.
	ModeRead
	// ModeWrite: an exclusive hold.
	ModeWrite
)

// MaxPerAcquire is the greatest number of permits that one acquire can ask for.
const MaxPerAcquire = math.MaxUint8

// MaxMultiKey is the greatest number of keys that one acquire can ask for.
const MaxMultiKey = 64

// KeyID is an index into History.Keys or Reader.Keys: lock keys as small
// numbers, so that judging needs no string comparison.
type KeyID int32

// Event is one line of a history. Fields that an event has no use for are zero.
//
// Times are nanoseconds since Header.Origin, on the machine's true monotonic
// clock. Time zero is before every event, so a stamp of 0 means "not known".
type Event struct {
	// The fields that every event has and a judge looks at come first: they share a cache line.

	// Time is the recorder's stamp: of an Invoke before it was sent, of a
	// completion after it was received. On a Ledger event it is the store's
	// stamp of its decision, so it is smaller than that of the line before.
	Time int64
	// Op pairs an invocation with its completion; it is unique in the history and positive.
	Op int64
	// Grant is the Op of the acquire under which this op is done. On an acquire it equals Op.
	Grant int64
	// Start and End are the worker's stamps around the library call, on
	// completions. An Info that never reported has none.
	Start, End int64

	Type Type
	Kind Kind
	// Declined (Fail): the worker did not start the op, because it knew that
	// the hold was lost. It is no act.
	Declined bool
	// Refused (Fail of a Write, and Ledger): the store received the request and
	// refused it, for its old token.
	Refused bool
	// Conflict (Fail of a Write, and Ledger): the store received a write on
	// condition of a version, found another one, and did not accept it. That is
	// no refusal by a fence, and says nothing about the lock.
	Conflict bool
	// Atomic (OK and Info of a Write, and Ledger): the write is a read-modify-write
	// that the store does in one step, so it overwrites nothing unseen.
	Atomic bool
	// NotHeld (Fail of Release, Renew, Held): the service answered that the
	// hold is not this client's.
	NotHeld bool
	// Busy (Fail of Acquire): somebody else has the lock, for all that the
	// service could tell until the deadline.
	Busy bool

	Key KeyID
	// Client is the client's number, from 1; Process its incarnation: unique in
	// the history, and new after an indeterminate op.
	Client, Process int32

	// HasValidFor reports whether the library said how long the grant is valid: see ValidFor.
	HasValidFor bool
	// Mode (Invoke of an Acquire of a reader-writer lock, and only there) is
	// what was asked for, and granted if it was granted.
	Mode Mode
	// Permits (Invoke of an Acquire of a semaphore, and only there) is how many
	// permits are asked for, and granted all together or not at all; 0: one.
	Permits uint8

	// What only acquires have, and their tokens, comes next: it fills the second line.

	// Token is the fencing token of the grant (on OK acquires), or the token that the
	// request carried (Read, Write, Ledger).
	Token Token
	// Attempt (OK acquires and renewals) is the start of the attempt that succeeded;
	// First the start of the first attempt that may have taken effect (on Info acquires
	// too). Enqueued is when the service put the waiter into its queue. 0: not told.
	Attempt, First, Enqueued int64
	// Set (Invoke of Acquire, Release, Renew and Held) says that one call was made for
	// several keys: it is the op of the first of them. Each key has an op of its own,
	// and their ops are numbered one after the other. They begin and end together,
	// with one answer: a set of keys is granted as a whole or not at all. 0: one key.
	Set int64
	// Ended (OK acquires) is an instant by which a fault had ended the session
	// that the grant came with, at the lock's service. 0: none did.
	Ended int64
	// Sent and Came (OK acquires without an Attempt) are what the client's packets
	// tell of the grant: when its last request to the lock's service left before
	// the service's last answer, and when that answer arrived. 0: not seen.
	Sent, Came int64

	// Version is the version that a Read returned or a Write created; on the Invoke of a
	// Write, 0. Versions of a key count 1, 2, 3 … in ledger order; 0 is the empty key.
	Version int64
	// Replaced is the version that an accepted Write replaced.
	Replaced int64
	// Seq is the entry's place in the store's ledger, over all keys, from 1.
	Seq int64
	// Value is what was read or is to be written, or what a Count counted.
	Value int64
	// ValidFor is how long the library said that the grant or the renewal is valid, in ns
	// from the instant at which it said so; it may be negative. That instant lies between
	// Attempt and End, and nobody knows where: a client may be stopped before it stamps
	// End. So a judge counts from Attempt (without one, and on a renewal, from Start).
	ValidFor int64

	// Text is the error of a Fail or Info, why a Lost was told, the phase of a
	// Mark, the figure of a Count.
	Text string
	// Fault is set on Fault events only.
	Fault *FaultInfo
}

// FaultInfo tells of one injected (or, for a stall, noticed) event. Begin and
// end are two events with the same ID; only the end has the evidence.
type FaultInfo struct {
	ID int `json:"id"`
	// Plan is which of the planned faults it carries out (Header.Faults), from
	// 1; 0: nobody planned it, or the history does not tell.
	Plan int `json:"plan,omitempty"`
	// Kind is the fault's name: "pause", "kill", "stall" …
	Kind string `json:"kind"`
	// Phase is "begin" or "end".
	Phase string `json:"phase"`
	// Target is what was aimed at, symbolically: "holder", "next-waiter", "redis-1", "majority".
	Target string `json:"target,omitempty"`
	// When is the moment aimed at: "acquiring" (Clients then have an open acquire),
	// "after-grant", "before-write", "between-read-and-write", "random" …
	When string `json:"when,omitempty"`
	// Hosts are the names of those that the target meant when the fault struck.
	Hosts []string `json:"hosts,omitempty"`
	// Clients are those that the fault touches: their process, their clock, or their
	// links to the lock service. A fault that lies only between a client and the store
	// does not touch what the lock has promised to it: it is one of Store alone.
	Clients []int32 `json:"clients,omitempty"`
	// Links says that the fault lies on links only: processes run, and clocks are true.
	Links bool `json:"links,omitempty"`
	// Service says that the fault touches the lock service (a node, a link
	// between nodes, a node's clock).
	Service bool `json:"service,omitempty"`
	// Store says that the fault touches the store.
	Store bool `json:"store,omitempty"`
	// Kept (of servers that are started again) says that the servers came back
	// with all that they had answered for; of a failover, that those which took over
	// knew all of it. False: they did not, or nobody knows.
	Kept bool `json:"kept,omitempty"`
	// Holding is the grant that the target held when the fault took effect; 0:
	// none, so the fault met no holder.
	Holding int64 `json:"holding,omitempty"`
	// Waiting tells that a client that was struck had an acquire under way when
	// the fault took effect.
	Waiting bool `json:"waiting,omitempty"`
	// From and To are the measured beginning and end of the effect, ns since Header.Origin
	// (on the end event). What an injected fault may have disturbed is more: it lies
	// between the times of the two events, which are recorded before the injection and
	// after the healing. A kill's effect is the end of the process: at From it still ran,
	// at To it was gone. A crash-restart's is from the kill until the node answers again.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Injected is false for what the machine did by itself: a stall of a
	// client, or of the lock service.
	Injected bool `json:"injected"`
	// Bit reports whether the evidence proves that the fault took effect.
	Bit bool `json:"bit"`
	// Evidence is the proof, in words and figures a reader can check ("state T
	// on 9 of 9 threads, 1.44 s").
	Evidence string `json:"evidence,omitempty"`
	// Clocks (on the end of a fault of clocks) are what the clocks that it made
	// wrong showed, before, meanwhile and after.
	Clocks []ClockReading `json:"clocks,omitempty"`
	// Touch is what it does, and how to speak of it; nil in histories of format 1. Ask Touches.
	Touch *Touch `json:"touch,omitempty"`
}

// MomentAcquiring is the moment (FaultInfo.When) of a fault that is aimed at
// clients with an open acquire.
const MomentAcquiring = "acquiring"

// MomentBeforeCommit is the moment of a fault that is aimed at clients with an open transaction,
// which may have given their lock back already.
const MomentBeforeCommit = "before-commit"

// Bites reports whether a fault that has ended was injected, took effect, and met what it was
// aimed at: a holder, or where it is aimed at nodes, into an acquire, at a transaction or at a
// waiter, these.
func (f *FaultInfo) Bites() bool {
	return f.Injected && f.Bit && (f.Holding != 0 || f.Waiting || f.Service || f.When == MomentAcquiring ||
		f.When == MomentBeforeCommit)
}

// String returns the name that the event type has in a history file.
func (t Type) String() string { return typeNames[t] }

// String returns the name that the op has in a history file.
func (k Kind) String() string { return kindNames[k] }

// String returns the name that the mode has in a history file.
func (m Mode) String() string { return modeNames[m] }

var typeNames = [...]string{TypeNone: "", Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info", Lost: "lost",
	Fault:  "fault",
	Ledger: "ledger", Watermark: "watermark", Exit: "exit", Mark: "mark", Count: "count", End: "end"}

var kindNames = [...]string{KindNone: "", Acquire: "acquire", Release: "release", Renew: "renew", Held: "held",
	Read: "read", Write: "write", Close: "close", Commit: "commit"}

var modeNames = [...]string{ModeNone: "", ModeRead: "read", ModeWrite: "write"}
