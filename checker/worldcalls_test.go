package checker

import (
	"github.com/lockchaos/lockchaos/history"
)

// The way of one call: through the library, which may try more than once, over
// the network, to the service or the store, and back.

// request is one call under way.
type request struct {
	e       history.Event   // of the first key
	set     []history.KeyID // the keys that it is for
	process int32
	start   int64
	first   int64 // the first attempt that may have taken effect
	tries   int
	over    bool // completed
	next    func(history.Event)
}

// attempt is one try of a request. It is over when its answer has come, or has not come in time.
type attempt struct {
	r    *request
	at   int64
	over bool
}

// call is one op of a client: next runs when its completion has been recorded.
func (w *world) call(e history.Event, next func(history.Event)) {
	w.callAll(e, []history.KeyID{e.Key}, next)
}

// callAll is one call for several keys. Each has an op of its own, and a grant;
// e names the first grant, and next is called with the first completion.
func (w *world) callAll(e history.Event, set []history.KeyID, next func(history.Event)) {
	e.Op, e.Process, e.Type, e.Key = w.op+1, w.process(e.Client), history.Invoke, set[0]
	w.op += int64(len(set))
	if e.Kind == history.Acquire {
		e.Grant = e.Op
	}
	r := &request{e: e, set: set, process: e.Process, next: next}
	r.each(e, func(x *history.Event) {
		if len(set) > 1 {
			x.Set = e.Op
		}
		w.record(w.now, *x)
	})
	w.later(w.awake(e.Client, w.now+w.between(1000, ms)), func() {
		r.start = w.now
		w.try(r)
	})
}

func (w *world) dead(r *request) bool { return w.gone[r.process] }

// toStore reports whether an op goes to the store.
func toStore(k history.Kind) bool { return k == history.Read || k == history.Write }

// try sends the request once.
func (w *world) try(r *request) {
	if w.dead(r) || r.over {
		return
	}
	a := &attempt{r: r, at: w.now}
	if r.first == 0 {
		r.first = w.now
	}
	r.tries++
	if g := w.truths.grants[r.e.Grant]; g != nil && r.e.Kind != history.Held && r.e.Kind != history.Release {
		g.lastAct = w.now
	}
	if limit := w.limit(r.e.Kind); limit != 0 {
		w.later(w.awake(r.e.Client, w.now+limit), func() { w.late(a) })
	}
	if w.lossy && w.sometimes(15) || w.severed(r.e.Client, r.e.Kind) {
		return
	}
	w.later(w.now+w.transit(r.e.Kind), func() { w.serve(a) })
	if w.twice && r.e.Kind == history.Write && w.sometimes(10) {
		w.later(w.now+w.between(ms, 40*ms), func() { w.serve(&attempt{r: r, at: a.at, over: true}) })
	}
}

// limit is for how long the library waits for an answer to one attempt; 0: for as long as it takes.
func (w *world) limit(k history.Kind) int64 {
	switch {
	case toStore(k):
		return opTimeout
	case w.lossy && w.service.queue && k == history.Acquire:
		return w.waits + tryTimeout
	case w.lossy, w.cuts:
		return tryTimeout
	}
	return 0
}

// leases reports whether an ok to the op gives a lease.
func leases(k history.Kind) bool { return k == history.Acquire || k == history.Renew }

// transit is how long a request is on its way.
func (w *world) transit(k history.Kind) int64 {
	if k == history.Write && w.slowWrites && w.sometimes(8) {
		return w.between(ms, 2*worldTTL)
	}
	return w.between(ms/10, 3*ms)
}

// serve hands an attempt to whom it is for.
func (w *world) serve(a *attempt) {
	e := a.r.e
	e.Attempt, e.First = a.at, a.r.first
	switch e.Kind {
	case history.Acquire:
		if len(a.r.set) > 1 {
			w.serveSet(a, &e)
			return
		}
		w.serveAcquire(a, &e)
		return // it answers when it can
	case history.Release:
		if len(a.r.set) > 1 {
			w.releaseSet(a.r, &e)
			break
		}
		w.serveRelease(&e)
	case history.Renew, history.Held:
		w.serveConfirm(&e)
	default:
		w.serveStore(&e)
	}
	w.answer(a, e)
}

// answer sends the answer back.
func (w *world) answer(a *attempt, e history.Event) {
	if w.lossy && w.sometimes(15) {
		return
	}
	arrives := w.now + w.between(ms/10, 3*ms)
	if w.slowReplies && leases(e.Kind) && e.Type == history.OK && w.sometimes(5) {
		arrives = w.now + w.between(ms, 3*worldTTL/2)
	}
	w.later(w.awake(e.Client, arrives), func() {
		if a.over || a.r.over || w.dead(a.r) || w.severed(e.Client, e.Kind) {
			return
		}
		a.over = true
		w.answered(a, e, arrives)
	})
}

// answered is the library's turn: it asks again where it was busy, and looks at its clock.
func (w *world) answered(a *attempt, e history.Event, arrived int64) {
	r := a.r
	switch {
	case e.Busy && !w.service.queue && !w.once && w.now-r.start < w.waits:
		r.first = 0 // a definite no
		w.later(w.awake(e.Client, w.now+w.between(ms, w.backOff)), func() { w.try(r) })
		return
	case leases(e.Kind) && e.Type == history.OK:
		left := worldTTL - (w.now - a.at)
		if w.library {
			e.HasValidFor, e.ValidFor = true, left
		}
		if !w.session && left <= 0 && !w.careless {
			e = r.e
			e.Type = history.Info
			break
		}
		ended := w.session && w.now > w.truths.grants[e.Grant].due
		if ended && e.Kind == history.Acquire && !w.careless { // it looks at its session
			e = r.e
			e.Type = history.Info
			break
		}
		if g := w.truths.grants[e.Grant]; (ended || arrived > g.due) && e.Kind == history.Acquire {
			g.dead = true
		} else if arrived > g.due && !w.session {
			w.truths.late = append(w.truths.late, lateRenewal{g, a.at, w.now})
		}
	}
	w.complete(r, e)
}

// late gives an attempt up: the library tries again, or leaves it open whether anything happened.
func (w *world) late(a *attempt) {
	if a.over || a.r.over || w.dead(a.r) {
		return
	}
	a.over = true
	if !toStore(a.r.e.Kind) && a.r.tries < 3 {
		w.try(a.r)
		return
	}
	e := a.r.e
	e.Type = history.Info
	w.complete(a.r, e)
}

// complete has the completion recorded.
func (w *world) complete(r *request, e history.Event) {
	r.over = true
	e.Start, e.End = r.start, w.now
	if !leases(e.Kind) || e.Type != history.OK {
		e.Attempt = 0
	}
	if e.Kind != history.Acquire || e.Type != history.OK {
		e.First = 0
	}
	r.each(e, func(x *history.Event) {
		w.truths.completed(w, r, *x)
		if x.Busy && len(r.set) > 1 && !w.partial {
			delete(w.locks[x.Key].held, x.Op) // what a set that was refused has got meanwhile
		}
	})
	w.later(w.now+w.between(1000, 2*ms), func() {
		e.Time = w.now
		r.each(e, func(x *history.Event) {
			if g := w.truths.grants[x.Op]; len(r.set) > 1 && x.Kind == history.Acquire && x.Type == history.OK {
				x.Token = g.token
			}
			w.record(w.now, *x)
		})
		if !w.dead(r) {
			r.next(e)
		}
	})
}
