package clients

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Lock is one client's handle on a lock service. A client drives it with one call at a time.
//
// Every method returns at the latest soon after ctx is done. Its error is definite when
// errors.Is finds ErrBusy, ErrNotHeld or ErrUnsupported in it: the call then had no effect and
// never will have. Every other error is indefinite: the call may have taken effect, or may yet.
type Lock interface {
	// Acquire tries to get the key until ctx is done, and returns the grant. With an error
	// that is not definite the grant's First says when the first attempt began that may
	// have taken effect (0: none was sent). Running out of time while the service clearly
	// said that another holds the key, with nothing of ours left behind, is ErrBusy.
	Acquire(ctx context.Context, key string) (Grant, error)
	// Release gives the grant back. ErrNotHeld: the service said that it was no longer ours.
	Release(ctx context.Context, g Grant) error
	// Close gives up the client's connections, and its session if it has one.
	Close(ctx context.Context) error
}

// Holder is implemented by locks that can be asked whether a grant still stands.
type Holder interface {
	// Held returns nil when the grant still stands as far as the lock can tell,
	// ErrNotHeld when it does not.
	Held(ctx context.Context, g Grant) error
}

// Renewer is implemented by locks whose grants are renewed by the application.
type Renewer interface {
	Renew(ctx context.Context, g Grant) (Grant, error)
}

// ReadLocker is implemented by reader-writer locks, whose Claims have
// ReadWrite: their Acquire takes the key as a writer.
type ReadLocker interface {
	// AcquireRead takes the key as a reader, beside other readers. In all else it is Acquire.
	AcquireRead(ctx context.Context, key string) (Grant, error)
}

// PermitLocker is implemented by semaphores whose Claims have PerAcquire: their
// Acquire takes one permit.
type PermitLocker interface {
	// AcquirePermits takes so many permits of the key, all together or none. In
	// all else it is Acquire.
	AcquirePermits(ctx context.Context, key string, n int) (Grant, error)
}

// SetLocker is implemented by locks whose Claims have MultiKey.
type SetLocker interface {
	// AcquireSet takes several keys, all together or none. In all else it is
	// Acquire. The grant is one, of the first key; Release gives all of them back,
	// Held and Renew are about all of them. Release says ErrNotHeld, as they do,
	// if any of the keys is no longer ours; it has then given back the others.
	AcquireSet(ctx context.Context, keys []string) (Grant, error)
}

// Watcher is implemented by locks that tell by themselves when a grant is lost.
type Watcher interface {
	// Lost returns the channel on which the lock tells of lost grants. It is
	// never closed, and a slow reader blocks nobody.
	Lost() <-chan Loss
}

// Leaser is implemented by locks whose service decides how long a lease is, whatever was asked for.
type Leaser interface {
	// GrantedTTL returns the TTL that the service granted to the present session, 0 while there is
	// none.
	GrantedTTL() time.Duration
}

// Guarder is implemented by locks that the store itself can look at when it
// writes: their Kind.Writes is "guarded".
type Guarder interface {
	// Guard returns the lock's key in etcd whose create revision is the grant's token for as long
	// as the grant stands. A scheduler on PostgreSQL returns the owner of the job's row, whose tick
	// is the grant's token for as long as the execution is its own.
	Guard(g Grant) string
}

// Loss is a lost-event.
type Loss struct {
	Key string
	// Token is that of the grant that is lost, so that a late event is not
	// taken for a newer grant's; 0: the lock has no tokens.
	Token int64
	Why   string
}

// Declarer is implemented by locks that say only when they are open what may be
// concluded from their answers: programs of the user's own.
type Declarer interface {
	Declares() Declaration
}

// Declaration is what such a lock says of itself.
type Declaration struct {
	// Name is the lock's, with its version.
	Name   string `json:"name"`
	Claims Claims `json:"claims"`
	// Sessions: it tells Config.Opened of its sessions.
	Sessions bool `json:"sessions,omitempty"`
	// Lease is its TTL where it can't be set, whatever Config.TTL is; 0: it can be set.
	Lease time.Duration `json:"lease,omitempty"`
}

// Grant is one successful acquire. Stamps are monotime.Now readings, 0 when the lock does not know.
type Grant struct {
	Key string
	// Token is the fencing token, version or owner number, as the lock's claims say; 0: none.
	Token int64
	// ValidFor is how long the library says that the grant is good for, in ns from
	// Attempt. A library that says until when is taken at its word; one that says
	// how much is left, without from when on, said so after Attempt, which is the
	// latest instant that is certain. HasValidFor reports whether it said anything.
	ValidFor    int64
	HasValidFor bool
	// Attempt is when the attempt that succeeded began; First when the first
	// attempt began that may have taken effect.
	Attempt, First int64
	// Enqueued is when the service put this waiter into its queue.
	Enqueued int64
	// Session is the ID of the session that the grant came with; 0: the lock
	// has none, or does not tell.
	Session int64
	// Secret is whatever the lock needs to recognise its own grant (a random
	// value, a lease); opaque to everyone else.
	Secret any
}

// With makes Kind.Open of a function that needs something beside the configuration.
func With[A any](open func(Config, A) (Lock, error), what A) func(context.Context, Config) (Lock, error) {
	return func(_ context.Context, c Config) (Lock, error) { return open(c, what) }
}

// The definite errors. Anything else is indefinite.
var (
	// ErrBusy: another holds the key.
	ErrBusy = errors.New("busy")
	// ErrNotHeld: the grant is no longer ours.
	ErrNotHeld = errors.New("not held")
	// ErrUnsupported: the lock has no such operation.
	ErrUnsupported = errors.New("unsupported")
)

// Definite reports whether the error says for certain that nothing happened.
func Definite(err error) bool {
	return errors.Is(err, ErrBusy) || errors.Is(err, ErrNotHeld) || errors.Is(err, ErrUnsupported)
}

// Config is what a lock is made from.
type Config struct {
	// Nodes are the service's addresses: host:port, or a URL with the user and the password,
	// where lockchaos was given one (--runtime external).
	Nodes []string
	// Account is whom a lock may log in as that insists on a user and a
	// password; nil: none is known. The others log in without.
	Account *Account
	// TTL is the lease or session time.
	TTL time.Duration
	// Every is the period of a job; 0: it is none. Only a Kind with Claims.Job looks at it.
	Every time.Duration
	// Client is the client's number, for values a human can read in the service.
	Client int
	// Identity is what a lock may make the client's name of.
	Identity Identity
	// Seed seeds whatever the lock draws at random (retry jitter), so that a plan repeats.
	Seed uint64
	// Renewals is passed before each renewal that the lock makes by itself, if
	// its Kind says that it Renews.
	Renewals *Gate
	// Opened, if set, is told of each session that the lock opens at its service,
	// as soon as it is granted, so that a fault can end it there. It may be told
	// of one again, comes from any goroutine, and does not wait. A lock whose
	// sessions the service knows by the client's address need not tell.
	Opened func(Session)
	// Adapter is the program that is the lock; nil: it is none.
	Adapter *Adapter
}

// Identity is what a client can be known by. Twins have the same: the pods that were restored from
// one backup, a virtual machine and its clone. So had the client whose place a fresh process takes.
type Identity struct {
	// Number is the client's, and for twins that of the first of them.
	Number int `json:"number"`
	// Name is what its user configured.
	Name string `json:"name"`
	// Host is the name of its host, Process the number of its process there.
	Host    string `json:"host"`
	Process int    `json:"process"`
}

// IdentityOf is the identity of a client, of which the first so many are twins. Each is the only
// process of its host, as in a container.
func IdentityOf(client, twins int) Identity {
	if client <= twins {
		client = 1
	}
	name := fmt.Sprintf("client-%d", client)
	return Identity{Number: client, Name: name, Host: name, Process: 1}
}

// Account is whom a client may log in as at the service.
type Account struct {
	User     string `json:"user"`
	Password string `json:"password"`
	// Database is the one that it is for; of Redis the number.
	Database string `json:"database"`
}

// Session is what a service knows a client's session by.
type Session struct {
	// ID is the number of etcd's lease, or of ZooKeeper's session.
	ID int64
	// Password is what ZooKeeper asks of a client that takes a session up again, and
	// at Consul the name of the session; none elsewhere.
	Password []byte
}

// Open tells of a session, if anybody wants to know.
func (c Config) Open(s Session) {
	if c.Opened != nil {
		c.Opened(s)
	}
}

// Adapter is a lock that is a program of the user's own.
type Adapter struct {
	// Command is its command line, for a shell; Dir the folder that it starts in, "" this one.
	Command string `json:"command"`
	Dir     string `json:"dir,omitempty"`
	// Service names the service whose nodes it is given; "": none.
	Service string `json:"service,omitempty"`
	// Memory is how much memory it may use, such as "3GB"; "": the usual (adapter.MemoryLimit).
	Memory string `json:"memory,omitempty"`
	// Shared is a folder that all clients share.
	Shared string `json:"shared,omitempty"`
	// Leader: it is a candidate for leadership, which is not asked for a key.
	Leader bool `json:"leader,omitempty"`
	// ClockFaults: its clock may be made wrong, so what it reads there is not to be relied upon.
	ClockFaults bool `json:"clock_faults,omitempty"`
}

// Kind is one entry of the catalogue: what a lock is called, what it claims and how it is made.
type Kind struct {
	Name string
	// About says in a sentence how the lock works.
	About string
	// Service is the service it needs: "redis", "etcd".
	Service string
	// Claims is what may be concluded from its answers, but for what depends on
	// the TTL: see ClaimsFor.
	Claims Claims
	// LostGrace tells, for a TTL, how long the lock may take to notice a loss
	// while its client runs undisturbed; nil: no claim.
	LostGrace func(ttl time.Duration) time.Duration
	// Handover tells Claims.Handover for a TTL; nil: no claim.
	Handover func(ttl time.Duration) time.Duration
	// StopHandover tells Claims.StopHandover for a TTL; nil: no claim.
	StopHandover func(ttl time.Duration) time.Duration
	// Writes is how an application that relies on this lock writes to the store: "" as
	// it is, "if-version" only if nobody wrote since it read, "add" by adding to what
	// is there, "guarded" only while the lock's key is its grant's (see Guarder). A guarded store
	// lies in the lock's own service.
	Writes string
	// OnWire returns the text by which the request that asks for a key can be
	// told from others in its packets; nil: the key itself.
	OnWire func(key string) string
	// EachCall: each call is a process of its own, so no fault makes the clock wrong that it reads.
	EachCall bool
	// Renews: the lock renews its grants, or its session, by itself in the
	// background, and each renewal passes Config.Renewals.
	Renews bool
	// TellsNoSession: whatever sessions the lock may have, it does not tell Config.Opened.
	TellsNoSession bool
	// FailsOver: its service has replicas, one of which takes over when a command of the user's
	// says so. No entry of a catalogue has it: a runtime adds it.
	FailsOver bool
	// Members are the nodes of its service where that runs already, which may be others
	// than its recipe has; nil: those of the recipe. A runtime adds them, too.
	Members []string
	// Control names the property that must catch this lock, which is then
	// broken on purpose; empty for an honest one.
	Control string
	// Open connects a client.
	Open func(ctx context.Context, c Config) (Lock, error)
}

// ClaimsFor is what may be concluded from the lock's answers when it is opened with the TTL.
func (k Kind) ClaimsFor(ttl time.Duration) Claims {
	c := k.Claims
	if k.LostGrace != nil {
		c.LostGrace = int64(k.LostGrace(ttl))
	}
	if k.Handover != nil {
		c.Handover = int64(k.Handover(ttl))
	}
	if k.StopHandover != nil {
		c.StopHandover = int64(k.StopHandover(ttl))
	}
	return c
}

// Claims is what a lock declares; a claim that is not made is not held against
// it. Its fields are those of history.Claims, so one converts to the other.
type Claims struct {
	// Validity says how long a grant is good for: "library" (ValidFor tells), "from_invocation"
	// (the attempt's start plus the TTL), "session" (until a lost-event), or "" (no claim).
	Validity string
	// Token is what a grant's token means: "fencing" (rises with every grant),
	// "version" or "owner" (equality only), "none".
	Token string
	// Confirms lists the ops whose success proves that the hold still stood:
	// "renew", "release", "held".
	Confirms []string
	// LostGrace is how long the lock may take to notice a loss while its client
	// runs undisturbed (ns); 0: no claim. Kind.LostGrace sets it.
	LostGrace int64
	// Notices says how it notices a loss within LostGrace: "" or "undisturbed" while
	// nothing disturbs its client or the service, "alone" by its own clock, cut off or not.
	Notices string
	// Tolerates is "minority" of a lock on a quorum: a fault that touches only a
	// minority of the service's nodes excuses nothing. It means nodes that are away,
	// slow or out of reach, not such as lost what they knew or whose clocks are wrong.
	Tolerates string
	// Abandons is for how long an acquire that failed, was given up or ended
	// unknown may leave something behind (ns); 0: for a TTL.
	Abandons int64
	// Identity says by what name the lock knows its clients apart: "unique" (it makes one that no
	// other instance has), "process" or "host" (it makes one of the host's name and the process's
	// number, or of the host's name), "none" (it takes the one that its user configured), "" (no
	// claim).
	Identity string
	// Fair: the lock grants in the order in which waiters were enqueued.
	Fair bool
	// Permits is how many may hold a key at once; 1 for an exclusive lock, 0
	// for one that claims no exclusion at all.
	Permits int
	// PerAcquire is how many of a key's permits one acquire may ask for; 0:
	// one. With more the lock is a PermitLocker.
	PerAcquire int
	// MultiKey is how many keys one acquire may ask for, all or none; 0: one.
	// With more the lock is a SetLocker.
	MultiKey int
	// Reentrant: an owner may acquire again what it holds.
	Reentrant bool
	// ReadWrite: a reader-writer lock, a ReadLocker. Acquire takes a key as a
	// writer; readers do not exclude each other. Permits is 1.
	ReadWrite bool
	// NoExpiry: the lock never expires by itself.
	NoExpiry bool
	// WakesOne: a release wakes only the next waiter, so the requests for one
	// release do not grow with the number of waiters.
	WakesOne bool

	// Job is of a scheduler rather than of a lock: "at-most-once" (no tick is executed twice),
	// "at-least-once" (one is executed again only when the instance that ran it has lost it) or
	// "exactly-once" (the effect of a tick comes, once, however often an execution of it begins).
	// Acquire then waits for the next execution, and Release marks it as done. A grant's token is
	// the tick, and Token "tick". Permits is 0.
	Job string
	// Overlap: two executions of a job may run at a time.
	Overlap bool
	// Misfire says what becomes of ticks that no instance could execute when they were due: "skip"
	// (nothing), "once" (one execution makes up for all), "all" (one for each); "": no claim.
	Misfire string
	// Stops is how long after an execution is lost its application may still have an effect
	// (ns); 0: no claim.
	Stops int64
	// Handover is how long after the death of an instance that executed the job a tick may find
	// no other instance able to execute it (ns); 0: no claim. Kind.Handover sets it.
	Handover int64
	// StopHandover is the same for an orderly stop (Close), of an instance that executed the job
	// or of a component that held the lock: another one that waits goes on within it (ns); 0: no
	// claim. Kind.StopHandover sets it.
	StopHandover int64
}

// Tells reports whether the lock claims to tell by itself when a grant is lost.
func (c Claims) Tells() bool { return c.Validity == "session" || c.LostGrace > 0 }
