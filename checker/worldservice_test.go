package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// The lock service of the world, and its store.

// lockState is the service's state of one key.
type lockState struct {
	held    map[int64]int64 // the grants that stand, and when their leases end
	waiting []*waiter       // queue: in the order of arrival
	// grants that nobody knows of, with the incarnations whose sessions keep them alive
	ghosts map[int64]int32
	token  int64
	stuck  bool
	asleep []*waiter // those whom nobody wakes
	freed  int64     // the last release
}

// waiter is an acquire that waits in the service.
type waiter struct {
	a        *attempt
	e        history.Event
	enqueued int64
	told     bool // told no: it lingers
}

// expire drops the grants whose leases are over, and the ghosts whose clients are gone.
func (w *world) expire(l *lockState) {
	for op, end := range l.held {
		if process, ghost := l.ghosts[op]; end <= w.now || ghost && w.gone[process] {
			delete(l.held, op)
		}
	}
}

// free reports whether a permit is left.
func (w *world) free(l *lockState) bool {
	w.expire(l)
	if l.stuck {
		return false
	}
	return len(l.held) < w.permits || w.overbooks && len(l.held) == w.permits && w.sometimes(40)
}

func (w *world) serveAcquire(a *attempt, e *history.Event) {
	l := w.locks[e.Key]
	w.truths.requests++
	w.expire(l)
	// an earlier attempt took effect: the library recognises its own value, and renews it
	if _, mine := l.held[e.Op]; mine && !w.amnesic {
		l.held[e.Op] = max(l.held[e.Op], w.now+worldTTL)
		w.truths.grants[e.Op].due, w.truths.grants[e.Op].lease = w.now+worldTTL, w.now+worldTTL
		w.grant(a, e, l)
		return
	}
	if !w.service.queue {
		if !w.free(l) {
			e.Type, e.Busy = history.Fail, true
			w.truths.refused(w, e)
			w.answer(a, *e)
			return
		}
		w.grant(a, e, l)
		return
	}
	e.Enqueued = w.now
	x := &waiter{a: a, e: *e, enqueued: w.now}
	if len(l.held) == 0 {
		for _, o := range l.asleep {
			w.truths.sleeps(w, l, o, 0)
		}
	}
	l.waiting = append(l.waiting, x)
	w.later(w.now+w.patienceOf(), func() { w.giveUp(l, x) })
	w.serveWaiters(l)
}

// patienceOf is for how long a waiter waits in the service.
func (w *world) patienceOf() int64 {
	if w.workload == workloadQueue || w.workload == workloadStampede {
		return w.until
	}
	return w.waits
}

// giveUp tells a waiter no.
func (w *world) giveUp(l *lockState, x *waiter) {
	if i := slices.Index(l.asleep, x); i >= 0 {
		w.truths.sleeps(w, l, x, int64(Outage))
		l.asleep = slices.Delete(l.asleep, i, i+1)
		x.e.Type, x.e.Busy, x.e.Enqueued = history.Fail, true, 0
		w.answer(x.a, x.e)
		return
	}
	i := slices.Index(l.waiting, x)
	if i < 0 {
		return
	}
	if w.lingers && !w.gone[x.a.r.process] && w.now > w.until/2 {
		x.told = true
	} else {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	x.e.Type, x.e.Busy, x.e.Enqueued = history.Fail, true, 0
	w.truths.refused(w, &x.e)
	w.answer(x.a, x.e)
}

// serveWaiters grants the key to whose turn it is, and looks again when the next lease ends.
func (w *world) serveWaiters(l *lockState) {
	l.waiting = slices.DeleteFunc(l.waiting, func(x *waiter) bool { return w.gone[x.a.r.process] })
	for len(l.waiting) > 0 && w.free(l) {
		i := w.turn(l)
		x := l.waiting[i]
		for _, o := range l.waiting[:i] {
			if !o.told && o.e.Client != x.e.Client {
				w.truths.jumped = append(w.truths.jumped, [2]int64{x.e.Op, o.e.Op})
			}
		}
		l.waiting = slices.Delete(l.waiting, i, i+1)
		ended := w.session && w.stoppedFor(x.e.Client, x.enqueued, w.now) > worldTTL
		if ended && !w.careless {
			x.e.Type, x.e.Enqueued = history.Fail, 0
			w.answer(x.a, x.e)
			continue
		}
		if x.told {
			l.held[x.e.Op], l.ghosts[x.e.Op] = forever, x.a.r.process
			return
		}
		e := x.e
		e.Busy = false
		w.grant(x.a, &e, l)
		// its session is as old as its last sign of life
		if silent := w.stoppedNow(x.e.Client); w.session && silent > 0 && !ended {
			l.held[e.Op] = w.now + worldTTL - silent
			w.truths.grants[e.Op].due = l.held[e.Op]
			w.truths.grants[e.Op].lease = l.held[e.Op]
		}
		if ended { // the library takes its turn, and has no session
			delete(l.held, e.Op)
			w.truths.grants[e.Op].due = w.now
		}
	}
	for _, end := range l.held {
		if end != forever && len(l.waiting) > 0 {
			w.later(end, func() { w.serveWaiters(l) })
		}
	}
}

// turn is the place of the waiter whose turn it is.
func (w *world) turn(l *lockState) int {
	switch {
	case w.jumps && w.sometimes(4):
		return len(l.waiting) - 1
	case w.favours:
		for i, x := range l.waiting {
			if x.e.Client != 1 {
				return i
			}
		}
	}
	return 0
}

// grant answers ok. An acquire whose earlier attempt was granted, and still
// stands, keeps its token.
func (w *world) grant(a *attempt, e *history.Event, l *lockState) {
	e.Type = history.OK
	if _, mine := l.held[e.Op]; mine {
		e.Token = w.truths.grants[e.Op].token
		w.answer(a, *e)
		return
	}
	l.token++
	if w.resets && w.sometimes(20) {
		l.token = 1
	}
	e.Token = history.TokenOf(l.token)
	ends := w.leaseEnd()
	if w.early {
		ends = w.now + worldTTL/2
		if w.session {
			ends = w.now + worldTTL/25
		}
	}
	w.truths.grant(w, e)
	l.held[e.Op] = ends
	if w.immortal {
		l.held[e.Op] = forever
	}
	if w.session {
		w.keepAlive(e.Op, a.r.process, w.now)
	}
	w.answer(a, *e)
}

// keepAlive renews a session's lease every third of the TTL, as long as its
// client runs, and tells it of a loss.
func (w *world) keepAlive(grant int64, process int32, t int64) {
	g := w.truths.grants[grant]
	g.renewed = t
	if w.alone && !w.deaf {
		w.watch(grant, process, t)
	}
	w.later(w.awake(g.client, t+worldTTL/3), func() { w.renewSession(g, process) })
}

// renewSession renews a session, or has its client told that it is over. A
// client that is cut off asks again.
func (w *world) renewSession(g *truth, process int32) {
	if w.gone[process] || w.truths.given[g.op] || g.told {
		return
	}
	if w.isApart(g.client, w.now, w.now) {
		w.later(w.awake(g.client, w.now+tryTimeout), func() { w.renewSession(g, process) })
		return
	}
	l := w.locks[g.key]
	if end, stands := l.held[g.op]; stands && end > w.now {
		l.held[g.op] = w.leaseEnd()
		g.due, g.lease = w.now+worldTTL, l.held[g.op]
		w.keepAlive(g.op, process, w.now)
		return
	}
	w.tell(g)
}

// leaseEnd is when a lease ends at the service that begins, or is renewed, now.
func (w *world) leaseEnd() int64 {
	if w.lenient {
		return w.now + worldTTL + w.between(0, 1500*ms)
	}
	return w.now + worldTTL
}

func (w *world) serveRelease(e *history.Event) {
	l := w.locks[e.Key]
	w.truths.requests++
	w.expire(l)
	g := w.truths.grants[e.Grant]
	_, mine := l.held[e.Grant]
	switch {
	case mine && w.keeps && w.sometimes(4):
		w.truths.kept[e.Grant] = true
	case mine:
		delete(l.held, e.Grant)
		l.freed = w.now
	case w.blindDelete && len(l.held) > 0:
		for op := range l.held { // exclusive: there is one
			w.truths.stole = append(w.truths.stole, late{g, w.truths.grants[op], e.Op})
			delete(l.held, op)
		}
	case w.vouches:
	default:
		e.Type, e.NotHeld = history.Fail, true
		return
	}
	e.Type = history.OK
	w.truths.vouched(w, e)
	g.lastAct = max(g.lastAct, e.Attempt)
	g.released, g.due, g.lease = true, min(g.due, w.now), w.now
	if w.sticky && w.now > w.until/2 {
		l.stuck = true
	}
	if w.wakesAll {
		w.truths.requests += int64(len(l.waiting))
	}
	if w.forgets && w.sometimes(3) {
		l.asleep, l.waiting = append(l.asleep, l.waiting...), nil
	}
	w.serveWaiters(l)
}

// serveConfirm answers a renewal, or whether the hold stands.
func (w *world) serveConfirm(e *history.Event) {
	l := w.locks[e.Key]
	w.expire(l)
	_, mine := l.held[e.Grant]
	if deny := mine && w.denies && w.sometimes(4); !mine && !w.vouches || deny {
		e.Type, e.NotHeld = history.Fail, true
		w.truths.denied[e.Op] = w.truths.denied[e.Op] || deny
		return
	}
	e.Type = history.OK
	w.truths.vouched(w, e)
	if mine && e.Kind == history.Renew && l.held[e.Grant] != forever {
		l.held[e.Grant] = w.now + worldTTL
		w.truths.grants[e.Grant].due, w.truths.grants[e.Grant].lease = w.now+worldTTL, w.now+worldTTL
	}
}

// countRequests records what the service says of itself: the requests that it
// handled, heartbeats included.
func (w *world) countRequests() {
	beats := int64(w.clients) * herdHeartbeat * w.now / worldTTL
	w.record(w.now, history.Event{Type: history.Count, Text: history.CountRequests, Time: w.now, Value: w.truths.requests + beats})
	w.truths.counted = append(w.truths.counted, [2]int64{w.truths.requests, int64(len(w.truths.order))})
}

// storeState is the protected resource: keys with versions, and a fence each.
type storeState struct {
	seq            int64
	version, value []int64
	fence          []history.Token
}

func (s *storeState) init(keys int) {
	s.version, s.fence, s.value = make([]int64, keys), make([]history.Token, keys), make([]int64, keys)
}

func (w *world) serveStore(e *history.Event) {
	s, k := &w.store, e.Key
	write := e.Kind == history.Write
	refused := write && w.fenced && e.Token < s.fence[k]
	if w.fenced && (write || w.fenceReads) {
		s.fence[k] = max(s.fence[k], e.Token)
	}
	e.Type, e.Version = history.OK, s.version[k]
	switch {
	case refused:
		e.Type, e.Refused, e.Version = history.Fail, true, 0
	case write:
		e.Replaced = s.version[k]
		s.version[k]++
		e.Version, s.value[k] = s.version[k], e.Value
		w.truths.wrote(e)
	default:
		e.Value = s.value[k]
	}
	s.seq++
	entry := *e
	entry.Type, entry.Time, entry.Seq, entry.Attempt, entry.First = history.Ledger, w.now, s.seq, 0, 0
	w.record(w.now+100*ms, entry)
	w.record(w.now+100*ms, history.Event{Type: history.Watermark, Time: w.now + 100*ms, Start: w.now})
}
