package checker

import (
	"math"

	"github.com/lockchaos/lockchaos/history"
)

// The records of ops and grants, and what follows from one grant alone.

// forever is the end of what has no end.
const forever = math.MaxInt64

// op is one operation that is not finished: its completion is outstanding, or
// the ledger's account of it. What all ops have comes first, in one cache line: of reads, which are
// a third of them, the judge looks at nothing else.
type op struct {
	id int64
	// the grant it is done under; nil for an acquire, and when the history does not know the grant
	grant   *grant
	inv     int64
	start   int64 // the worker's stamp; 0 until it reported, and for ever if it never did
	set     int64 // the first op of the call that is for several keys; 0: it is for one
	client  int32
	process int32
	key     history.KeyID
	kind    history.Kind
	mode    history.Mode
	takes   uint8 // of an acquire: how many permits it asks for
	// nothing shows that its reentrant owner still had anything when it was invoked
	outside  bool
	waiting  bool // an acquire in its key's queue
	done     bool // completed
	definite bool // completed with ok or fail
	ledgered bool // the ledger has it
	reaches  bool // it reached the store, or may have
	pinned   bool // a finding still looks at it, so it must not be used again
	// a write that was answered in a transaction which is not committed
	tentative bool

	// base is the version that the hold had last read when this write was
	// invoked, baseOp the read; noBase: a blind write.
	base, baseOp int64
	before       int64     // how many grants the key had seen when this acquire was invoked
	told         int64     // an acquire's loss, told before its completion was recorded
	slept        *lateWake // an acquire that slept on beside a free key
	next, prev   *op       // an acquire's neighbours in the key's queue of open acquires
	members      int32     // of the first op of a set: how many were invoked
}

const noBase = -1

// act is one act of a hold, kept as evidence.
type act struct {
	op, start int64
	kind      history.Kind
}

// keptActs is how many acts a grant remembers besides its first: enough for what a violation shows.
const keptActs = 4

// grant is one successful acquire and everything that is known of its hold. Times are
// ns. There are no pointers in it: behind an acquire that stays open there are many, which the
// garbage collector need not look into.
//
// A paragraph of fields is a cache line: what is looked at together lies together. What is
// compared with other grants comes first, since a key may have many; then what an act changes.
type grant struct {
	token history.Token
	// The acquire: the earliest instant at which the grant may have been made,
	// its end, its invocation and its start.
	earliest, end, inv, start int64
	// begin is where the hold begins when the key's tokens can be trusted: end, or earlier.
	begin   int64
	client  int32
	process int32
	key     history.KeyID
	open    int32 // ops under this grant that are not finished

	// last is the start of the last act, untold that of the last act before a lost-event; 0: none.
	last, untold int64
	// promise is where the promise ends by itself; 0: nothing was promised.
	// withdrawn is when it was taken back.
	promise, withdrawn int64
	// releasing is the invocation of a release that has not completed, heldTo
	// the start of the one that ended the hold.
	releasing, heldTo int64
	// confirmed is the start of the last op that was answered ok and so proved
	// that the hold still stood, confirmedBy that op.
	confirmed, confirmedBy int64

	// told is when the lock said that the hold is lost.
	told int64
	// news is when the application had learnt of that, or of an answer "not held"; 0: it has not.
	// heedful is the start of the last act that it may have decided on before.
	news, heedful int64
	// slowFrom and slowFor are when the op under it that took longest began, and how long it took.
	slowFrom, slowFor int64
	// The longest time without an act, between two: what a holder does first that was
	// away is what a pattern is decided by, and may be none of those that are remembered.
	restFrom, restTo int64
	nacts            int32
	by               int32 // the place of its client among the key's clients

	on       footprint // what the hold did to the first of its protected keys
	actKinds [1 + keptActs]history.Kind
	mode     history.Mode
	// how many of the key's permits it has: 1, but of a semaphore whose
	// acquires may ask for several
	takes         uint8
	confirmedKind history.Kind // of the op confirmedBy
	closed        bool         // nothing more is expected under it
	settled       bool         // closed, and every op of it is finished
	loose         bool         // counted among those who could still hold the key
	released      bool         // its release was answered ok
	// a twin was granted the key inside its promise; its client's predecessor left a lease that
	// still ran when it was granted the key
	doubled, inherited bool
	refused            bool // the store refused a write
	corrupt            bool // it has an unfenced write or a lost update, whatever the tokens say
	corruptByToken     bool // the same, if the key's tokens can be trusted
	tokenOrderBroken   bool // it was counted as out of order
	exceeds, counted   bool // it was one holder too many (semaphores), and was counted as such
	ofSet              bool // its acquire asked for several keys
	nested             bool // its reentrant owner had the key already
	knownLost          bool // its client declined an op under it, or was told that it is not held
	// forgotten, pinned by a finding: see reuse.
	forgotten, pinned bool
	ticked            bool // its token is the tick of a job
	// its client declined an op under it, or was told that it is not held
	disowned bool
	dead     bool // its lease, or session, was certainly over when it was made
	// of an exclusive lock: another client had the key, and was promised it, when it was granted
	beside  bool
	several bool // it has a footprint on more than one protected key
	// a bit for each reading of the tokens under which it was counted as not exclusive
	overlapped uint8

	// The first act, and behind it the last ones, in a ring; their kinds are actKinds.
	acts [1 + keptActs]struct{ op, start int64 }

	id int64
	// enqueued is when the service had put the waiter into its queue (0: not
	// told); leased is the instant from which the TTL surely ran at the latest:
	// the end of the acquire, or of the last renewal.
	enqueued, leased int64
	// attempt is the start of the attempt that succeeded (0: not told).
	attempt int64
	// next is the end of the next acquire of an exclusive key that another
	// client was granted; 0: there was none yet.
	next  int64
	place int32 // among the open grants of its key
	kept  int32 // by how many summaries: see reuse
	// sent and came are what the client's packets tell, of a grant without an
	// attempt: see Event. 0: they do not.
	sent, came int64
	// unsure counts the releases that name it and may have been carried out: see ownerOnKey.
	unsure int32
	// Of a semaphore (see tally): how many hold beside it, and how many may have been
	// promised its place; since which lull they are counted, and when it is looked at again.
	besides, backers, tallied, lookAgain int32

	_ [24]byte // the next one, too, begins with a cache line
}

// footprint is what a hold did to one protected key.
type footprint struct {
	version int64 // the last version read, noBase: none
	readOp  int64
	// wroteLast is the version of its last accepted write.
	wroteLast int64
	key       history.KeyID
	used      bool // of a hold's first one: there is one
	wrote     bool
}

// footprintOn returns a hold's footprint on a protected key.
func (rec *records) footprintOn(g *grant, key history.KeyID) *footprint {
	if !g.on.used {
		g.on = footprint{key: key, used: true, version: noBase}
	}
	if g.on.key == key {
		return &g.on
	}
	return rec.footprintBeside(g, key)
}

// footprintBeside is footprintOn on another key than the first.
func (rec *records) footprintBeside(g *grant, key history.KeyID) *footprint {
	for _, f := range rec.footprints[g] {
		if f.key == key {
			return f
		}
	}
	f := &footprint{key: key, version: noBase}
	rec.footprints[g], g.several = append(rec.footprints[g], f), true
	return f
}

// acted notes an act that began at start.
func (g *grant) acted(id int64, kind history.Kind, start int64) {
	i := actPlace(g.nacts)
	g.actKinds[i], g.acts[i].op, g.acts[i].start = kind, id, start
	g.rested(start)
	g.nacts++
	g.last = max(g.last, start)
	if start < g.told || g.told == 0 {
		g.untold = max(g.untold, start)
	}
}

// rested notes the longest time without an act before one that began at start.
// Acts come in the order of their ends, so one may have begun inside it.
func (g *grant) rested(start int64) {
	switch {
	case g.nacts > 0 && start-g.last > g.restTo-g.restFrom:
		g.restFrom, g.restTo = g.last, start
	case start <= g.restFrom || start >= g.restTo:
	case start-g.restFrom > g.restTo-start:
		g.restTo = start
	default:
		g.restFrom = start
	}
}

// actPlace is where the nth act is kept, counted from 0.
func actPlace(n int32) int32 {
	if n == 0 {
		return 0
	}
	return 1 + n%keptActs
}

// act returns the nth act, which must be the first or one of the last ones.
func (g *grant) act(n int32) act {
	i := actPlace(n)
	return act{op: g.acts[i].op, start: g.acts[i].start, kind: g.actKinds[i]}
}

// complete reports whether nothing more is to come under the grant.
func (g *grant) complete() bool { return g.closed && g.open == 0 }

// hasHold reports whether there is a hold at all.
func (g *grant) hasHold() bool { return g.nacts > 0 }

// beginning is the hold's begin.
func (g *grant) beginning(tokens bool) int64 {
	if tokens {
		return g.begin
	}
	return g.end
}

// withdraw takes the promise back at t.
func (g *grant) withdraw(t int64) { g.withdrawn = min(g.withdrawn, t) }

// lose notes that the lock told of the loss at t.
func (g *grant) lose(t int64) {
	g.withdraw(t)
	g.told = earlier(g.told, t)
}

// limit is where the promise ends, by itself or withdrawn; 0: there is none.
func (g *grant) limit() int64 {
	end := min(g.promise, g.withdrawn)
	if g.releasing != 0 {
		end = min(end, g.releasing)
	}
	return end
}

// bound is the instant from which the grant can be in nobody's way: it neither
// acts nor is promised any more.
func (g *grant) bound() int64 { return max(g.last, g.end, g.limit(), g.confirmed) }

// readers reports whether two grants are readers' of a reader-writer lock, who do
// not exclude each other.
func readers(a, b *grant) bool { return a.mode == history.ModeRead && b.mode == history.ModeRead }

// overlap reports whether two holds conflict: strictly, so that equal stamps decide nothing,
// yet a hold of no length strictly inside another one counts. Where their tokens tell
// which began first, it is enough that the first still acted when the second had begun: a
// hold of no length at the very instant that bounds the other's begin counts, too.
func overlap(a, b *grant, tokens bool) bool {
	if !a.hasHold() || !b.hasHold() {
		return false
	}
	return a.beginning(tokens) < b.last && b.beginning(tokens) < a.last || tokens && inTokenOrder(a, b)
}

// inTokenOrder reports whether of two holds the one with the smaller token still
// acted when the other had begun. Tokens that time contradicts tell nothing.
func inTokenOrder(a, b *grant) bool {
	if a.token > b.token {
		a, b = b, a
	}
	return b.begin < a.last && later(b, a, true)
}

// later reports whether b was certainly granted after a, by time, or where time
// is silent by their fencing tokens. Those of two readers tell nothing.
func later(b, a *grant, tokens bool) bool {
	if b.earliest > a.end {
		return true
	}
	if a.earliest > b.end {
		return false
	}
	return tokens && a.token.Given() && b.token.Given() && b.token > a.token && !readers(a, b)
}

// ref names the grant in a violation.
func (g *grant) ref() *GrantRef {
	r := &GrantRef{Grant: g.id, Client: g.client, Token: g.token, Mode: g.mode.String(), Acquired: g.end,
		LastAct: g.last}
	if g.promise != forever {
		r.Promise = g.promise
	}
	return r
}

// timed reports whether a grant was promised until a certain instant.
func (g *grant) timed() bool { return g.promise != 0 && g.promise != forever }
