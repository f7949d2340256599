package checker

import "github.com/lockchaos/lockchaos/history"

// Acquires that complete, and the grants that they make.

// acquired handles the completion of an acquire.
func (s *Sweep) acquired(o *op, e *history.Event) {
	k, asked := s.book.keys[o.key], s.book.setOf(o)
	if s.cycles.crossing || k.granted-o.before > s.rules.patience {
		s.judgeWait(k, o, e)
	}
	s.book.dequeue(k, o)
	if s.jobs.kept {
		s.jobs.waited(o, e)
	}
	if asked != nil {
		s.judgeDemand(asked, e)
	}
	if e.Type == history.OK || e.Busy {
		s.demands.answeredAt(stamp(e.End, e.Time))
	}
	if s.rules.fresh(o.client) {
		s.probed(k, o, e)
	} else if s.demands.phase == history.PhaseEach {
		s.askedAlone(k, o, e)
	}
	switch e.Type {
	case history.OK:
		if s.rules.asks(&keptKey) && asked != nil {
			s.judgePassed(asked, e)
		}
		s.granted(k, o, e)
	case history.Info:
		if !s.book.outlivedBy(o) {
			c := s.book.loosen(k, o.client, stamp(e.End, e.Time))
			c.unknown++
			k.unknown++
			c.unknownAt = max(c.unknownAt, stamp(e.End, e.Time))
			c.denied = true
			if o.start == 0 {
				c.missing++
			}
		}
	case history.Fail:
		if e.Busy {
			s.figures.stats.Busy++
			if s.rules.asks(&falseBusy) && asked != nil {
				s.judgeBusy(asked, e)
			}
			if end := stamp(e.End, e.Time); s.scatters(o.client, o.inv, end) {
				k.leaveBehind(end)
			}
			s.book.on(k, o.client).denied = true
		}
		if o.set != 0 && asked != nil {
			s.book.setFailed(asked, stamp(e.End, e.Time))
		}
	}
	s.book.prune(k)
}

// granted handles a new grant.
func (s *Sweep) granted(k *keyState, o *op, e *history.Event) {
	end := stamp(e.End, e.Time)
	s.wake(k, o, end)
	k.granted++
	s.book.grants++
	s.figures.times[timeWait].add(end - o.start)
	if e.Attempt != 0 {
		s.figures.times[timeAttempt].add(end - e.Attempt)
	}
	by := s.book.loosen(k, o.client, end)
	g := s.records.newGrant()
	g.by = by.place
	g.id, g.token, g.key, g.client, g.process, g.mode, g.takes = o.id, e.Token, k.id, o.client, o.process, o.mode,
		o.takes
	g.ofSet = o.set != 0
	g.ticked = s.jobs.on
	g.inv, g.start, g.earliest, g.end, g.begin, g.leased = o.inv, o.start, o.start, end, end, end
	g.withdrawn, g.loose = forever, true
	if e.First != 0 && e.First < e.Attempt {
		k.leaveBehind(end) // an attempt that was sent before may arrive yet
	}
	g.attempt = min(e.Attempt, end)
	g.sent, g.came = e.Sent, e.Came
	if e.First != 0 {
		// whatever a lock reports, its attempts lie inside its acquire
		g.earliest = min(max(e.First, o.inv), end)
	}
	if e.Enqueued != 0 {
		g.enqueued = max(e.Enqueued, o.start)
	}
	g.promise = s.rules.promised(o, e)
	if o.told != 0 {
		g.lose(o.told)
	}
	s.recognised(k, g)
	s.handedOver(k, g)
	if k.orphan.died != 0 {
		s.figures.recoveredBy(k, g)
	}
	if !s.records.numbers.page(pageOf(g.id)).hold(g) {
		s.book.malformed++
		return
	}
	if s.jobs.kept {
		s.jobs.began(g)
	}
	s.records.live++
	s.figures.stats.OpenMax = max(s.figures.stats.OpenMax, s.records.live)
	if s.rules.tokens {
		s.orderTokens(k, g)
	}
	if s.rules.asks(&deadGrant) {
		s.judgeAlive(g, o, e)
	}
	if s.rules.reentrant {
		s.book.enter(g)
	}
	if s.rules.asks(&fifo) && !g.nested {
		s.judgeQueue(k, g)
	}
	k.open.add(g)
	k.holder(g).opens++
	c := &s.book.clients[o.client]
	c.holding++
	if s.book.outlivedBy(o) { // the process was gone when its answer was recorded
		g.withdraw(max(c.alive, g.end))
		s.shut(g, end)
		s.book.absolve(k, o.client, end)
	}
}

// outlivedBy reports whether the op's process is known to have ended already.
func (bk *book) outlivedBy(o *op) bool { return o.process <= bk.clients[o.client].gone }

// handedOver counts the grant, and whether it was a contended hand-over: to another
// client than the last, which waited while the previous grant was still held.
func (s *Sweep) handedOver(k *keyState, g *grant) {
	if last := k.lastGrant; !s.rules.fresh(g.client) && s.demands.phase != history.PhaseEach {
		s.figures.stats.Grants++
		if last != nil && last.client != g.client && (!last.closed || g.start < last.heldTo) {
			s.figures.stats.Handovers++
		}
	}
	if last := k.lastGrant; s.rules.exclusive && last != nil && last.client != g.client && !readers(last, g) {
		if last.next == 0 {
			last.next = g.end
		}
		g.beside = !last.closed && last.limit() > g.end
	}
	s.records.keep(&k.lastGrant, g)
}
