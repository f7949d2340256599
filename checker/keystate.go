package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// keyState is what the judge remembers of one lock key.
//
// Grants that may still act are in open. Settled ones are in settled, only as long as somebody
// could still turn out to have been granted, or to have held, beside them: an acquire that is
// still open and was invoked before their bound, or an open grant whose hold began before it.
type keyState struct {
	id      history.KeyID
	open    openGrants
	settled settledGrants
	// inUse counts the permits of those that were beside each other, where several may be.
	inUse permitCount
	// lulls counts the grants that settled while there were not too many at any time.
	lulls int32

	// waitHead is the oldest open acquire; invocations come in order, so it is
	// the one invoked first.
	waitHead, waitTail *op

	lastGrant *grant // the grant that ended last, in the recorder's order
	ledger    ledgerState
	probe     probeState
	by        clientsOnKey
	listed    bool // in book.toPrune
	// granted counts the key's grants; late are the last releases of grants whose leases
	// had surely ended; effects are what was done, where a workload must do nothing twice.
	granted int64
	late    []lateRelease
	// lateUntil is when the last of late was answered.
	lateUntil int64
	// unsure are the clients of which a release has come to an unknown fate.
	unsure  []int32
	effects map[int64]effect
	// loose counts the grants and the indefinite acquires whose clients could
	// still hold the key; freeAt is when the last other one could. unknown
	// counts those of them that are acquires of unknown fate.
	loose, unknown int
	freeAt         int64
	// vanishedAt is when the last client was closed, or was gone, that could
	// still hold the key: it never gave it back.
	vanishedAt int64
	orphan     orphanedKey
	// stretch is the time in which the key is free and wanted; nil: it is not, or
	// not yet for long. sleptThrough is the last grant through which a waiter slept.
	stretch      *freeTime
	sleptThrough int64
	waiters      int // open acquires
	// soleAsk is the newest acquire, if nobody else had the key or asked for it when it was
	// invoked, what acquires of unknown fate left aside; 0: somebody may have. leftAt is when
	// the last client was done with what may stand at the service until its lease is over;
	// accused is one more than the grants that there were when a false busy was last counted.
	soleAsk, leftAt, accused int64

	// topToken is the greatest token so far, 0 if there was none above it. Of the acquires
	// that had a token, none ended later than lastEnd, or can have been granted later.
	topToken history.Token
	lastEnd  int64
	// tokenBroken: token-order is violated here, so the tokens order nothing.
	tokenBroken bool
	// tally counts violations: [0] as time alone has them, [1] as they are if
	// the tokens can be trusted.
	tally [2]tally
	// byToken keeps, as findings.found does, violations that stand only if the
	// tokens can be trusted; nil: there are none.
	byToken [][]keptViolation
}

// enqueue puts an open acquire at the end of the queue.
func (k *keyState) enqueue(o *op) {
	o.waiting, o.prev, o.next = true, k.waitTail, nil
	if k.waitTail != nil {
		k.waitTail.next = o
	} else {
		k.waitHead = o
	}
	k.waitTail = o
	k.waiters++
}

// dequeue takes an acquire out of the queue, if it is there.
func (k *keyState) dequeue(o *op) {
	if !o.waiting {
		return
	}
	if o.prev != nil {
		o.prev.next = o.next
	} else {
		k.waitHead = o.next
	}
	if o.next != nil {
		o.next.prev = o.prev
	} else {
		k.waitTail = o.prev
	}
	o.waiting, o.prev, o.next = false, nil, nil
	k.waiters--
}

// prune forgets the settled grants that nothing can meet any more.
func (bk *book) prune(k *keyState) {
	p := &k.settled
	if p.from == p.to {
		return
	}
	bound := p.at(p.from).g.bound()
	// Mostly the oldest waiter, or the oldest of the open holds, needs the
	// oldest settled one: the others need not be looked at.
	if k.waitHead != nil && k.waitHead.inv <= bound {
		return
	}
	if first := k.open.first(); first != nil && first.begin <= bound {
		return
	}
	need := bk.need(k)
	if bound >= need {
		return
	}
	if !bk.rules.exclusive {
		k.inUse.forget(need)
	}
	for ; bound < need; bound = p.at(p.from).g.bound() {
		entry := p.at(p.from)
		bk.records.keepTop(&p.gone.top, &entry.top)
		bk.records.keepTop(&p.gone.reader, &entry.reader)
		bk.records.forget(entry.g)
		if p.from++; p.from == p.to {
			break
		}
	}
	p.tidy()
}

// shut closes a grant: its client is done with it at t.
func (s *Sweep) shut(g *grant, t int64) {
	s.book.end(g, t)
	if g.complete() {
		s.settle(g)
	}
}

// end notes that a client is done with a grant at t.
func (bk *book) end(g *grant, t int64) {
	if !g.closed {
		g.closed, g.heldTo = true, t
		if g.loose { // its lease may run on
			by := bk.keyOf(g).holder(g)
			by.leased = max(by.leased, bk.leaseFrom(g))
		}
		c := &bk.clients[g.client]
		c.holding--
		c.closedAt = max(c.closedAt, g.withdrawn)
		if bk.rules.reentrant {
			bk.leave(g)
		}
	}
}

// settle moves a grant whose account is complete to the settled ones, and judges it
// against every settled grant that it can have met.
func (s *Sweep) settle(g *grant) {
	g.settled = true
	k := s.book.keyOf(g)
	s.forgetSeen(g)
	if g.hasHold() {
		s.figures.times[timeHold].add(g.last - g.end)
	}
	k.open.remove(g)
	k.holder(g).opens--
	s.judgeHolds(g)
	k.settled.push(g)
	s.book.prune(k)
	if !k.listed && k.settled.from != k.settled.to {
		k.listed, s.book.toPrune = true, append(s.book.toPrune, k)
	}
}

// pruneAll forgets the settled grants of all keys that nothing can meet any more.
func (bk *book) pruneAll() {
	bk.toPrune = slices.DeleteFunc(bk.toPrune, func(k *keyState) bool {
		bk.prune(k)
		k.listed = k.settled.from != k.settled.to
		return !k.listed
	})
}

// closeGrants closes a client's open grants on a key, those of its incarnations
// up to process (0: all), at t.
func (s *Sweep) closeGrants(k *keyState, client, process int32, t int64) {
	if !k.by.opens(client) {
		return
	}
	for g := range k.open.all {
		if g.client == client && (process == 0 || g.process <= process) {
			g.withdraw(t)
			s.shut(g, t)
		}
	}
}
