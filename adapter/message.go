package adapter

import (
	"fmt"
	"slices"
	"time"
)

// Version is the version of the protocol.
const Version = 1

// The ops that an adapter is asked for.
const (
	OpHello   = "hello"
	OpAcquire = "acquire"
	OpHeld    = "held"
	OpRenew   = "renew"
	OpRelease = "release"
	OpClose   = "close"
	// OpGo says to an instance of a job that the work of a run is over, and to a candidate that it
	// is to step down. It answers at once, and tells of the run's end by an event.
	OpGo = "go"
	// OpCancel is no request of its own: it has the ID of the acquire that is
	// to be given up, and no reply.
	OpCancel = "cancel"
)

// KindJob is the kind of an adapter that is an instance of a scheduler (Greeting.Kind).
const KindJob = "job"

// KindLeader is the kind of an adapter that is a candidate for leadership. A run is a term of its.
const KindLeader = "leader"

// The events that an adapter tells of by itself. Run and done are told by instances of a job, and
// by candidates for leadership.
const (
	EventLost = "lost"
	EventRun  = "run"  // an execution begins
	EventDone = "done" // it is marked as done
)

// The modes of an acquire of a reader-writer lock.
const (
	ModeRead  = "read"
	ModeWrite = "write"
)

// The error words that are definite: the call had no effect, and never will
// have. Busy answers an acquire, NotHeld the ops on a grant, Unsupported any
// op. Whatever else an adapter says leaves the question open.
const (
	Busy        = "busy"
	NotHeld     = "not_held"
	Unsupported = "unsupported"
)

// Definite reports whether the word, as the answer to the op, says for certain
// that nothing happened.
func Definite(op, word string) bool {
	switch word {
	case Unsupported:
		return true
	case Busy:
		return op == OpAcquire
	case NotHeld:
		return op == OpHeld || op == OpRenew || op == OpRelease || op == OpGo
	}
	return false
}

// Request is one line to an adapter.
type Request struct {
	ID  int64  `json:"id"`
	Op  string `json:"op"`
	Key string `json:"key,omitempty"`
	// Keys of an acquire are several, where the adapter declares multi_key; Key
	// is then the first of them.
	Keys []string `json:"keys,omitempty"`
	// Mode of an acquire is ModeRead or ModeWrite where the adapter declares read_write, else "".
	Mode string `json:"mode,omitempty"`
	// Permits of an acquire is how many it asks for, where the adapter declares
	// permits_per_acquire, else 0.
	Permits int `json:"permits,omitempty"`
	// Grant is the ID of the acquire that granted what is asked about.
	Grant int64 `json:"grant,omitempty"`
	// Run of a go is the name of the execution that it is about.
	Run string `json:"run,omitempty"`
	// TimeoutMS is how long the adapter may take (ms).
	TimeoutMS int64 `json:"timeout_ms"`
	*Greeting
}

// Greeting is what a hello says: who the client is, and where the service.
type Greeting struct {
	Protocol int      `json:"protocol"`
	Service  string   `json:"service"`
	Nodes    []string `json:"nodes"`
	// URLs are those of the nodes, where lockchaos was given URLs: with user, password and
	// database, as clients of the service read them.
	URLs []string `json:"urls,omitempty"`
	// TLS is set where the URLs want TLS.
	TLS *TLS `json:"tls,omitempty"`
	// Account is one with a password, for libraries that insist on one; nil: none is known.
	Account *Account `json:"account,omitempty"`
	// TTLMS is the lease or session time (ms).
	TTLMS int64 `json:"ttl_ms"`
	// Kind is KindJob where an instance of a scheduler is wanted, KindLeader where a candidate for
	// leadership is, else "".
	Kind string `json:"kind,omitempty"`
	// EveryMS is the period of the job (ms); 0: there is none.
	EveryMS int64  `json:"every_ms,omitempty"`
	Client  string `json:"client"`
	// Seed seeds whatever the adapter draws at random; it fits into a double.
	Seed int64 `json:"seed"`
	// Dir is a folder that all clients of a run share, for locks on files; "" where there is none.
	Dir string `json:"dir,omitempty"`
}

// Account is whom a client may log in as at the service.
type Account struct {
	User     string `json:"user"`
	Password string `json:"password"`
	// Database is the one that it is for; of Redis the number.
	Database string `json:"database"`
}

// Declaration is what an adapter says of its lock: what may be concluded from
// its answers. A claim that is not made is not held against the lock.
type Declaration struct {
	// Name is the lock's, with its version: "redis-py Lock 4.3.4".
	Name string `json:"name"`
	// Validity is "library", "from_invocation", "session" or "" (no claim).
	Validity string `json:"validity"`
	// Token is "fencing", "version", "owner" or "none".
	Token string `json:"token"`
	// Confirms lists the ops whose success proves that the hold still stood:
	// "renew", "release", "held".
	Confirms []string `json:"confirms"`
	// Can lists the ops that there are beside acquire and release: "renew",
	// "held", "cancel". Those of Confirms need not be named again.
	Can []string `json:"can"`
	// LostGrace is how long the lock may take to notice a loss while its client
	// runs undisturbed; 0: no claim.
	LostGrace time.Duration `json:"-"`
	// Notices says how it notices a loss within LostGrace: "undisturbed" or ""
	// as above, "alone" by its own clock, cut off or not.
	Notices string `json:"notices"`
	// Tolerates is "minority" if a fault that touches only a minority of the
	// service's nodes is no excuse, or "".
	Tolerates string `json:"tolerates"`
	// Identity says by what name the lock knows its clients apart: "unique", "process", "host",
	// "none" or "" (clients.Claims).
	Identity string `json:"identity"`
	// Abandons is for how long an acquire without a grant may leave something behind; 0: for a TTL.
	Abandons time.Duration `json:"-"`
	// Lease is the lock's TTL where it can't be set: the lock takes no notice
	// of Greeting.TTLMS. 0: it can be set.
	Lease time.Duration `json:"-"`
	Fair  bool          `json:"fair"`
	// Permits is how many may hold a key at once; 1 when it is not given.
	Permits int `json:"permits"`
	// PerAcquire is how many of them one acquire may ask for; 0: one, and none says how many.
	PerAcquire int `json:"permits_per_acquire,omitempty"`
	// MultiKey is how many keys one acquire may ask for; 0: one.
	MultiKey  int  `json:"multi_key,omitempty"`
	Reentrant bool `json:"reentrant"`
	// ReadWrite: each acquire has a mode, and readers do not exclude each other. Permits is 1.
	ReadWrite bool `json:"read_write"`
	NoExpiry  bool `json:"no_expiry"`
	// Sessions: the lock has a session at its service, and each grant comes with it.
	Sessions bool `json:"sessions"`

	// Leader: it is a candidate for leadership.
	Leader bool `json:"leader,omitempty"`
	// Job is of an instance of a scheduler: "at-most-once", "at-least-once" or "exactly-once"; "":
	// it is a lock.
	Job string `json:"job,omitempty"`
	// Overlap: two executions may run at a time.
	Overlap bool `json:"overlap,omitempty"`
	// Misfire is "skip", "once", "all" or "" (no claim).
	Misfire string `json:"misfire,omitempty"`
	// Stops is how long after a loss the application may still have an effect, Handover how long
	// after a death a tick may find nobody; 0: no claim.
	Stops, Handover time.Duration `json:"-"`
	// StopHandover is how long after an orderly stop a tick may find nobody, or of a lock, how long
	// one that waits may not be granted what the stopped one held; 0: no claim.
	StopHandover time.Duration `json:"-"`
}

// Session is what the service knows a client's session by.
type Session struct {
	// ID is the number of ZooKeeper's session, of etcd's lease, or of
	// PostgreSQL's backend; 0: none was told.
	ID int64
	// Password is what ZooKeeper asks of a client that takes a session up again, and
	// at Consul the name of the session; none elsewhere.
	Password []byte
}

// Mismatch tells, as the rest of a sentence, how the declaration does not answer a greeting of the
// kind; "" if it does.
func (d *Declaration) Mismatch(kind string) string {
	switch {
	case d.Job != "" && kind != KindJob:
		return `declared "job" in its hello, and was not greeted as a scheduler: run it with workload job, or --job-cmd`
	case d.Leader && kind != KindLeader:
		return `declared "leader" in its hello, and was not greeted as a candidate: run it with kind: leader, or --leader-cmd`
	case kind == KindJob && d.Job == "":
		return `was greeted with kind "job", and did not declare "job" in its hello: it is a lock, or says "job":"at-least-once"`
	case kind == KindLeader && !d.Leader:
		return `was greeted with kind "leader", and did not declare "leader" in its hello: it is a lock, or says "leader":true`
	}
	return ""
}

// Does reports whether the adapter carries out the op.
func (d *Declaration) Does(op string) bool {
	if op != OpHeld && op != OpRenew && op != OpCancel {
		return true
	}
	return slices.Contains(d.Can, op) || slices.Contains(d.Confirms, op)
}

// TTL returns the TTL to open the lock with: the one that the user gave (0: none),
// or the lock's own if it can't be set. Another one than that is a *LeaseError.
func (d *Declaration) TTL(given time.Duration) (time.Duration, error) {
	if d.Lease == 0 || d.Lease == given {
		return given, nil
	}
	if given != 0 {
		return 0, &LeaseError{Lease: d.Lease, Given: given}
	}
	return d.Lease, nil
}

// LeaseError is a TTL that was given for a lock whose lease is another one, and can't be set.
type LeaseError struct{ Lease, Given time.Duration }

func (e *LeaseError) Error() string {
	return fmt.Sprintf("a TTL of %v was given, and the lock has a lease of %v that can't be set (lease_ms in its hello): give no TTL, or %v", e.Given, e.Lease, e.Lease)
}

// Asks is the mode with which an acquire is asked for: "" where the lock has none.
func (d *Declaration) Asks(read bool) string {
	switch {
	case !d.ReadWrite:
		return ""
	case read:
		return ModeRead
	}
	return ModeWrite
}

// Contradiction tells, as the rest of a sentence, what in a successful reply to
// the op does not go with the declaration; "" if nothing does. What was not
// declared would not be judged, and what was declared and is missing can't be.
func (d *Declaration) Contradiction(op string, r Reply) string {
	token, session, validFor := mismatched(d.Token != "none", r.Token != 0), mismatched(d.Sessions, r.Session.ID != 0),
		mismatched(d.Validity == "library", r.HasValidFor)
	if op != OpAcquire {
		token, session = 0, 0
	}
	if op != OpAcquire && op != OpRenew {
		validFor = 0
	}
	switch {
	case token == undeclared:
		return fmt.Sprintf("granted with token %d, and declared in its hello to have none", r.Token)
	case token == missing:
		return fmt.Sprintf("granted without a token, and declared in its hello that it has one (%s)", d.Token)
	case session == missing:
		return "granted without a session, and declared in its hello that it tells its sessions"
	case session == undeclared:
		return "granted with a session, and did not declare sessions in its hello"
	case validFor == undeclared:
		return fmt.Sprintf(`answered %s with valid_for_ms, and did not declare validity "library" in its hello`, op)
	case validFor == missing:
		return fmt.Sprintf(`answered %s without valid_for_ms, and declared validity "library" in its hello`, op)
	}
	return ""
}

// mismatch says how a reply differs from the declaration, if it does.
type mismatch uint8

const (
	undeclared mismatch = iota + 1
	missing
)

func mismatched(declared, given bool) mismatch {
	switch {
	case given && !declared:
		return undeclared
	case declared && !given:
		return missing
	}
	return 0
}

// Misstamped tells, as the rest of a sentence, which stamp of the reply is not
// between sending and receiving (monotime.Now); "" if none is.
func (r Reply) Misstamped(sent, received int64) string {
	for _, s := range []struct {
		name string
		at   int64
	}{{"attempt_ns", r.Attempt}, {"first_ns", r.First}, {"enqueued_ns", r.Enqueued}} {
		if s.at != 0 && (s.at < sent || s.at > received) {
			return fmt.Sprintf("says %s %d, which is not between the request (%d) and the reply (%d): it must be a reading of CLOCK_MONOTONIC, in ns", s.name, s.at, sent, received)
		}
	}
	return ""
}

// Reply is one answer of an adapter. Stamps are of the machine's monotonic
// clock (ns), as the adapter read it; 0: not given.
type Reply struct {
	ID int64
	OK bool
	// Error is the word of a failure; Text says more, for a human.
	Error, Text string

	// Declaration answers a hello.
	Declaration *Declaration

	// Token is that of an acquire's grant; 0: none.
	Token int64
	// ValidFor is how long the library says that the grant is good for.
	// HasValidFor reports whether it said anything.
	ValidFor    time.Duration
	HasValidFor bool
	// Attempt is when the attempt began that succeeded, First when the first began
	// that may have taken effect, Enqueued when the waiter was put into its queue.
	Attempt, First, Enqueued int64
	// Session is the client's present one, in the reply to a hello or an
	// acquire; its zero value: none was told.
	Session Session
}

// Event is what an adapter says by itself: the hold on the key, or a run of the job, is lost; a
// run begins, or has ended.
type Event struct {
	// Kind is one of EventLost, EventRun and EventDone.
	Kind string
	// Run names the execution, of an instance of a job; Tick (of EventRun) is the instant that it
	// is due at, in ms since 1970; 0: the scheduler does not know.
	Run  string
	Tick int64
	// Attempt is when the request was sent that claimed the run (ns, monotime.Now); 0: not told.
	Attempt int64
	Key     string
	// Grant is the ID of the acquire whose grant is lost; 0: the present one.
	Grant int64
	Why   string
}
