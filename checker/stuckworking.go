// # Stuck locks: while the clients work
//
// A key is stuck while the clients work, too, if it is free and wanted for longer than Patience:
// the TTL, Slack and two seconds, in which a lock that polls looks again. Here the TTL is 500, so
// Patience is 3,000:
//
//	A.acquire [0,1], A.release [10,11]
//	B.acquire [20,600] busy, and again at once, until 3,400
//
// Free: each grant was given back, or the lease of the last one began at that time at the latest:
// when it was granted, renewed, or last acted under. A live session's grant that was not given back
// may be held, and so may that of a lock that declares NoExpiry. An acquire of unknown fate may
// have been granted when it ended. It excuses the lock for a TTL (which is in Patience), or for
// what the lock claims (Claims.Abandons). "For as long as its client lives" lets every lock go free
// whose clients give up. An acquire that is open holds nothing, unless its client is disturbed: it
// would have been answered.
//
// Wanted: one client waits in one acquire, or asks again within a TTL and Slack and is told busy.
// One refusal does not do: Redlock's clients may split the votes. An error ends what the client
// wanted.
//
// Disturbed: a fault on the service, on the client that asks, or on one that asked for the key and
// was not answered before the fault. It counts for twice its time, since delayed requests are sent
// again later and later. Stalls of the machine are subtracted, of clients and of nodes. The wait
// does not begin anew after one, and where several stood still at a time, that time counts once. If
// the wait was too long only with them, nothing follows. Times of a second or more in which the
// service gave no definite answer at all are subtracted, too, unless the whole lasts ten seconds: a
// service may elect a leader, and no record says so.
//
// A wrong clock disturbs for ever, if it is the service's or the asking client's own. Programs wait
// for an instant of their clock, and a monotonic clock keeps what it gained when it is healed. The
// TTL is 500, and B's clock jumped 10,000 ahead at 2:
//
//	A.acquire [0,1], A.release [10,11], B.acquire [5,9000] busy; C.acquire [4000,4001] ok
//
// B may have slept by that clock: it is not asleep. A client with a wrong clock that waits may be
// the first of a queue, so the others have waited for the lock only since it was answered. "Nothing
// follows after a wrong clock" lets every lock go free that sleeps when some other client's clock
// has jumped.
//
// The simpler readings accuse correct locks. "Longer than a TTL and Slack" forbids a lock to look
// only every two seconds. "Nobody answered, so the lock is stuck" takes the outage of a service for
// a defect. "Granted in the end, so all was well" lets a waiter sleep for a minute.
//
// A service may keep a session for longer than the TTL and Slack. Where the header says for how
// long (Header.Slack), Patience is that much longer. TTL 500, Header.Slack 4,000, so Patience is
// 6,500:
//
//	A.acquire [0,1], A is gone at 10; B asks again and again, and is granted the key at 6,410
package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

const (
	// pollAllowance is what a lock gets on top of the TTL and Slack, to look at
	// the key again and to hand it over.
	pollAllowance = 2 * time.Second
	// Outage is for how long a service may give no answer before its silence is
	// held against the lock.
	Outage = 10 * time.Second
	// silent is how long a service must give no answer to be perhaps away.
	silent = time.Second
)

// Patience is for how long a key may be free and wanted: for as long as a lease
// or a session stands that nobody renews, and two seconds for locks that poll.
// slack is the service's own (history.Header.Slack); 0: it is not told.
func Patience(ttl, slack time.Duration) time.Duration { return Lifetime(ttl, slack) + pollAllowance }

// Lifetime is for how long at most a lease or a session stands that nobody
// renews: the TTL and Slack, or the service's own slack if that is more.
func Lifetime(ttl, slack time.Duration) time.Duration { return ttl + max(slack, Slack(ttl)) }

// unheldSince is the time since which nobody can hold the key, a last lease of
// a TTL aside; forever if somebody can.
func (bk *book) unheldSince(k *keyState) int64 {
	since := k.freeAt
	if k.loose == 0 {
		return since
	}
	for c := range k.by.eachLoose {
		if c.loose > c.unknown && !bk.rules.expires() {
			return forever
		}
		since = max(since, c.leased)
	}
	for g := range k.open.all {
		if g.loose {
			since = max(since, bk.leaseFrom(g))
		}
	}
	return since
}

// neededSince is for how long a key must have been free and wanted since from to be stuck.
// What was granted may stay for a TTL, what was abandoned for less, if the lock says so.
func (bk *book) neededSince(k *keyState, from int64) int64 {
	stays := max(from+bk.rules.abandons(), max(k.vanishedAt, k.leftAt)+bk.rules.TTL)
	for c := range k.by.eachLoose {
		if c.loose > c.unknown {
			stays = max(stays, c.leased+bk.rules.TTL)
		}
	}
	for g := range k.open.all {
		if g.loose {
			stays = max(stays, bk.leaseFrom(g)+bk.rules.TTL)
		}
	}
	return stays - from + bk.rules.margin()
}

// leaseFrom is the last instant from which a grant's lease may run, as far as
// is known by now: of its acquire, of a renewal, of an act.
func (bk *book) leaseFrom(g *grant) int64 {
	from := max(bk.leasedAt(g), g.last)
	if g.promise != forever {
		from = max(from, g.promise-bk.rules.TTL)
	}
	return from
}

// judgeDemand judges an acquire that has completed, before what came of it is noted.
// The keys of a set are wanted since the last of them is.
func (s *Sweep) judgeDemand(asked []*op, e *history.Event) {
	o, end, from := asked[0], stamp(e.End, e.Time), int64(0)
	for _, x := range asked {
		from = max(from, s.demanded(s.book.keys[x.key], o, e))
		if x.slept != nil && from != 0 {
			s.judgeSleep(x, o.start)
		}
	}
	if from == 0 || end-from < s.rules.abandons()+s.rules.margin() {
		return // most acquires end here
	}
	keys := s.book.entangled(asked...)
	if from = max(from, s.book.unheld(keys)); from == forever {
		return
	}
	if need := s.book.needed(keys, from); from <= end-need {
		s.judgeStretch(keys, asked, from, end, need)
	}
}

// demanded returns since when the client of an acquire that has completed, o,
// has asked for a key; 0: nothing follows from the answer.
func (s *Sweep) demanded(k *keyState, o *op, e *history.Event) (since int64) {
	end := stamp(e.End, e.Time)
	if s.faults.skewedSince != 0 {
		s.noteMisled(k, o, e, end)
	}
	if o.start == 0 || e.Type == history.Fail && !e.Busy || s.rules.Translated {
		if c := k.by.find(o.client); c != nil {
			c.demand = demand{} // an error is no answer of the lock
		}
		return 0
	}
	c := s.book.on(k, o.client)
	c.over, c.gone = max(c.over, end), false
	if c.demand.since == 0 || o.start-c.demand.last > s.rules.restNs() {
		c.demand.since = o.start
	}
	since = c.demand.since
	c.demand.last = end
	if e.Type == history.OK {
		c.demand = demand{}
	}
	s.book.refusedAt(k, e)
	return since
}

// noteMisled notes until when a client may wait by a clock that is wrong.
func (s *Sweep) noteMisled(k *keyState, o *op, e *history.Event, end int64) {
	if !s.faults.skewedBy(o.client, s.book.now) {
		return
	}
	if e.Type == history.Info && o.start == 0 { // it may sleep yet
		end = forever
	}
	s.book.on(k, o.client).misled = end
}

// demandedSince is when the oldest demand for the key began that may go on, or
// before, if that is earlier.
func (bk *book) demandedSince(k *keyState, before int64) int64 {
	for i := range k.by.all {
		c := &k.by.all[i]
		d := c.demand
		if d.since != 0 && d.since < before && (bk.now-d.last <= bk.rules.restNs() || bk.waitsFor(k, c.client)) {
			before = d.since
		}
	}
	return before
}

// refusedAt notes that a key was refused once more. Who ended before that did
// not free it, unless its session may have stood until then.
func (bk *book) refusedAt(k *keyState, e *history.Event) {
	x := k.stretch
	if x == nil || e.Type == history.OK || len(x.ends) == 0 {
		return
	}
	end := stamp(e.End, e.Time)
	x.ends = slices.DeleteFunc(x.ends, func(d clientEnd) bool { return d.at+bk.rules.lifetime() <= end })
}

// judgeStretch has a stretch decided in which a client wanted one key or several from
// from to to, and which is too long at need. keys are those that had to be free.
func (s *Sweep) judgeStretch(keys []*keyState, wants []*op, from, to, need int64) {
	wanted := s.book.keysOf(nil, wants...)
	// whatever the order in which a set names its keys
	k := slices.MinFunc(wanted, func(a, b *keyState) int { return cmp.Compare(a.id, b.id) })
	x := s.demands.stretchOf(k)
	if x.counted || x.probed {
		return
	}
	id, client, last, pattern := wants[0].id, wants[0].client, k.lastGrant, k.stuckPattern()
	quiet, asked := s.demands.silentIn(from, to), s.book.askedUntil(keys)
	misled, what := s.misledUntil(keys), s.rules.namesOf(wanted)
	if last != nil {
		pin(last)
	}
	s.findings.putOff(from, func() {
		if x.counted || x.probed {
			return
		}
		calm, need := max(misled, s.faults.calmSince(asked, client, from, to)), need
		if calm > from {
			need = max(need, s.rules.patienceNs()) // what a fault held back may be granted yet
		}
		from := calm
		doubt := !s.faults.longEnough(from, to, quiet, need)
		if x.counted = !doubt; x.counted || !x.doubted && longEnough(to-from, quiet, need) {
			x.doubted = doubt
			j := judgement{violated: true, kind: KindWedged, pattern: pattern, stallOnly: doubt}
			s.findings.record(&stuckLock, k, j, j, func(judgement) *Violation {
				x.found = s.tellWanted(k, what, last, id, client, from, to, need)
				return x.found
			})
		}
	})
}

// longEnough reports whether a key was free and wanted for too long. Time in
// which the machine stalled does not count. Time in which the service gave no
// answer counts only where there is much of it.
func (fs *faults) longEnough(from, to, quiet, need int64) bool {
	return from < to && longEnough(to-from-fs.stalledIn(from, to), quiet, need)
}

// longEnough reports whether a wait was too long, of which the service was quiet for a part.
func longEnough(lasted, quiet, need int64) bool {
	return lasted-quiet >= need || lasted >= max(need, int64(Outage))
}

// calmSince is the time since which no fault touched the service, the waiting
// client, or a client that might have been granted the key meanwhile. What a fault
// held back is sent again later and later, so a fault counts for twice its time. A
// wrong clock of the waiter or of the service disturbs for ever. What waits by it
// may wait for a time that is far ahead, and a monotonic clock keeps what it gained.
func (fs *faults) calmSince(asked []asker, waiter int32, from, to int64) int64 {
	if fs.skewedBy(waiter, to) || fs.serviceSkewed != 0 && fs.serviceSkewed <= to {
		return forever
	}
	pass := func(spans []span, matters func(span) bool) {
		for _, sp := range spans {
			if sp.from <= to && matters(sp) {
				from = max(from, sp.calmAt())
			}
		}
	}
	// the stalls of the machine are taken off: see stalledIn
	pass(fs.service, func(sp span) bool { return sp.injected })
	pass(fs.clientSpans(waiter), func(sp span) bool { return sp.injected })
	for _, a := range asked {
		pass(fs.clientSpans(a.client), func(sp span) bool { return sp.injected && sp.from <= a.until })
	}
	return from
}

// skewedBy reports whether a fault had made a client's own clock wrong by t.
func (fs *faults) skewedBy(client int32, t int64) bool {
	since := fs.metBy(client).skewedSince
	return since != 0 && since <= t
}

// misledUntil is until when some client may have slept in its place in the
// queue, by its own wrong clock; forever: one may do so yet.
func (s *Sweep) misledUntil(keys []*keyState) (until int64) {
	if s.faults.skewedSince == 0 {
		return 0
	}
	for _, k := range keys {
		for i := range k.by.all {
			until = max(until, k.by.all[i].misled)
		}
		for o := k.waitHead; o != nil; o = o.next {
			if s.faults.skewedBy(o.client, s.book.now) {
				return forever
			}
		}
	}
	return until
}

// asker is a client that asked for a key, or may have had it, and until when;
// forever: it does so now.
type asker struct {
	client int32
	until  int64
}

// askedUntil is until when each client asked for the keys, or may have had them.
func (bk *book) askedUntil(keys []*keyState) []asker {
	asked := make([]asker, 0, len(keys[0].by.all)+keys[0].waiters)
	for _, k := range keys {
		for i := range k.by.all {
			c := &k.by.all[i]
			a := asker{c.client, c.over}
			if c.loose > 0 {
				a.until = forever
			}
			asked = append(asked, a)
		}
		for o := k.waitHead; o != nil; o = o.next {
			asked = append(asked, asker{o.client, forever})
		}
	}
	return asked
}

// waitsFor reports whether a client has an open acquire of the key.
func (bk *book) waitsFor(k *keyState, client int32) bool {
	return slices.ContainsFunc(bk.clients[client].asking, func(o *op) bool { return o.key == k.id })
}

// wake notes a grant at the end of a stretch: who slept through it, and whose end freed the key.
func (s *Sweep) wake(k *keyState, o *op, end int64) {
	if x := k.stretch; x != nil {
		x.freed, k.stretch = true, nil
	}
	w := k.waitHead
	if w == nil || o.start-w.inv < s.rules.patienceNs() || end-o.start > int64(Slack(time.Duration(s.rules.TTL))) {
		return
	}
	since := s.book.unheldSince(k)
	for ; w != nil; w = w.next {
		if s.book.openSets > 0 {
			since = s.book.unheld(s.book.entangled(w))
		}
		if from := max(w.inv, since); o.start-from >= s.rules.patienceNs() &&
			(w.slept == nil || o.start-from > w.slept.to-w.slept.from) {
			w.slept = &lateWake{from: from, to: o.start, by: o.id}
		}
	}
}

// judgeSleep judges an acquire that waited on while the key was free and
// another client got it at once.
func (s *Sweep) judgeSleep(o *op, start int64) {
	k, x, id, client := s.book.keys[o.key], *o.slept, o.id, o.client
	from := max(x.from, start)
	o.slept = nil
	asked := s.book.askedUntil(s.book.entangled(o))
	s.findings.putOff(from, func() {
		from := s.faults.calmSince(asked, client, from, x.to)
		if k.sleptThrough == x.by || x.to-from < s.rules.patienceNs() {
			return
		}
		doubt := x.to-from-s.faults.stalledIn(from, x.to) < s.rules.patienceNs()
		if !doubt {
			k.sleptThrough = x.by // one violation, however many slept
		}
		j := judgement{violated: true, kind: KindAsleep, pattern: PatternUnexplained, stallOnly: doubt}
		s.findings.record(&stuckLock, k, j, j, func(judgement) *Violation { return s.tellAsleep(k, x, id, client, from) })
	})
}

// ended notes that a client that had asked for the key was closed or is gone at
// t. A fresh client came when the key was stuck already.
func (bk *book) ended(k *keyState, c *clientOnKey, t int64) {
	known, had := !c.gone, c.loose > c.unknown
	c.gone = true
	if k.stretch != nil && known && !bk.rules.fresh(c.client) {
		k.stretch.ends = append(k.stretch.ends, clientEnd{client: c.client, at: t, loser: !had && c.denied})
	}
}

// tellWanted tells of a key that nobody got though nobody held it.
func (s *Sweep) tellWanted(k *keyState, what string, last *grant, id int64, client int32, from, to,
	need int64) *Violation {
	v := s.stuckAfter(k, last, id, from, to)
	v.Kind, v.At = KindWedged, from+need
	v.Text = fmt.Sprintf("from %s to %s nobody could hold %s, and client %d, which nothing disturbed, asked for it all the time, yet nobody was "+
		"granted it (TTL %s).", seconds(from), seconds(to), what, client, seconds(s.rules.TTL))
	return v
}

// tellAsleep tells of a waiter that slept on.
func (s *Sweep) tellAsleep(k *keyState, x lateWake, id int64, client int32, from int64) *Violation {
	v := &Violation{Property: StuckLock, Kind: KindAsleep, Key: s.rules.name(k), At: from + s.rules.patienceNs(),
		From: from, To: x.to}
	var proof evidence
	proof.add(id, from)
	proof.add(x.by, x.to)
	v.Ops = proof.ops()
	v.Text = fmt.Sprintf("%s was free from %s on, and client %d, which nothing disturbed, waited for it; at %s another client asked, and was "+
		"granted it at once.", v.Key, seconds(from), client, seconds(x.to))
	return v
}
