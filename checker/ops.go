package checker

import "github.com/lockchaos/lockchaos/history"

// invoke opens an op.
func (s *Sweep) invoke(e *history.Event) {
	s.stats.Ops++
	k := s.key(e.Key)
	c := s.client(e.Client)
	if e.Op <= 0 || k == nil || c == nil {
		s.malformed++
		return
	}
	o := s.newOp(e)
	if o == nil {
		s.malformed++
		return
	}
	c.latest = max(c.latest, e.Process)
	switch e.Kind {
	case history.Acquire:
		switch {
		case s.reentrant:
			s.abandon(k, e.Client, e.Time)
		case !s.owners && (c.holding > 0 || e.Time < c.closedAt): // else it has none, or none whose promise that ends
			s.closeGrants(k, e.Client, 0, e.Time)
		}
		o.before = k.granted
		k.ask(o)
		if k.orphan.died != 0 && k.orphan.asked == 0 {
			k.orphan.asked = e.Time
		}
		s.judged.crossing = s.judged.crossing || c.holding > 0 && !s.nests(k, c, e.Client)
		k.enqueue(o)
		c.asking = append(c.asking, o)
		s.stats.WaitersMax = max(s.stats.WaitersMax, k.waiters)
		return
	case history.Close:
		s.withdrawAll(e.Client, e.Time)
		return
	}
	if s.confirms[e.Kind] {
		s.judged.asked++
	}
	if e.Kind == history.Read || e.Kind == history.Write {
		s.ledger.lastInvoked = e.Time
	}
	g := s.numbers.page(pageOf(e.Grant)).grant(e.Grant)
	if s.reentrant && e.Kind == history.Release {
		if g != nil && g.closed {
			g = nil // given back already, and the owner may have others
		}
		s.sent(k, e.Client, g, e.Time)
	}
	if g == nil || g.settled { // what was judged already can't change any more
		if e.Kind != history.Release && e.Kind != history.Held && e.Grant != 0 {
			s.strays++
		}
		return
	}
	o.grant = g
	g.open++
	o.outside = s.reentrant && s.mayBeOut(g)
	switch e.Kind {
	case history.Write:
		f := s.footprintOn(g, e.Key)
		o.base, o.baseOp = f.version, f.readOp
	case history.Release:
		if g.releasing == 0 {
			g.releasing = e.Time
		}
	}
}

// complete closes an op, or leaves it to the ledger.
func (s *Sweep) complete(e *history.Event) {
	o := s.numbers.page(pageOf(e.Op)).op(e.Op)
	if o == nil || o.done {
		s.malformed++
		return
	}
	if max(e.Start, e.End)-s.header.TTL > e.Time && !s.header.Translated { // a translated one has no recorder
		e = s.unstamped(e)
	}
	o.done, o.definite = true, e.Type != history.Info
	if e.Type == history.Info {
		s.stats.Indefinite++
		o.start = e.Start // an op that never reported has none
	} else {
		o.start = stamp(e.Start, o.inv)
		if t := timingOf[o.kind]; t >= 0 && !e.Declined {
			s.times[t].add(stamp(e.End, e.Time) - o.start)
		}
	}
	if o.start != 0 {
		c := &s.clients[o.client]
		c.alive = max(c.alive, stamp(e.End, e.Time))
	}
	switch o.kind {
	case history.Acquire:
		s.acquired(o, e)
		s.free(o)
		return
	case history.Close:
		if e.Type == history.OK {
			s.closed(o.client, stamp(e.End, e.Time))
		}
		s.free(o)
		return
	case history.Read, history.Write:
		o.reaches = e.Type != history.Fail || e.Refused || e.Conflict
	case history.Release:
		if s.reentrant {
			s.answered(s.keys[o.key], o, e)
		}
	}
	if o.grant != nil {
		s.completeHeld(o, e)
	}
	s.finishOp(o)
}

// unstamped returns a completion without its worker's stamps, which lie more than a TTL behind the instant at which it was recorded. An end in the
// future would hide whatever the hold met until then. The recorder's instants take their place.
func (s *Sweep) unstamped(e *history.Event) *history.Event {
	s.malformed++
	recorded := *e
	recorded.Start, recorded.End = 0, 0
	return &recorded
}

// completeHeld notes what a completed op tells about the hold that it was done under.
func (s *Sweep) completeHeld(o *op, e *history.Event) {
	g := o.grant
	if e.Declined {
		// The worker knew of the loss before it would have begun.
		s.renounce(g, stamp(e.Start, o.inv))
		return
	}
	if e.NotHeld && o.start != 0 {
		s.renounce(g, o.start)
	}
	if took := stamp(e.End, e.Time) - o.start; o.start != 0 && took > g.slowFor {
		g.slowFrom, g.slowFor = o.start, took
	}
	switch o.kind {
	case history.Read, history.Write, history.Renew:
		if o.start != 0 && !o.outside {
			g.acted(o.id, o.kind, o.start)
		}
	case history.Release:
		s.released(o, e)
	}
	if e.Type == history.OK && s.confirms[o.kind] {
		s.confirm(s.spokenFor(g), o)
	}
	if o.kind == history.Renew {
		g.renewed(e)
		if e.Type == history.OK && s.asks(&deadRenewal) {
			s.judgeRenewed(g, o, e)
		}
		if s.reentrant {
			s.siblings(g, func(x *grant) { x.renewed(e) })
		}
	}
	switch {
	case o.kind == history.Renew && e.Type == history.OK && s.confirms[history.Renew]:
		s.extend(g, o.start, e)
		if s.reentrant {
			s.siblings(g, func(x *grant) { s.extend(x, o.start, e) })
		}
	case o.kind == history.Read && e.Type == history.OK:
		f := s.footprintOn(g, o.key)
		f.version, f.readOp = e.Version, o.id
	case e.Refused:
		g.refused = true
	}
}

// released handles the completion of a release.
func (s *Sweep) released(o *op, e *history.Event) {
	if e.Type == history.OK {
		s.answeredAt(stamp(e.End, e.Time))
	}
	g := o.grant
	g.releasing = 0
	g.withdraw(stamp(o.start, o.inv))
	s.noteLate(o, e)
	switch {
	case e.Type == history.OK:
		if s.confirms[history.Release] {
			s.spokenFor(g).acted(o.id, history.Release, o.start)
		}
	case e.Type == history.Fail && e.NotHeld:
	default:
		return // unknown, or refused for another reason: a retry may follow
	}
	g.released = g.released || e.Type == history.OK
	if e.Type != history.OK {
		s.keyOf(g).leaveBehind(stamp(e.End, e.Time))
	}
	if g.loose {
		g.loose = false
		s.tighten(g, stamp(e.End, e.Time))
	}
	s.end(g, o.start)
}

// finishOp forgets an op of a hold once it has completed and the ledger has told what became of it.
func (s *Sweep) finishOp(o *op) {
	if (o.kind == history.Read || o.kind == history.Write) && s.ledger.awaits(o) {
		return
	}
	g := o.grant
	s.free(o)
	if g != nil {
		g.open--
		if g.complete() {
			s.settle(g)
		}
	}
}

// withdrawAll withdraws all promises to a client that begins to close.
func (s *Sweep) withdrawAll(client int32, t int64) {
	for _, k := range s.clients[client].keysOf() {
		s.eachOpenOf(k, client, func(g *grant) { g.withdraw(t) })
	}
}

// closed handles a client that has closed: it holds nothing any more.
func (s *Sweep) closed(client int32, t int64) {
	for _, k := range s.clients[client].keysOf() {
		s.closeGrants(k, client, 0, t)
		s.absolve(k, client, t)
	}
}
