package checker

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// What clients of the world do that ask for several keys at once, and how the service grants them.

// workloadSets has each client take up to three keys at once.
const workloadSets = "sets"

// each calls do with the request's event for each of its keys.
func (r *request) each(e history.Event, do func(x *history.Event)) {
	for i, key := range r.set {
		x := e
		x.Op, x.Grant, x.Key = e.Op+int64(i), e.Grant+int64(i), key
		do(&x)
	}
}

// serveSet grants all keys of a request or none. A service that takes them in turn
// keeps those that it has got while it asks for the others, in one order for all.
func (w *world) serveSet(a *attempt, e *history.Event) {
	var all []history.Event
	a.r.each(*e, func(x *history.Event) { all = append(all, *x) })
	if w.inTurn {
		slices.SortFunc(all, func(a, b history.Event) int { return cmp.Compare(a.Key, b.Key) })
	}
	for _, x := range all {
		l := w.locks[x.Key]
		w.expire(l)
		if _, mine := l.held[x.Op]; !mine && !w.free(l) {
			w.refuseSet(a, e)
			return
		}
		if w.inTurn || w.partial {
			l.held[x.Op] = w.leaseEnd()
		}
	}
	for _, x := range all {
		l := w.locks[x.Key]
		if g := w.truths.grants[x.Op]; g != nil && g.lease > w.now {
			g.due, g.lease = w.now+worldTTL, w.now+worldTTL
		} else {
			l.token++
			x.Token = history.TokenOf(l.token)
			w.truths.grant(w, &x)
		}
		l.held[x.Op] = w.leaseEnd()
	}
	e.Type, e.Token = history.OK, w.truths.grants[e.Op].token
	w.answer(a, *e)
}

// refuseSet says busy, and notes whether others have any of the keys in truth.
func (w *world) refuseSet(a *attempt, e *history.Event) {
	falsely := true
	a.r.each(*e, func(x *history.Event) {
		w.truths.refused(w, x)
		falsely = falsely && w.truths.busies[x.Op]
	})
	w.truths.busies[e.Op] = falsely
	e.Type, e.Busy = history.Fail, true
	w.answer(a, *e)
}

// releaseSet gives all keys back that are still held, and says not held if any was not.
func (w *world) releaseSet(r *request, e *history.Event) {
	e.Type = history.OK
	r.each(*e, func(x *history.Event) {
		if w.serveRelease(x); x.NotHeld {
			e.Type, e.NotHeld = history.Fail, true
		}
	})
}

// takeSet is a round of a client: it takes some keys, uses each, and gives them back.
func (w *world) takeSet(client int32, again func(int64)) {
	var set []history.KeyID
	for _, key := range w.rng.Perm(w.keys)[:1+w.rng.IntN(3)] {
		set = append(set, history.KeyID(key))
	}
	w.callAll(history.Event{Kind: history.Acquire, Client: client}, set, func(got history.Event) {
		if got.Type != history.OK {
			again(w.between(ms, 20*ms))
			return
		}
		var next func(i int)
		next = func(i int) {
			if i == len(set) {
				w.callAll(history.Event{Kind: history.Release, Client: client, Grant: got.Op}, set,
					func(history.Event) { again(w.between(ms, w.rests)) })
				return
			}
			one := got
			one.Op, one.Key, one.Token = got.Op+int64(i), set[i], w.truths.grants[got.Op+int64(i)].token
			w.use(client, one, func(history.Event) { next(i + 1) })
		}
		next(0)
	})
}

var setWorlds = map[string]worldConfig{
	"sets":                                   {},
	"sets, pauses, kills":                    {pauses: true, kills: true},
	"sets, packets lost":                     {lossy: true, pauses: true, kills: true},
	"sets, asked once":                       {once: true, clients: 3, rests: 100 * ms},
	"sets, asked once, packets lost":         {once: true, clients: 3, lossy: true, pauses: true, kills: true},
	"sets, fence":                            {pauses: true, fenced: true, fenceReads: true, slowWrites: true},
	"sets, told, slow replies":               {service: service{library: true}, slowReplies: true, pauses: true},
	"sets in turn":                           {inTurn: true},
	"sets in turn, pauses, kills":            {inTurn: true, pauses: true, kills: true},
	"sets in turn, packets lost":             {inTurn: true, lossy: true, pauses: true, kills: true},
	"sets in turn, asked once, packets lost": {inTurn: true, once: true, clients: 3, lossy: true, kills: true},
	"rare sets in turn, seldom looked at": {inTurn: true, pauses: true, kills: true, lasts: 60_000 * ms,
		waits: 9000 * ms, backOff: 1900 * ms, rests: 4000 * ms},
	"rare sets in turn, packets lost": {inTurn: true, lossy: true, kills: true, lasts: 60_000 * ms,
		waits: 9000 * ms, backOff: 1900 * ms, rests: 2000 * ms},
	"many who wait for sets in turn": {inTurn: true, clients: 10, kills: true, lasts: 30_000 * ms,
		waits: 9000 * ms, rests: 50 * ms},
}

// TestCorrectSetsAreNotAccused: locks that take several keys at once by one step, or
// one key after the other in the same order. LOCKCHAOS_SOAK=1 judges 10,000 histories.
func TestCorrectSetsAreNotAccused(t *testing.T) {
	worlds := map[string]worldConfig{}
	for name, c := range setWorlds {
		c.workload, c.keys = workloadSets, 5
		worlds[name] = c
	}
	total, _ := simulated(t, worlds, histories(70, 10_000))
	for name, s := range total {
		if s.alarms > 0 || s.missed > 0 {
			t.Errorf("%s: %d false alarms, %d missed:\n%s", name, s.alarms, s.missed,
				strings.Join(s.examples[:min(8, len(s.examples))], "\n"))
		}
	}
	if s := total[FalseBusy]; s == nil || s.judged == 0 {
		t.Error("no answer busy was judged")
	}
}

// TestSetsThatKeepAKeyAreFound: a lock that keeps what it has got of a set that it refuses.
func TestSetsThatKeepAKeyAreFound(t *testing.T) {
	worlds := map[string]worldConfig{"partial": {service: service{partial: true}, workload: workloadSets, keys: 5,
		clients: 3, once: true, rests: 300 * ms}}
	total, _ := simulated(t, worlds, histories(10, 500))
	for name, s := range total {
		if name == StuckLock {
			// a key that one client after the other keeps is stuck, too; the world does not note it
			continue
		}
		if s.alarms > 0 || s.missed > 0 {
			t.Errorf("%s: %d false alarms, %d missed:\n%s", name, s.alarms, s.missed,
				strings.Join(s.examples[:min(8, len(s.examples))], "\n"))
		}
	}
	if s := total[FalseBusy]; s == nil || s.caught == 0 {
		t.Errorf("no false busy: %+v", s)
	}
}
