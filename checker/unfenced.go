// # unfenced-write
//
// Violated if, in the ledger's order of one protected key, a later grant's write stands before an
// earlier one's, or a hold's writes are not contiguous.
//
// Keys are judged apart: A(k0) B(k1) A(k0) is fine. So are locks that protect the same key: their
// holds do not exclude each other, and none hides what happened under another. Each write counts
// once. Where a hold goes on after a certainly earlier one wrote in between, that one's write is
// the violation.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// UnfencedWrite names the property unfenced-write: the store takes no write of an older grant
// after one of a newer.
const UnfencedWrite = "unfenced-write"

// unfencedWrite reads, beside rules and findings: book, explanations, faults, figures,
// ledger, records.
var unfencedWrite = Property{
	Name:   UnfencedWrite,
	kinds:  []string{KindStale, KindInFlight},
	About:  "The store accepts no write of an earlier holder after one of a later holder.",
	needs:  []string{history.FactWrites},
	blame:  Harm,
	exempt: notExclusive,
	unmet:  noStore,
	short:  (*Sweep).ledgerShort,
	Words: Words{
		Violation: "stale write",
		Demands:   "The store takes no write of an older grant after one of a newer grant.",
		Weight:    9,
	},
}

// ledgerState follows the accepted writes of one protected key.
type ledgerState struct {
	// writers are those under lock, the first that wrote here (nil: nobody has
	// yet), beside those under each other one.
	writers
	lock   *keyState
	beside map[*keyState]*writers
	// last are the last two under whatever lock, once there is more than one.
	last recent
}

// recent are the last two writers: run is the hold whose writes came last,
// before the one whose writes came before them.
type recent struct{ run, before writer }

// writers are those who wrote to a protected key under one lock.
type writers struct {
	recent
	// latest is the writer with the latest earliest instant so far, highest the
	// one with the greatest token.
	latest, highest writer
	// others (reentrant locks) are the same among all other clients' writers: a
	// nested grant must not hide another client's.
	others *otherWriters
}

// writer is a hold's last accepted write.
type writer struct {
	g       *grant
	op      int64
	version int64
	at      int64 // the store's stamp
	again   bool  // the store has taken this request before
}

// noWriter is in the place of a writer where there is none.
var noWriter = &writer{}

// writersUnder returns the writers under a lock.
func (l *ledgerState) writersUnder(lock *keyState, rec *records) *writers {
	switch l.lock {
	case lock:
		return &l.writers
	case nil:
		l.lock = lock
		return &l.writers
	}
	if l.beside == nil {
		l.beside = map[*keyState]*writers{}
		rec.keepWriter(&l.last.run, l.run)
		rec.keepWriter(&l.last.before, l.before)
	}
	w := l.beside[lock]
	if w == nil {
		w = &writers{}
		l.beside[lock] = w
	}
	return w
}

// lastUnderAny returns the last two writers under whatever lock.
func (l *ledgerState) lastUnderAny() *recent {
	if l.beside != nil {
		return &l.last
	}
	return &l.recent
}

// ledgerAccount is what the whole ledger amounts to.
type ledgerAccount struct {
	expected    bool // the run has a store
	entries     int64
	lastSeq     int64
	mark        int64 // everything handled before it is in the ledger events so far
	lastInvoked int64 // the last read or write
	missing     int64 // ops that the store answered, still without an entry
	holes       int64 // gaps in the numbering
	orphans     int64 // entries of a grant that the history does not know
}

// awaits reports whether the op still needs its ledger entry: the store answered
// it, or nobody knows whether it reached the store.
func (l *ledgerAccount) awaits(o *op) bool {
	return l.expected && !o.ledgered && o.reaches
}

// ledgerEntry handles one entry of the store's ledger.
func (s *Sweep) ledgerEntry(e *history.Event) {
	s.ledger.number(e.Seq)
	k := s.book.key(e.Key)
	o := s.records.numbers.page(pageOf(e.Op)).op(e.Op)
	if k == nil || o != nil && o.kind != e.Kind {
		s.book.malformed++
		return
	}
	taken := e.Kind == history.Write && s.figures.countWrite(e)
	switch g := s.records.numbers.page(pageOf(e.Grant)).grant(e.Grant); {
	case g == nil && e.Grant != 0:
		s.ledger.orphans++
	case g == nil:
	case e.Refused:
		g.refused = true
	case taken:
		s.accepted(k, g, o, e)
	}
	if o != nil && !o.ledgered {
		s.ledgered(o)
	}
}

// ledgered notes that the ledger has told what became of an op.
func (s *Sweep) ledgered(o *op) {
	o.ledgered = true
	if o.tentative {
		s.book.stands(o)
	}
	if o.grant != nil && o.start == 0 && !o.outside {
		s.actedUnder(o.grant, o, o.inv, 0) // it began after its invocation
	}
	if o.done {
		s.finishOp(o)
	}
}

// number counts an entry, and the gap before it.
func (l *ledgerAccount) number(seq int64) {
	l.entries++
	if seq != 0 {
		if seq != l.lastSeq+1 {
			l.holes++
		}
		l.lastSeq = seq
	}
}

// accepted handles an accepted write of a known hold.
func (s *Sweep) accepted(k *keyState, g *grant, o *op, e *history.Event) {
	w := writer{g: g, op: e.Op, version: e.Version, at: e.Time, again: o != nil && o.ledgered || o == nil &&
		s.ledger.expected}
	if s.rules.asks(&duplicateEffect) {
		s.judgeEffect(k, w, o, e)
	}
	if s.jobs.kept {
		s.jobs.applied(g, e)
	}
	// a reader that writes needs no lock to do harm: others read beside it
	if g.mode != history.ModeRead {
		s.written(k, w, o, e.Atomic)
	}
}

// written handles an accepted write of a known hold.
func (s *Sweep) written(k *keyState, w writer, o *op, atomic bool) {
	g := w.g
	l := k.ledger.writersUnder(s.book.keyOf(g), &s.records)
	f := s.records.footprintOn(g, k.id)
	plain := s.rules.standsBefore(l, g, f, false)
	trusting := plain
	if s.rules.tokens {
		trusting = s.rules.standsBefore(l, g, f, true)
	}
	if (plain.g != nil || trusting.g != nil) && s.rules.asks(&unfencedWrite) {
		s.unfenced(k, w, *plain, *trusting, o, f)
	}
	if base, baseOp := baseOf(w, o, f, atomic); base != noBase && s.rules.asks(&lostUpdate) {
		s.judgeBase(k, w, base, baseOp)
	}
	if s.rules.asks(&staleRead) {
		s.judgeUnseen(k, w)
	}
	f.wrote, f.wroteLast = true, w.version
	s.book.wroteLast(&l.recent, w)
	if k.ledger.beside != nil {
		s.book.wroteLast(&k.ledger.last, w)
	}
	if s.rules.reentrant {
		s.records.wroteAsOwner(l, w)
		return
	}
	if l.latest.g == nil || g.earliest >= l.latest.g.earliest {
		s.records.keepWriter(&l.latest, w)
	}
	if s.rules.tokens && (l.highest.g == nil || g.token >= l.highest.g.token) {
		s.records.keepWriter(&l.highest, w)
	}
}

// wroteLast notes the write that came last.
func (bk *book) wroteLast(l *recent, w writer) {
	if l.run.g != w.g && !(bk.rules.reentrant && l.run.g != nil && l.run.g.client == w.g.client) {
		gone := l.before.g
		l.before, l.run.g = l.run, nil // moved, not copied: it is pointed to as often as before
		bk.records.letGo(gone)
	}
	bk.records.keepWriter(&l.run, w)
}

// standsBefore returns the write that ought not to stand before one of g, as time
// alone has it, or as the tokens do. Where a hold goes on writing after a certainly
// earlier one wrote in between, that one's write was the violation, not this one.
func (r *rules) standsBefore(l *writers, g *grant, f *footprint, tokens bool) *writer {
	if l.others != nil {
		return r.standsBeforeOwner(l, g, f, tokens)
	}
	switch {
	case l.run.g == nil:
		return noWriter
	case l.latest.g.earliest > g.end:
		return &l.latest
	case tokens && l.highest.g != nil && later(l.highest.g, g, true):
		return &l.highest
	case l.run.g != g && f.wrote && !later(g, l.run.g, tokens):
		return &l.run
	}
	return noWriter
}

// unfenced records that write w stands behind another one: plain's, as time
// alone has it, or trusting's if the tokens can be trusted.
func (s *Sweep) unfenced(k *keyState, w, plain, trusting writer, o *op, f *footprint) {
	grants := []*grant{w.g}
	if plain.g != nil {
		w.g.corrupt, grants = true, append(grants, plain.g)
	}
	if trusting.g != nil {
		w.g.corruptByToken, grants = true, append(grants, trusting.g)
	}
	if o != nil {
		o.pinned = true
	}
	s.findings.putOff(s.book.now, func() {
		p := s.explanations.unfencedJudgement(w, plain, o, false)
		t := s.explanations.unfencedJudgement(w, trusting, o, s.rules.tokens)
		s.findings.record(&unfencedWrite, s.book.keyOf(w.g), p, t, func(j judgement) *Violation {
			if j == p {
				return s.tellUnfenced(k, w, plain, o, f, j)
			}
			return s.tellUnfenced(k, w, trusting, o, f, j)
		})
	}, grants...)
}

// unfencedJudgement judges write w behind other's; behind nobody's it is no violation.
func (ex *explanations) unfencedJudgement(w, other writer, o *op, tokens bool) judgement {
	if other.g == nil {
		return judgement{}
	}
	kind, begun := writeKind(w, o, other.g)
	pattern := ex.writePattern(w.g, other.g, kind, begun, tokens)
	return judgement{violated: true, kind: kind, severity: Corrupting, stallOnly: !w.late(pattern) &&
		ex.stallExplains(w.g, other.g, w.at), pattern: pattern}
}

// late tells that the store took the request again when another client had the
// key by then, which no stall of a client explains.
func (w writer) late(pattern string) bool { return w.again && pattern == PatternLateRequest }

// writeKind tells a stale write from one that was in flight, and when it began;
// empty where that is not known, or nothing is known of it any more.
func writeKind(w writer, o *op, b *grant) (kind string, begun int64) {
	switch {
	case w.again:
		begun = w.g.startOf(w.op)
	case o == nil:
	case o.start != 0 || o.inv > b.end:
		begun = max(o.start, o.inv)
	}
	switch {
	case begun == 0:
		return "", 0
	case begun > b.end:
		return KindStale, begun
	}
	return KindInFlight, begun
}

// startOf is when an act of the grant began; 0 where the grant does not remember it.
func (g *grant) startOf(op int64) int64 {
	for _, a := range g.remembered() {
		if a.op == op {
			return a.start
		}
	}
	return 0
}

// tellUnfenced tells of an accepted write w behind another hold's.
func (s *Sweep) tellUnfenced(k *keyState, w, other writer, o *op, f *footprint, j judgement) *Violation {
	a, b := w.g, other.g
	v := &Violation{Property: UnfencedWrite, Kind: j.kind, Severity: Corrupting, Key: s.rules.name(k), At: w.at,
		From: other.at, To: w.at, A: a.ref(), B: b.ref()}
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(f.readOp, a.start+1)
	proof.add(b.id, b.start)
	proof.add(other.op, other.at)
	proof.add(w.op, w.at)
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(w.at, a, b)
	v.Text = fmt.Sprintf("the store accepted a write of %s to %s (version %d) after one of %s (version %d)", clientName(a),
		v.Key, w.version, clientName(b), other.version)
	if w.again {
		v.Text += ", although it had taken this request before"
	}
	switch _, begun := writeKind(w, o, b); j.kind {
	case KindStale:
		v.Text += fmt.Sprintf(": it began at %s, when client %d had been granted the lock at %s", seconds(begun),
			b.client, seconds(b.end))
	case KindInFlight:
		v.Text += fmt.Sprintf(": it was sent at %s, before client %d was granted the lock at %s, and only a fence could have refused it",
			seconds(begun), b.client, seconds(b.end))
	}
	v.Text += "."
	return v
}
