package checker

import "time"

// When a lock should have told its client of a loss, by what it claims (Claims.LostGrace and
// Claims.Notices), and what the application does with such news.

// noticedLate reports whether a went on untold for longer than the lock says it
// takes to tell of a loss.
func (ex *explanations) noticedLate(a, b *grant) bool {
	grace := ex.rules.Claims.LostGrace
	return grace > 0 && a.untold-ex.noticeable(a, b) > grace
}

// noticeable is the instant from which a's lock had its grace to notice that a
// had lost the key to b.
func (ex *explanations) noticeable(a, b *grant) int64 {
	calm := max(b.end, ex.faults.lastDisturbance(a.client, a.untold))
	if ex.rules.Claims.Notices != noticesAlone {
		return calm
	}
	return min(calm, ex.overByOwnClock(a, b))
}

// overByOwnClock is when a's lease, or session, was over at the latest by the clock of its own
// client, and later by as long as the client was stopped since. A client counts a TTL from its
// last renewal that was confirmed. Where the lease ended by itself, that is before b's grant.
// Where a fault may have ended it early, a renewal may have been confirmed until then; where
// one made the client's clock wrong, the client may have misjudged until the clock was right.
func (ex *explanations) overByOwnClock(a, b *grant) int64 {
	over, ttl := b.end, ex.rules.TTL
	if touched(ex.faults.service, ex.rules.restsSince(a), b.end, anyFault) {
		over += ttl
	}
	spans := ex.faults.clientSpans(a.client)
	for _, sp := range spans {
		switch {
		case sp.from > a.untold:
		case ends(sp) && sp.from <= b.end && ex.rules.bearsOn(sp, a):
			over = max(over, b.end+ttl)
		case isClock(sp):
			over = max(over, min(sp.to, a.untold)+ttl)
		}
	}
	if over >= a.untold {
		return over
	}
	return over + ex.rules.stoppedFor(spans, over, a.untold)
}

// stoppedFor is for how long faults and stalls kept a client from running
// between two instants, all added up.
func (r *rules) stoppedFor(spans []span, from, to int64) int64 {
	return timeIn(spans, from, to, hindering, 0) + timeIn(spans, from, to, uninjectedOnly, 2*r.Stall)
}

// leastReaction is for how long an application may act on what it knew before, whatever the TTL.
const leastReaction = 10 * int64(time.Millisecond)

// reaction is for how long an application may still act on what it knew before it was told.
func (r *rules) reaction() int64 { return max(r.TTL/10, r.Stall, leastReaction) }

// heardOfLoss notes that the application learnt at t that its grant is lost.
func (g *grant) heardOfLoss(t int64) { g.news = earlier(g.news, t) }

// actedUnder notes an act that began at start. answered is when it was answered; 0: it was not.
func (s *Sweep) actedUnder(g *grant, o *op, start, answered int64) {
	g.acted(o.id, o.kind, start)
	late := g.news != 0 && o.inv > g.news+s.rules.reaction() && isStoreOp(o.kind)
	// a line of a log may have been written when the act was over
	if oneStamp := s.rules.Translated && o.inv >= answered; !late || oneStamp {
		g.heedful = max(g.heedful, start)
	}
}

// lossIgnored reports whether a conflicts with b only by what a's application asked for, up to act,
// when it had known of the loss. open: it may have stood still since it looked.
func (ex *explanations) lossIgnored(a, b *grant, act int64) (ignored, open bool) {
	if ex.rules.deaf() || a.news == 0 || a.heedful == a.last || a.heedful > min(b.begin, b.end) {
		return false, false
	}
	for _, sp := range ex.faults.clientSpans(a.client) {
		switch {
		case sp.from > act || sp.to < a.news:
		case sp.injected && stops(sp):
			return false, false
		case !sp.injected:
			open = true
		}
	}
	return true, open
}
