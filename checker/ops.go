package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Operations, from their invocation to their completion. Acquires complete in acquires.go.

// invoke opens an op.
func (s *Sweep) invoke(e *history.Event) {
	s.figures.stats.Ops++
	k := s.book.key(e.Key)
	c := s.book.client(e.Client)
	if e.Op <= 0 || k == nil || c == nil {
		s.book.malformed++
		return
	}
	o := s.records.newOp(e)
	if o == nil {
		s.book.malformed++
		return
	}
	c.latest = max(c.latest, e.Process)
	if o.set != 0 {
		s.book.join(o)
	}
	switch e.Kind {
	case history.Acquire:
		s.invokeAcquire(k, c, o)
	case history.Close:
		s.book.withdrawAll(e.Client, e.Time)
	default:
		s.invokeHeld(k, o, e)
	}
}

// invokeAcquire notes that a client asks for a key.
func (s *Sweep) invokeAcquire(k *keyState, c *clientState, o *op) {
	switch {
	case s.rules.reentrant:
		s.abandon(k, o.client, o.inv)
	case !s.rules.owners && (c.holding > 0 || o.inv < c.closedAt): // else it has none, or none whose promise that ends
		s.closeGrants(k, o.client, 0, o.inv)
	}
	o.before = k.granted
	k.ask(o)
	if k.orphan.died != 0 && k.orphan.asked == 0 {
		k.orphan.asked = o.inv
	}
	s.cycles.crossing = s.cycles.crossing || c.holding > 0 && !s.book.nests(k, c, o.client)
	k.enqueue(o)
	if o.set != 0 {
		s.book.openSets++
	}
	c.asking = append(c.asking, o)
	s.figures.stats.WaitersMax = max(s.figures.stats.WaitersMax, k.waiters)
}

// invokeHeld notes an op that is begun under a grant.
func (s *Sweep) invokeHeld(k *keyState, o *op, e *history.Event) {
	if s.rules.confirms[e.Kind] {
		s.figures.judged.asked++
	}
	if isStoreOp(e.Kind) || e.Kind == history.Commit {
		s.ledger.lastInvoked = e.Time
	}
	g := s.records.numbers.page(pageOf(e.Grant)).grant(e.Grant)
	if s.rules.reentrant && e.Kind == history.Release {
		if g != nil && g.closed {
			g = nil // given back already, and the owner may have others
		}
		s.book.sent(k, e.Client, g, e.Time)
	}
	if g == nil || g.settled { // what was judged already can't change any more
		if e.Kind != history.Release && e.Kind != history.Held && e.Grant != 0 {
			s.book.strays++
		}
		return
	}
	o.grant = g
	g.open++
	o.outside = s.rules.reentrant && s.book.mayBeOut(g)
	switch e.Kind {
	case history.Write:
		f := s.records.footprintOn(g, e.Key)
		o.base, o.baseOp = f.version, f.readOp
	case history.Release:
		if g.releasing == 0 {
			g.releasing = e.Time
		}
	case history.Commit:
		s.book.clients[e.Client].committing = true
	}
}

// complete closes an op, or leaves it to the ledger.
func (s *Sweep) complete(e *history.Event) {
	o := s.records.numbers.page(pageOf(e.Op)).op(e.Op)
	if o == nil || o.done {
		s.book.malformed++
		return
	}
	e = s.stamped(o, e)
	switch o.kind {
	case history.Acquire:
		s.acquired(o, e)
		s.records.free(o)
		return
	case history.Close:
		if e.Type == history.OK {
			s.closed(o.client, stamp(e.End, e.Time))
			s.jobs.closed(o.client, o.start, stamp(e.End, e.Time))
		}
		s.records.free(o)
		return
	case history.Read, history.Write:
		o.reaches = e.Type != history.Fail || e.Refused || e.Conflict
		if s.rules.transactional {
			s.withinTransaction(o, e)
		}
	case history.Commit:
		s.endTransaction(o.client, e.Type)
	case history.Release:
		if s.rules.reentrant {
			s.book.answered(s.book.keys[o.key], o, e)
		}
	}
	if o.grant != nil {
		s.completeHeld(o, e)
	}
	s.finishOp(o)
}

// stamped notes when a completed op began and ended, and returns its completion with stamps that
// can be believed.
func (s *Sweep) stamped(o *op, e *history.Event) *history.Event {
	// a translated one has no recorder
	if max(e.Start, e.End)-s.rules.TTL > e.Time && !s.rules.Translated {
		e = s.unstamped(e)
	}
	o.done, o.definite = true, e.Type != history.Info
	if e.Type == history.Info {
		s.figures.stats.Indefinite++
		o.start = e.Start // an op that never reported has none
	} else {
		o.start = stamp(e.Start, o.inv)
		if t := timingOf[o.kind]; t >= 0 && !e.Declined {
			s.figures.times[t].add(stamp(e.End, e.Time) - o.start)
		}
	}
	if o.start != 0 {
		c := &s.book.clients[o.client]
		c.alive = max(c.alive, stamp(e.End, e.Time))
	}
	return e
}

// isStoreOp reports whether an op is one on the store.
func isStoreOp(k history.Kind) bool { return k == history.Read || k == history.Write }

// unstamped returns a completion without its worker's stamps, which lie more than
// a TTL behind the instant at which it was recorded. An end in the future would
// hide whatever the hold met until then. The recorder's instants take their place.
func (s *Sweep) unstamped(e *history.Event) *history.Event {
	s.book.malformed++
	recorded := *e
	recorded.Start, recorded.End = 0, 0
	return &recorded
}

// completeHeld notes what a completed op tells about the hold that it was done under.
func (s *Sweep) completeHeld(o *op, e *history.Event) {
	g := o.grant
	if e.Declined {
		// The worker knew of the loss before it would have begun.
		s.book.renounce(g, stamp(e.Start, o.inv))
		return
	}
	if e.NotHeld && o.start != 0 {
		s.judgeDenied(s.book.setOf(o), e)
		s.book.renounce(g, o.start)
		if s.rules.Guard != guardTold {
			g.heardOfLoss(e.Time)
		}
	}
	g.took(o, e)
	if s.jobs.kept {
		s.jobs.acted(g, o, e)
	}
	switch o.kind {
	case history.Read, history.Write, history.Renew:
		if o.start != 0 && !o.outside {
			s.actedUnder(g, o, o.start, e.Time)
		}
	case history.Commit:
		if o.start != 0 && !g.closed && g.releasing == 0 { // behind a release it is no act of a holder
			s.actedUnder(g, o, o.start, e.Time)
		}
	case history.Release:
		s.released(o, e)
	}
	if e.Type == history.OK && s.rules.confirms[o.kind] {
		g.news = 0 // the newer answer counts
		s.confirm(s.book.spokenFor(g), o)
	}
	switch {
	case o.kind == history.Renew:
		s.renewed(g, o, e)
	case o.kind == history.Read && e.Type == history.OK:
		f := s.records.footprintOn(g, o.key)
		f.version, f.readOp = e.Version, o.id
		if s.rules.asks(&staleRead) {
			s.judgeSeen(g, o, e.Version)
		}
	case e.Refused:
		g.refused = true
	}
}

// took notes the op that has taken the longest.
func (g *grant) took(o *op, e *history.Event) {
	if took := stamp(e.End, e.Time) - o.start; o.start != 0 && took > g.slowFor {
		g.slowFrom, g.slowFor = o.start, took
	}
}

// renewed handles the completion of a renewal, which is one of all grants that its owner has
// nested.
func (s *Sweep) renewed(g *grant, o *op, e *history.Event) {
	done := e.Type == history.OK
	if done && s.rules.asks(&deadRenewal) {
		s.judgeRenewed(g, o, e)
	}
	note := func(x *grant) {
		x.renewed(e)
		if done && s.rules.confirms[history.Renew] {
			s.rules.extend(x, o.start, e)
		}
	}
	note(g)
	if s.rules.reentrant {
		s.book.siblings(g, note)
	}
}

// released handles the completion of a release.
func (s *Sweep) released(o *op, e *history.Event) {
	if e.Type == history.OK {
		s.demands.answeredAt(stamp(e.End, e.Time))
	}
	g := o.grant
	g.releasing = 0
	g.withdraw(stamp(o.start, o.inv))
	s.noteLate(o, e)
	if k := s.book.keyOf(g); e.Type == history.Info && !slices.Contains(k.unsure, g.client) {
		k.unsure = append(k.unsure, g.client)
	}
	switch {
	case e.Type == history.OK:
		if s.rules.confirms[history.Release] {
			s.actedUnder(s.book.spokenFor(g), o, o.start, e.Time)
		}
	case e.Type == history.Fail && e.NotHeld:
	default:
		return // unknown, or refused for another reason: a retry may follow
	}
	g.released = g.released || e.Type == history.OK
	if end := stamp(e.End, e.Time); e.Type != history.OK || s.scatters(g.client, g.inv, end) {
		s.book.keyOf(g).leaveBehind(end)
	}
	if g.loose {
		g.loose = false
		s.book.tighten(g, stamp(e.End, e.Time))
	}
	s.book.end(g, o.start)
}

// finishOp forgets an op of a hold once it has completed and the ledger has told what became of it.
func (s *Sweep) finishOp(o *op) {
	if isStoreOp(o.kind) && (o.tentative || s.ledger.awaits(o)) {
		return
	}
	g := o.grant
	s.records.free(o)
	if g != nil {
		g.open--
		if g.complete() {
			s.settle(g)
		}
	}
}

// withdrawAll withdraws all promises to a client that begins to close.
func (bk *book) withdrawAll(client int32, t int64) {
	for _, k := range bk.clients[client].keysOf() {
		bk.eachOpenOf(k, client, func(g *grant) { g.withdraw(t) })
	}
}

// closed handles a client that has closed: it holds nothing any more.
func (s *Sweep) closed(client int32, t int64) {
	for _, k := range s.book.clients[client].keysOf() {
		s.closeGrants(k, client, 0, t)
		s.book.absolve(k, client, t)
	}
}
