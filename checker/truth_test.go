package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// What really happened in a world, by the service's and the store's own instants, and
// what of it the stamps of the workers show. None of it shares code with the sweep.

// truth is what the service and the client know of a grant. Stamps are the
// worker's; without an answer there are none.
type truth struct {
	op      int64
	client  int32
	key     history.KeyID
	token   history.Token
	granted int64 // the service's instant
	// until when its lease or session stands at a service that works, even if its client is dead
	lease             int64
	due               int64 // until when the service owed the key to it
	lastAct           int64 // the last act that began
	first, start, end int64 // stamps of the acquire
	enqueued          int64
	// until when its client may rely on it, as far as that is measured in time
	promise                  int64
	lastSeen, releasing      int64 // stamps of the last act, and of the release; 0: none
	attempt, validFor        int64
	released, told, answered bool
	toldAt                   int64
	renewed                  int64 // when its session was last confirmed
	dead                     bool  // the answer came when the lease was over
}

func (g *truth) acted() bool { return g.lastAct > g.granted }

// ended is an acquire that has completed, with or without a grant.
type ended struct {
	op, start, end int64
	client         int32
	key            history.KeyID
}

// write is one that the store accepted.
type write struct {
	g                        *truth
	op, base, version, value int64
	key                      history.KeyID
}

// vouch is an answer ok that confirms a grant.
type vouch struct {
	g      *truth
	op, at int64
}

// late is a release that freed another's grant.
type late struct {
	thief, victim *truth
	op            int64
}

// lateRenewal is a renewal whose answer came when its lease was over, and was taken for a yes.
type lateRenewal struct {
	g            *truth
	attempt, end int64
}

// truths is what a world knows.
type truths struct {
	grants map[int64]*truth
	order  []*truth    // as they were granted
	owed   [][2]*truth // a grant, and one to which the key was owed then
	said   bool        // owed has what a silent library said
	writes []write
	reads  map[int64]int64 // the version that a grant's client read last
	waits  []ended
	starts map[int64]int64 // of ops, by the worker
	jumped [][2]int64      // granted, passed over
	stole  []late
	late   []lateRenewal
	// acquires that were told busy the last time that they asked, and whether
	// nobody else had the key
	busies  map[int64]bool
	falsely map[int64]bool // those of them that ended so, with nobody else
	vouches []vouch
	stuck   bool
	// turnedAway: a fresh client was told busy of a key that nobody else had,
	// which counts as stuck.
	turnedAway bool
	slept      bool // a waiter slept for too long while the key was free
	oversaw    bool // the same, for so long that the history shows it
	requests   int64
	counted    [][2]int64 // requests, heartbeats aside, and grants
	deaths     map[int32][]int64
	denied     map[int64]bool  // ops that were answered "not held" though it was held
	kept       map[int64]bool  // grants that were released, and stood on
	hastened   map[int64]int64 // where holds begin, by the stamps
	// of each key, whether its tokens broke their order; nil: nobody has asked
	broken []bool
	// grants that their clients have given up, or never heard of: their sessions are not kept alive
	given map[int64]bool
}

func newTruths() truths {
	return truths{grants: map[int64]*truth{}, reads: map[int64]int64{}, starts: map[int64]int64{},
		deaths: map[int32][]int64{}, given: map[int64]bool{},
		busies: map[int64]bool{}, falsely: map[int64]bool{}, denied: map[int64]bool{}, kept: map[int64]bool{}}
}

// grant notes a new grant, and to whom the key was owed.
func (t *truths) grant(w *world, e *history.Event) {
	g := &truth{op: e.Op, client: e.Client, key: e.Key, token: e.Token, granted: w.now, due: w.now + worldTTL, lease: w.now + worldTTL}
	var others []*truth
	for _, x := range t.order {
		if x.key == g.key && x.client != g.client && x.due > w.now {
			others = append(others, x)
		}
	}
	if len(others) >= w.permits {
		for _, x := range others {
			t.owed = append(t.owed, [2]*truth{g, x})
		}
	}
	t.grants[g.op], t.order = g, append(t.order, g)
}

// refused notes that an acquire is told busy, and whether others have the key in truth.
func (t *truths) refused(w *world, e *history.Event) {
	others := 0
	for _, x := range t.order {
		if x.key == e.Key && x.op != e.Op && x.lease > w.now {
			others++
		}
	}
	t.busies[e.Op] = others == 0
}

// owing are the grants of a key that was owed to another one then. A library that
// never tells of a loss says "yours" for ever; a client that nothing has disturbed
// for a TTL may rely on it, also when another one hears that the key is its own.
func (w *world) owing() [][2]*truth {
	t := &w.truths
	if !w.session || !w.silent || t.said {
		return t.owed
	}
	t.said = true
	for _, g := range t.order {
		for _, x := range t.order {
			if g.answered && x.key == g.key && x.client != g.client && x.granted < g.granted && w.relies(x, g.end) {
				t.owed = append(t.owed, [2]*truth{g, x})
			}
		}
	}
	return t.owed
}

func (t *truths) died(client int32, now int64) {
	t.deaths[client] = append(t.deaths[client], now)
	for _, g := range t.order {
		if g.client == client {
			g.due = min(g.due, now)
		}
	}
}

// vouched notes that the service answered ok, which confirms a hold.
func (t *truths) vouched(w *world, e *history.Event) {
	t.vouches = append(t.vouches, vouch{t.grants[e.Grant], e.Op, w.now})
}

// sleeps notes for how long a waiter has slept while the key was free; the
// history shows what lasted for atLeast, too.
func (t *truths) sleeps(w *world, l *lockState, x *waiter, atLeast int64) {
	free := w.now - max(l.freed, x.enqueued)
	t.slept = t.slept || free > int64(Patience(worldTTL, worldSlack))
	t.oversaw = t.oversaw || free > max(atLeast, int64(Patience(worldTTL, worldSlack)))+100*ms
}

// wrote notes an accepted write.
func (t *truths) wrote(e *history.Event) {
	x := write{g: t.grants[e.Grant], op: e.Op, key: e.Key, version: e.Version, value: e.Value, base: noBase}
	if v, ok := t.reads[e.Grant]; ok {
		x.base = v
	}
	// taken again: it replaces what its hold wrote last
	if slices.ContainsFunc(t.writes, func(o write) bool { return o.op == x.op }) {
		for _, o := range t.writes {
			if o.g == x.g && o.key == x.key {
				x.base = o.version
			}
		}
	}
	t.writes = append(t.writes, x)
}

// completed notes the stamps that the worker reports.
func (t *truths) completed(w *world, r *request, e history.Event) {
	t.starts[e.Op] = r.start
	ok := e.Type == history.OK
	if e.Kind == history.Acquire {
		t.falsely[e.Op] = e.Busy && t.busies[e.Op]
		if g := t.grants[e.Op]; e.Busy && g != nil {
			g.lease = w.now // its library says that nothing is left
		}
		t.given[e.Op] = !ok
		t.waits = append(t.waits, ended{e.Op, r.start, w.now, e.Client, e.Key})
		if ok {
			g := t.grants[e.Op]
			g.answered, g.first, g.start, g.end, g.attempt, g.validFor = true, e.First, r.start, w.now, e.Attempt, e.ValidFor
			if e.Enqueued != 0 {
				g.enqueued = max(e.Enqueued, r.start)
			}
			g.promise = w.promise(e.Attempt, &e)
		}
		return
	}
	g := t.grants[e.Grant]
	switch {
	case e.Kind == history.Release:
		g.releasing, t.given[g.op] = r.start, true
		if ok {
			g.lastSeen = max(g.lastSeen, r.start)
		}
	case e.Kind != history.Held:
		g.lastSeen = max(g.lastSeen, r.start)
	}
	if e.Kind == history.Renew && ok && w.now < g.promise {
		g.promise = max(g.promise, w.promise(r.start, &e))
	}
	if e.Kind == history.Read && ok {
		t.reads[e.Grant] = e.Version
	}
}

// promise is the end of a promise that an attempt began.
func (w *world) promise(start int64, e *history.Event) int64 {
	switch {
	case w.session:
		return forever
	case w.library:
		return start + e.ValidFor - promiseMargin
	}
	return start + worldTTL - promiseMargin
}

// calm reports whether nothing touched a client between two instants.
func (w *world) calm(client int32, from, to int64) bool {
	return !w.pausedIn(client, from, to) && !w.isApart(client, from, to) &&
		!slices.ContainsFunc(w.truths.deaths[client], func(t int64) bool { return t >= from && t <= to })
}

// relies reports whether the client of g may rely on it at an instant, by its stamps.
func (w *world) relies(g *truth, at int64) bool {
	if !g.answered || at >= g.promise || g.releasing != 0 && at >= g.releasing || g.toldAt != 0 && at >= g.toldAt ||
		!w.calm(g.client, at-1, at) {
		return false
	}
	for _, t := range w.truths.deaths[g.client] {
		if t >= g.granted && t <= at {
			return false
		}
	}
	return !w.session || w.calm(g.client, at-worldTTL, at) && !w.passedOn(g, at)
}

// passedOn reports whether the next client had been granted the key before an
// instant, while g's client was disturbed: then its session was over.
func (w *world) passedOn(g *truth, at int64) bool {
	next := int64(0)
	for _, x := range w.truths.order {
		if x.answered && x.key == g.key && x.client != g.client && x.end > g.end && (next == 0 || x.end < next) {
			next = x.end
		}
	}
	return w.permits == 1 && next != 0 && next < at && !w.calm(g.client, next-worldTTL, next)
}

// after reports whether b is the later grant, as far as stamps and tokens show
// it. Tokens that broke their order order nothing.
func (w *world) after(b, a *truth) bool {
	return a.answered && b.answered && (b.first > a.end || a.first <= b.end && b.token > a.token && w.trusted(a.key))
}

// trusted reports whether the tokens of a key kept their order.
func (w *world) trusted(key history.KeyID) bool {
	t := &w.truths
	if t.broken == nil {
		t.broken = make([]bool, w.keys)
		for i, b := range t.order {
			for _, a := range t.order[:i] {
				t.broken[b.key] = t.broken[b.key] || a.key == b.key && w.outOfOrder(a, b)
			}
		}
	}
	return w.permits == 1 && !t.broken[key]
}

// outOfOrder reports whether the tokens of two grants, a the earlier one, break
// their order: b has no greater one, or a's came only when b's was there.
func (w *world) outOfOrder(a, b *truth) bool {
	return b.token < a.token || a.client != b.client &&
		(b.token == a.token || a.answered && b.answered && b.end < a.end && w.calm(a.client, a.first, a.end))
}

// overlap reports whether two grants were both acted upon in truth.
func (a *truth) overlaps(b *truth) bool {
	return a.key == b.key && a.acted() && b.acted() && a.granted < b.lastAct && b.granted < a.lastAct
}

// begins is where a hold begins, by the stamps: tokens may say earlier than its own acquire's end.
func (w *world) begins(g *truth) int64 {
	t := &w.truths
	if t.hastened == nil {
		t.hastened = map[int64]int64{}
		for _, g := range t.order {
			t.hastened[g.op] = g.end
			for _, x := range t.order {
				if x.answered && x.key == g.key && x.token > g.token && x.end < t.hastened[g.op] && w.trusted(g.key) {
					t.hastened[g.op] = x.end
				}
			}
		}
	}
	return t.hastened[g.op]
}

// crowd counts the holds that go on where another one begins: in truth the most
// at any time while b is held, by the stamps where b begins.
func (w *world) crowd(b *truth, stamps bool) int {
	beside := func(at int64) (n int) {
		for _, x := range w.truths.order {
			switch {
			case x == b || x.key != b.key:
			case stamps && x.answered && x.end < at && x.lastSeen > at, !stamps && x.acted() && x.granted <= at && x.lastAct > at:
				n++
			}
		}
		return n
	}
	if stamps {
		if !b.answered || b.lastSeen <= b.end {
			return 0
		}
		return beside(b.end)
	}
	if !b.acted() {
		return 0
	}
	most := beside(b.granted)
	for _, x := range w.truths.order {
		if x.overlaps(b) && x.granted > b.granted {
			most = max(most, beside(x.granted))
		}
	}
	return most
}
