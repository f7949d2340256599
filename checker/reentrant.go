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
package checker

import "github.com/lockchaos/lockchaos/history"

// ownerOnKey is what is known of a reentrant owner on one key.
type ownerOnKey struct {
	levels int32 // grants that it has not given up
	// unsure counts releases in this nest that may have given a level back,
	// whichever: sent, and neither answered ok nor refused.
	unsure int32
	// disowned: it knows that it has lost grants which are not closed yet.
	disowned bool
	// leased is the end of its latest acquire, which may have renewed the lease of all that it had.
	leased int64
}

// nests reports whether all that a client holds is the key that it asks for once more.
func (bk *book) nests(k *keyState, c *clientState, client int32) bool {
	return c.holding == int(bk.on(k, client).owner.levels)
}

// owner returns what is known of the owner of a grant.
func (bk *book) owner(g *grant) *ownerOnKey { return &bk.keyOf(g).holder(g).owner }

// enter notes that an owner was granted a key, once more or for the first time.
func (bk *book) enter(g *grant) {
	o := bk.owner(g)
	g.nested = o.levels > 0
	o.leased = max(o.leased, g.end)
	o.levels++
}

// leasedAt is the instant from which a grant's TTL surely ran at the latest, as
// far as is known by now.
func (bk *book) leasedAt(g *grant) int64 {
	if bk.rules.reentrant {
		return max(g.leased, bk.owner(g).leased)
	}
	return g.leased
}

// leave notes that an owner has given one of its grants up. When it has given
// all up, a release of unknown fate can do it no more harm.
func (bk *book) leave(g *grant) {
	o := bk.owner(g)
	if o.levels--; o.levels <= 0 {
		*o = ownerOnKey{disowned: o.disowned, leased: o.leased}
	}
}

// mayBeOut reports whether an owner's releases of unknown fate, those of other
// grants, may have given back all that it had: retried, one release can give
// back two levels. What it does under this grant then shows nothing.
func (bk *book) mayBeOut(g *grant) bool {
	o := bk.owner(g)
	others := o.unsure - g.unsure
	return others > 0 && others >= o.levels
}

// sent notes that an owner's release is on its way: of grant g, or nil if it names none that
// the owner still has. Once it has sent as many as it has levels, its other grants may be over.
func (bk *book) sent(k *keyState, client int32, g *grant, t int64) {
	o := &bk.on(k, client).owner
	if o.levels == 0 {
		return
	}
	o.unsure++
	if g != nil {
		g.unsure++
	}
	if o.unsure < o.levels { // mayBeOut of none
		return
	}
	for x := range k.open.all { // what may have been over before was withdrawn then
		if bk.mayBeOut(x) {
			x.withdraw(t)
		}
	}
}

// answered notes what became of a release: one that was carried out gave back
// the level that it names, and one that failed gave back none.
func (bk *book) answered(k *keyState, o *op, e *history.Event) {
	// it names no level, so nobody knows which one it gave back
	if e.Type == history.Info || o.grant == nil && e.Type == history.OK {
		return
	}
	if owner := &bk.on(k, o.client).owner; owner.unsure > 0 {
		owner.unsure--
	}
	if g := o.grant; g != nil {
		g.unsure--
	}
}

// spokenFor returns the grant that an answer of the lock speaks for: a
// reentrant lock knows the owner and its count, so what it confirms under any
// grant shows only that the owner had its newest one. (A.acquire, lost;
// B.acquire, B.release; A.acquire; A.release of its first grant, answered ok.)
func (bk *book) spokenFor(g *grant) *grant {
	if bk.rules.reentrant {
		return bk.newest(g)
	}
	return g
}

// newest returns the newest grant that its owner has on the key.
func (bk *book) newest(g *grant) *grant {
	for x := range bk.keyOf(g).open.newestFirst {
		if x.client == g.client && (x == g || !x.closed) {
			return x
		}
	}
	return g
}

// siblings calls do for the grants that a grant's owner has on the key, itself
// among them: its lease is one.
func (bk *book) siblings(g *grant, do func(*grant)) {
	for x := range bk.keyOf(g).open.all {
		if x.client == g.client {
			do(x)
		}
	}
}

// renounce notes that a client knows at t that it has lost its grant; a
// reentrant owner, all that it has.
func (bk *book) renounce(g *grant, t int64) {
	g.withdraw(t)
	g.disowned = true
	if bk.rules.reentrant && !g.closed {
		g.knownLost = true
		bk.owner(g).disowned = true
		bk.siblings(g, func(x *grant) {
			x.withdraw(t)
			x.knownLost = true
		})
	}
}

// abandon closes the grants that a reentrant owner knew to be lost when it
// asked for the key again: it does not nest in what it has not got.
func (s *Sweep) abandon(k *keyState, client int32, t int64) {
	o := &s.book.on(k, client).owner
	if !o.disowned {
		return
	}
	o.disowned = false
	for g := range k.open.all {
		if g.client == client && g.knownLost {
			s.shut(g, t)
		}
	}
}

// wroteAsOwner notes the latest and the highest writer so far, and the latest
// and the highest of all other clients.
func (rec *records) wroteAsOwner(l *writers, w writer) {
	if l.others == nil {
		l.others = &otherWriters{}
	}
	rec.keepGreatest(&l.latest, &l.others.latest, w, func(x *grant) int64 { return x.earliest })
	rec.keepGreatest(&l.highest, &l.others.highest, w, func(x *grant) int64 { return int64(x.token) })
}

// otherWriters are the latest and the highest writer of all clients but those
// of the latest and the highest of all.
type otherWriters struct {
	latest, highest writer
}

// keepGreatest notes a writer if it is the greatest so far, or the greatest of
// another client than that.
func (rec *records) keepGreatest(first, other *writer, w writer, by func(*grant) int64) {
	switch {
	case first.g == nil || by(w.g) >= by(first.g):
		if first.g != nil && first.g.client != w.g.client {
			rec.keepWriter(other, *first)
		}
		rec.keepWriter(first, w)
	case first.g.client != w.g.client && (other.g == nil || by(w.g) >= by(other.g)):
		rec.keepWriter(other, w)
	}
}

// firstOther returns the first of two writers that does not share g's hold: that
// is another grant, or of a reentrant lock another client's.
func (r *rules) firstOther(g *grant, first, second *writer) *writer {
	if first.g == g || r.reentrant && first.g != nil && first.g.client == g.client {
		return second
	}
	return first
}

// standsBeforeOwner is standsBefore of a reentrant lock: writes of one owner,
// under whichever of its grants, are in nobody's way.
func (r *rules) standsBeforeOwner(l *writers, g *grant, f *footprint, tokens bool) *writer {
	latest, run := r.firstOther(g, &l.latest, &l.others.latest), r.firstOther(g, &l.run, &l.before)
	if latest.g != nil && latest.g.earliest > g.end {
		return latest
	}
	if highest := r.firstOther(g, &l.highest, &l.others.highest); tokens && highest.g != nil && later(highest.g, g, true) {
		return highest
	}
	if f.wrote && run.version > f.wroteLast && !later(g, run.g, tokens) {
		return run
	}
	return noWriter
}
