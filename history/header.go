package history

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
)

// FormatVersion is the version of the file format, in the header line of every
// history. Version 1, where faults do not say what they do (Touches), is read too.
const FormatVersion = 2

// Header is the first line of a history: all that a judge must know besides the events.
type Header struct {
	Format   int    `json:"lockchaos"`
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// Started is the wall-clock time at Origin; Origin is CLOCK_MONOTONIC's
	// reading (ns) that event times count from.
	Started time.Time `json:"started"`
	Origin  int64     `json:"origin_ns"`

	Lock     string `json:"lock"`
	Service  string `json:"service"`
	Workload string `json:"workload"`
	Guard    string `json:"guard"` // "none", "check" or "told"
	Fault    string `json:"fault"` // what was planned, in a word: "none", "pause-holder"
	Clients  int    `json:"clients"`
	// Twins: the first so many clients have one identity: the same name in the lock's
	// configuration, and the same name of their hosts and number of their processes. 0: all are
	// told apart.
	Twins int `json:"twins,omitempty"`
	// Nodes is how many servers the lock service has that clients talk to; 0: not told.
	Nodes int   `json:"nodes,omitempty"`
	TTL   int64 `json:"ttl_ns"` // the lock's TTL or session timeout
	// Every is the period of a job (ns): it is due whenever the wall clock shows a whole multiple
	// of it. A tick is named by the instant that it is due at, in ms since 1970. 0: no job.
	Every int64 `json:"every_ns,omitempty"`
	// Slack is how much longer than the TTL (ns) the service may keep the
	// session of a client that it does not hear; 0: not told.
	Slack int64 `json:"slack_ns,omitempty"`
	// Bound is for how long (ns) a cycle of clients that wait for each other
	// must have lasted to be a deadlock; 0: half the TTL.
	Bound int64 `json:"bound_ns,omitempty"`
	// Stall is how long (ns) a heartbeat was late, or a thread waited for a
	// processor, for a stall to be recorded: TTL/10.
	Stall int64 `json:"stall_ns"`

	// Faults are those that were planned, in the order of the plan.
	Faults []PlannedFault `json:"faults,omitempty"`

	Claims Claims `json:"claims"`
	Store  Store  `json:"store"`
	Needs  Needs  `json:"needs"`
	// Translated: the history was another tool's (package audit). Nobody watched its clients, so
	// nothing follows from one being undisturbed; and one may have several grants of a key at a
	// time, which do not conflict with each other and are each ended by a release of its own.
	Translated bool `json:"translated,omitempty"`
	// Names are what the log of a translated history calls its clients, by
	// number from 1. Empty where they are numbered on each key by themselves.
	Names []string `json:"names,omitempty"`
	// Untold names the facts (Fact…) that the history does not tell, each with the
	// reason in a full sentence: a property that needs one is not judged. A history
	// of lockchaos tells them all; one that was translated does not (package audit).
	Untold map[string]string `json:"untold,omitempty"`
	// Doubts names the facts that the history leaves in doubt, with the reason:
	// without a certain violation the properties that need them are inconclusive.
	// Both may name a property instead, as the histories of older versions do.
	Doubts map[string]string `json:"doubts,omitempty"`

	// Versions names every part of the run and its version, in a fixed order.
	Versions []Part `json:"versions"`
	// StandIns says in full sentences what was not the real thing; empty when all was real.
	StandIns []string `json:"stand_ins,omitempty"`
	// Simulation says that the run took place in virtual time, and what repeats
	// it; nil: it was real.
	Simulation *Simulation `json:"simulation,omitempty"`
	// Ready is how long it took until every server answered and every client
	// was connected (ns); Origin comes after it.
	Ready int64 `json:"ready_ns,omitempty"`
	// Duration is the planned length of the workload (ns).
	Duration int64 `json:"duration_ns"`
}

// The facts that a history may leave untold or in doubt.
const (
	FactHolds    = "holds"    // who held a key, and when
	FactTokens   = "tokens"   // when each fencing token was given
	FactWrites   = "writes"   // which writes the store took, in which order
	FactVersions = "versions" // which version a write replaced
	FactAnswers  = "answers"  // what the lock answered to its clients
	FactAttempts = "attempts" // when the attempt that succeeded began
	FactService  = "service"  // what befell the lock service
	FactClients  = "clients"  // whether the clients ran undisturbed
	FactProbe    = "probe"    // what a fresh client found when all was over
)

// Part is one component and its version.
type Part struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Simulation is what, beside the plan, decides each byte of a simulated run's history.
type Simulation struct {
	// Program is the SHA-256 of the compiled adapter, Simulator that of what
	// ran it, in hexadecimal.
	Program   string `json:"program"`
	Simulator string `json:"simulator"`
}

// Claims is what a lock declares; a claim that is not made is not held against it.
type Claims struct {
	// Validity says how long a grant is good for: "library" (ValidFor tells), "from_invocation"
	// (the attempt's start plus the TTL), "session" (until a lost-event), or "" (no claim).
	Validity string `json:"validity"`
	// Token is what a grant's token means: "fencing" (rises with every grant),
	// "version" or "owner" (equality only), "none".
	Token string `json:"token"`
	// Confirms lists the ops whose success proves that the hold still stood:
	// "renew", "release", "held".
	Confirms []string `json:"confirms,omitempty"`
	// LostGrace is how long the lock may take to notice a loss while its client
	// runs undisturbed (ns); 0: no claim.
	LostGrace int64 `json:"lost_grace_ns,omitempty"`
	// Notices says how the lock notices a loss within LostGrace: "undisturbed", or "",
	// while nothing disturbs its client or the service; "alone" by its own clock, cut
	// off or not, so that only a stop or a wrong clock of its client keeps it from that.
	Notices string `json:"notices,omitempty"`
	// Tolerates is "minority" of a lock on a quorum: a fault that touches only a minority
	// of the service's nodes excuses nothing. It means nodes that are away, slow or out of
	// reach. It does not mean nodes that lost what they knew, or whose clocks are wrong.
	Tolerates string `json:"tolerates,omitempty"`
	// Abandons is for how long an acquire that failed, was given up or ended
	// unknown may leave something behind (ns); 0: for a TTL.
	Abandons int64 `json:"abandons_ns,omitempty"`
	// Identity says by what name the lock knows its clients apart: "unique" (it makes one that no
	// other instance has), "process" or "host" (it makes one of the host's name and the process's
	// number, or of the host's name), "none" (it takes the one that its user configured), "" (no
	// claim).
	Identity string `json:"identity,omitempty"`
	// Fair: the lock grants in the order in which waiters were enqueued.
	Fair bool `json:"fair,omitempty"`
	// Permits is how many may hold a key at once; 1 for an exclusive lock, 0
	// for one that claims no exclusion at all.
	Permits int `json:"permits"`
	// PerAcquire is how many of a key's permits one acquire may ask for (Event.Permits); 0: one.
	PerAcquire int `json:"permits_per_acquire,omitempty"`
	// MultiKey is how many keys one acquire may ask for, all or none (Event.Set); 0: one.
	MultiKey int `json:"multi_key,omitempty"`
	// Reentrant: an owner may acquire again what it holds, and has released it
	// when it has released it as often. Each acquire is a grant of its own.
	Reentrant bool `json:"reentrant,omitempty"`
	// ReadWrite: a reader-writer lock. Every acquire says whether it is a reader's
	// or a writer's (Event.Mode); readers do not exclude each other. Permits is 1.
	ReadWrite bool `json:"read_write,omitempty"`
	// NoExpiry: the lock never expires by itself.
	NoExpiry bool `json:"no_expiry,omitempty"`
	// WakesOne: a release wakes only the next waiter, so the requests for one
	// release do not grow with the number of waiters.
	WakesOne bool `json:"wakes_one,omitempty"`

	// Job is of a scheduler rather than of a lock: "at-most-once" (no tick is executed twice),
	// "at-least-once" (one is executed again only when the instance that ran it has lost it) or
	// "exactly-once" (the effect of a tick comes, once, however often an execution of it begins).
	// A grant is then an execution, and its token the tick (see Header.Every). TTL is how long
	// an instance owns an execution. Permits is 0.
	Job string `json:"job,omitempty"`
	// Overlap: two executions of a job may run at a time.
	Overlap bool `json:"overlap,omitempty"`
	// Misfire says what becomes of ticks that no instance could execute when they were due: "skip"
	// (nothing), "once" (one execution makes up for all), "all" (one for each); "": no claim.
	Misfire string `json:"misfire,omitempty"`
	// Stops is how long after an execution is lost its application may still have an effect
	// (ns); 0: no claim.
	Stops int64 `json:"stops_ns,omitempty"`
	// Handover is how long after the death of an instance that executed the job a tick may find
	// no other instance able to execute it (ns); 0: no claim.
	Handover int64 `json:"handover_ns,omitempty"`
	// StopHandover is the same for an orderly stop, of an instance that executed the job or of a
	// component that held the lock: another one that waits goes on within it (ns); 0: no claim.
	StopHandover int64 `json:"stop_handover_ns,omitempty"`
}

// TokenTick is the word of Claims.Token for executions of a job: the tick.
const TokenTick = "tick"

// The words of Claims.Job.
const (
	AtMostOnce  = "at-most-once"
	AtLeastOnce = "at-least-once"
	ExactlyOnce = "exactly-once"
)

// The words of Claims.Misfire.
const (
	MisfireSkip = "skip"
	MisfireOnce = "once"
	MisfireAll  = "all"
)

// ConfirmsOp reports whether a success of the op proves that the hold still stood.
func (c Claims) ConfirmsOp(k Kind) bool {
	return slices.Contains(c.Confirms, k.String())
}

// The words of claims.
var (
	validities   = []string{"", "library", "from_invocation", "session"}
	notices      = []string{"", "undisturbed", "alone"}
	tolerances   = []string{"", "minority"}
	identities   = []string{"", "unique", "process", "host", "none"}
	tokens       = []string{"", "none", "owner", "version", "fencing", TokenTick}
	jobs         = []string{"", AtMostOnce, AtLeastOnce, ExactlyOnce}
	misfires     = []string{"", MisfireSkip, MisfireOnce, MisfireAll}
	confirmables = []string{Renew.String(), Release.String(), Held.String()}
)

// wordError is a word in the header that means nothing.
type wordError struct {
	field, word string
	known       []string
}

func (e *wordError) Error() string {
	return fmt.Sprintf("claims.%s: unknown word %q: want one of %q", e.field, e.word, e.known)
}

// column is where the word stands in the header line, from 1; 0 where it is written in another way.
func (e *wordError) column(line []byte) int {
	at := 0
	for _, part := range []string{`"claims"`, `"` + e.field + `"`, `"` + e.word + `"`} {
		i := bytes.Index(line[at:], []byte(part))
		if i < 0 {
			return 0
		}
		at += i
	}
	return at + 1
}

// check refuses unknown words: a judge would take a claim that is mistyped for
// one that is not made, and pass.
func (c *Claims) check() error {
	if !slices.Contains(validities, c.Validity) {
		return &wordError{"validity", c.Validity, validities}
	}
	if !slices.Contains(tokens, c.Token) {
		return &wordError{"token", c.Token, tokens}
	}
	if !slices.Contains(notices, c.Notices) {
		return &wordError{"notices", c.Notices, notices}
	}
	if !slices.Contains(tolerances, c.Tolerates) {
		return &wordError{"tolerates", c.Tolerates, tolerances}
	}
	if !slices.Contains(identities, c.Identity) {
		return &wordError{"identity", c.Identity, identities}
	}
	if c.Abandons < 0 {
		return fmt.Errorf("claims.abandons_ns is %d: a time can't be negative", c.Abandons)
	}
	if c.PerAcquire != 0 && (c.PerAcquire < 1 || c.PerAcquire > min(c.Permits, MaxPerAcquire) || c.Reentrant) {
		return fmt.Errorf("claims.permits_per_acquire is %d; it lies between 1 and claims.permits (%d), and %d at most, and no reentrant lock has it", c.PerAcquire, c.Permits, MaxPerAcquire)
	}
	if c.MultiKey != 0 && (c.MultiKey < 1 || c.MultiKey > MaxMultiKey || c.Permits != 1 || c.Reentrant || c.ReadWrite) {
		return fmt.Errorf("claims.multi_key is %d; it lies between 1 and %d, and only an exclusive lock has it that is neither reentrant nor a reader-writer lock", c.MultiKey, MaxMultiKey)
	}
	if c.Notices != "" && c.LostGrace == 0 {
		return fmt.Errorf("claims.notices is %q without claims.lost_grace_ns: say within which time a loss is noticed",
			c.Notices)
	}
	for _, op := range c.Confirms {
		if !slices.Contains(confirmables, op) {
			return &wordError{"confirms", op, confirmables}
		}
	}
	return c.checkJob()
}

// checkJob refuses claims on executions that contradict each other.
func (c *Claims) checkJob() error {
	switch {
	case !slices.Contains(jobs, c.Job):
		return &wordError{"job", c.Job, jobs}
	case !slices.Contains(misfires, c.Misfire):
		return &wordError{"misfire", c.Misfire, misfires}
	case c.Stops < 0 || c.Handover < 0 || c.StopHandover < 0:
		return fmt.Errorf("claims.stops_ns is %d, claims.handover_ns %d and claims.stop_handover_ns %d: a time can't be negative",
			c.Stops, c.Handover, c.StopHandover)
	case c.Job != "" && c.Permits != 0:
		return fmt.Errorf("claims.job is %q and claims.permits %d: an execution of a job is no hold of a lock, so its permits are 0", c.Job, c.Permits)
	case c.Job == "" && (c.Token == TokenTick || c.Overlap || c.Misfire != "" || c.Stops != 0 || c.Handover != 0):
		return errors.New("claims has what only executions of a job have (a token \"tick\", overlap, misfire, stops_ns, handover_ns), without claims.job")
	}
	return nil
}

// leastEvery is the shortest period of a job: ticks are numbered in ms.
const leastEvery = int64(time.Millisecond)

// checkEvery refuses a period by which no tick can be named.
func (h *Header) checkEvery() error {
	if h.Claims.Job != "" && (h.Every < leastEvery || h.Every%leastEvery != 0) {
		return fmt.Errorf("every_ns is %d: the period of a job is a whole number of ms, at least 1", h.Every)
	}
	return nil
}

// checkAsked says what is wrong with what an event asks for, its mode, its permits
// and its set of keys, by what the lock claims.
func (c *Claims) checkAsked(e *Event) error {
	asks := e.Type == Invoke && e.Kind == Acquire
	switch {
	case e.Set != 0 && !e.ofSet():
		return fmt.Errorf("set %d: only the invocation of an acquire, release, renewal or held has one", e.Set)
	case e.Set != 0 && (e.Op < e.Set || e.Op-e.Set >= int64(max(c.MultiKey, 1))):
		return fmt.Errorf("set %d of op %d: ops of a set are numbered from it on, and by the header it has %d at most (claims.multi_key)", e.Set, e.Op, max(c.MultiKey, 1))
	case e.Permits != 0 && !asks:
		return fmt.Errorf("permits %d: only the invocation of an acquire has them", e.Permits)
	case int(e.Permits) > max(c.PerAcquire, 1):
		return fmt.Errorf("permits %d, but by the header an acquire asks for %d at most (claims.permits_per_acquire)",
			e.Permits, max(c.PerAcquire, 1))
	case e.Mode == ModeNone && asks && c.ReadWrite:
		return errors.New(`an acquire of a reader-writer lock needs its mode ("read" or "write")`)
	case e.Mode != ModeNone && !c.ReadWrite:
		return fmt.Errorf("mode %q, but the header does not claim a reader-writer lock (claims.read_write)", e.Mode)
	case e.Mode != ModeNone && !asks:
		return fmt.Errorf("mode %q: only the invocation of an acquire has one", e.Mode)
	}
	return nil
}

// ofSet reports whether the event may be one of several that tell of one call.
func (e *Event) ofSet() bool {
	return e.Type == Invoke && e.Kind >= Acquire && e.Kind <= Held
}

// Store is the protected resource of the run.
type Store struct {
	Engine string `json:"engine"` // one of package store's: "sqlite", "postgres"
	Fenced bool   `json:"fenced"`
	// FenceReads: reads raise the fence too (the correct way); false fences only writes.
	FenceReads bool `json:"fence_reads"`
	// AcceptsEqual: the fence is a broken one, which accepts an equal token of another grant.
	AcceptsEqual bool `json:"accepts_equal,omitempty"`
	// Guarded: there is no fence, but each write looked at the lock's own key, or marked the tick
	// as done in the scheduler's own row.
	Guarded bool `json:"guarded,omitempty"`
}

// Needs is what a run must have done before its pass means anything.
type Needs struct {
	// Grants is the least number of acquires that ended ok.
	Grants int `json:"grants"`
	// Handovers is the least number of contended hand-overs: grants of a key to another client
	// than the last, to a client that was already waiting while the previous grant was held.
	Handovers int `json:"handovers"`
	// Bites is the least number of faults that must have taken effect on what
	// they were aimed at: a holder, a client that acquires, nodes.
	Bites int `json:"bites,omitempty"`
}

// History is a whole history in memory.
type History struct {
	Header Header
	// Keys names the keys that KeyID numbers; in a file they are in the header line.
	Keys   []string
	Events []Event
	// Truncated: the file ended without its End event, or in the middle of a
	// line. Line is where (1-based).
	Truncated bool
	Line      int
}
