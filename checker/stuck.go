// # stuck-lock
//
// Violated if nobody can hold a key, and nobody gets it. It is judged by the probe and while the
// clients work; a diagnosis finds the kind. See "Stuck locks", for each.
//
// # Stuck locks: the probe
//
// The harness lets fresh clients (numbers above Header.Clients) acquire every key twice: in phase
// "probe" with the losers alive and idle, in phase "final" with every client closed.
//
// No client can hold a key when each of its grants was released ok (or its release denied: the
// service itself says that it is not held), or its client has closed or is gone. The same goes for
// acquires and releases of unknown fate, and for acquires that are still open. If that has been so,
// with every fault healed, for a TTL and Slack by the end of a fresh client's acquire, and the
// answer was busy, the lock is stuck. In phase "probe" it is a ghost if a live client had a
// definite no and the key was free once all were closed. An error instead of busy shows nothing: a
// service without a leader is not a stuck lock. A pass needs that in the last phase a fresh client
// acquired every key.
//
// An acquire of unknown fate that reported may have left something for as long as the lock says
// (Claims.Abandons), else for a TTL. A key that stays busy for longer is stuck, though its client
// lives:
//
//	A.acquire [0,5] of unknown fate; P, a fresh client, is told busy at 1,100
//
// "Until A is closed" lets every ghost go free that lives until the end of the run. An acquire that
// never reported may still be under way, and counts until then.
//
// A client that was killed is gone, even where a fresh process goes on under its number. That one
// has a greater Event.Process, and knows nothing of what its predecessor held. The dead one's
// grant, or one that it was about to get, may stand at the service until its lease is over. A lock
// that never expires keeps it for ever, and that is a stuck lock. It is named a ghost only if the
// key is free as soon as all are closed.
//
// # Stuck locks: the diagnosis
//
// The harness does not only wait. When a key is stuck as its clients see it, and no fault is in
// force, it enters phase "ask": a fresh client asks while the workload goes on. If that one is
// refused too, the clients are closed one after the other, and after each a fresh one asks again:
//
//	P.acquire [3501,7000] busy, P is closed
//	C.close [7200,7201]              C was refused the key once, and held nothing
//	B.acquire [7110,7250] busy       B asked before C was closed
//	P.acquire [7301,7302] ok         a ghost: the end of client C freed the key
//
// A client that ended before a refusal did not free the key, unless its session may have stood
// until then: a refusal counts that comes a TTL and Slack (or Header.Slack) after the end. "The
// last refusal counts" would clear C for B's sake. The end of a fresh client frees nothing: the key
// was stuck before it came. In phase "probe" the clients are closed in the same way.
//
// Each time between two grants counts once. Its kind is:
//
//   - asleep, if another client, which began to ask only after Patience, was granted the key within
//     Slack, while the first one still waited: the key was free;
//   - ghost, if only clients without a grant may have freed it by their end, and then it was
//     granted;
//   - never-expired, if the last one to hold it gave nothing back, and the key stayed taken after
//     all were closed;
//   - wedged, if none of these is certain.
package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// StuckLock names the property stuck-lock: a key that nobody can hold can be acquired.
const StuckLock = "stuck-lock"

// stuckLock reads, beside rules and findings: book, demands, faults, figures.
var stuckLock = Property{
	Name:   StuckLock,
	About:  "When nobody can hold the key, a client that asks for it acquires it: while the clients work, and after the faults are healed.",
	needs:  []string{history.FactProbe},
	kinds:  []string{KindGhost, KindAsleep, KindWedged, KindNeverExpired, KindShutOut},
	exempt: noLock,
	short:  (*Sweep).probeShort,
	shown: func(s *Sweep) string {
		return fmt.Sprintf("A fresh client acquired every key within %s of the beginning of the probe.",
			seconds(int64(s.figures.stats.Recovered)))
	},
	finish: (*Sweep).endProbe,
	Words: Words{
		Violation: "stuck key",
		Demands:   "A key that nobody can hold can be acquired, also by a fresh client after healing.",
		Once:      "A key could not be acquired though nobody could hold it",
		More:      "A key could not be acquired though nobody could hold it",
		Lead:      "A key stayed locked with nobody to release it.",
		Advice: "Look for a grant without an expiry, a session that nobody ended, or a waiter whose queue entry " +
			"outlived it.",
	},
}

// Slack is what a service is given beyond the TTL to notice that a lock has
// expired: half a TTL, and at least half a second.
func Slack(ttl time.Duration) time.Duration { return max(ttl/2, 500*time.Millisecond) }

// loosen notes that a client may hold the key: it was granted, or nobody knows whether it was.
func (bk *book) loosen(k *keyState, client int32, t int64) *clientOnKey {
	c := bk.on(k, client)
	c.loose++
	k.loose++
	k.by.note(c)
	c.leased = max(c.leased, t)
	return c
}

// tighten notes that a grant was released ok, or denied by the service, at t.
func (bk *book) tighten(g *grant, t int64) {
	k := bk.keyOf(g)
	c := k.holder(g)
	c.loose--
	k.loose--
	k.by.note(c)
	k.freeAt, c.over = max(k.freeAt, t), max(c.over, t)
	if c.loose == 0 {
		c.leased = 0
	}
}

// absolve notes that a client was closed, or is gone, at t: it can't hold the
// key. Grants of a newer incarnation stay.
func (bk *book) absolve(k *keyState, client int32, t int64) {
	c := k.by.find(client)
	if c == nil {
		return
	}
	bk.ended(k, c, t)
	c.denied, c.misled = false, min(c.misled, t)
	if c.loose == 0 {
		return
	}
	k.loose -= int(c.loose)
	k.unknown -= int(c.unknown)
	c.loose, c.unknown, c.missing, c.leased, c.over = 0, 0, 0, 0, max(c.over, t)
	k.vanishedAt = max(k.vanishedAt, t)
	bk.eachOpenOf(k, client, func(g *grant) {
		if g.closed {
			g.loose = false
			return
		}
		c.loose++
		k.loose++
	})
	k.by.note(c)
	k.freeAt = max(k.freeAt, t)
}

// probed handles a fresh client's acquire.
func (s *Sweep) probed(k *keyState, o *op, e *history.Event) {
	phase := probePhase(s.demands.phase)
	if phase < 0 {
		return
	}
	p := &k.probe
	end := stamp(e.End, e.Time)
	switch {
	case e.Type == history.OK:
		if p.got[phase] == 0 {
			p.got[phase] = end
		}
	case e.Type == history.Fail && e.Busy:
		if !s.faults.freeFor(k, end) || s.faults.skewedBy(o.client, end) {
			p.occupied[phase] = true
		} else if !p.stuck[phase] {
			p.stuck[phase] = true
			s.stuckAt(k, o, end, phase)
		}
	default:
		p.failed[phase] = e.Text
		if e.Text == "" {
			p.failed[phase] = "no reason was given"
		}
	}
}

// freeFor reports whether at t nobody could have held the key for a TTL and the
// slack, with every fault healed.
func (fs *faults) freeFor(k *keyState, t int64) bool {
	since := fs.freeSince(k)
	if since == forever || k.waitHead != nil || len(fs.open) > 0 {
		return false
	}
	return t-since-fs.stalledIn(since, t) >= fs.rules.lasting()+fs.rules.lifetime()-fs.rules.TTL
}

// stalledIn is for how long the machine itself stalled anybody between two
// instants, a client or a node of the service. Where several stood still at a
// time, that time counts once. A machine that starves its processes does not
// heal, so this time is not counted; but it does not begin the wait anew either.
func (fs *faults) stalledIn(from, to int64) (sum int64) {
	stalls := stallsIn(nil, fs.service, from, to)
	for i := range fs.byClient {
		stalls = stallsIn(stalls, fs.byClient[i].spans, from, to)
	}
	slices.SortFunc(stalls, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, sp := range stalls {
		if from = max(from, sp.from); sp.to > from {
			sum, from = sum+sp.to-from, sp.to
		}
	}
	return sum
}

// freeSince is the instant from which nobody could hold the key and nothing was broken, but for
// what an acquire of unknown fate left behind. It is forever if somebody still holds the key.
func (fs *faults) freeSince(k *keyState) int64 {
	since := max(k.freeAt, fs.healedAt)
	for c := range k.by.eachLoose {
		if c.loose > c.unknown || c.missing > 0 {
			return forever
		}
		since = max(since, c.leased)
	}
	return since
}

// stuckAt records a stuck lock: o is the fresh client's acquire that was told busy at end.
func (s *Sweep) stuckAt(k *keyState, o *op, end int64, phase int) {
	j, denied := judgement{violated: true, pattern: k.stuckPattern()}, false
	if phase == probeAlive {
		denied = slices.ContainsFunc(k.by.all, func(c clientOnKey) bool { return c.denied && !s.rules.fresh(c.client) })
	}
	since, id, client := s.faults.freeSince(k), o.id, o.client
	last, x := k.lastGrant, s.demands.stretchOf(k)
	if x.counted {
		return // while the clients worked
	}
	x.probed = true
	s.findings.record(&stuckLock, k, j, j, func(judgement) *Violation {
		v := s.tellStuck(k, last, id, client, since, end)
		x.found = v
		if denied {
			k.probe.ghost = v
		}
		return v
	})
}

// endProbe sums the probe up.
func (s *Sweep) endProbe(p *Property) {
	s.demands.nameStretches()
	s.nameGhosts()
	s.judgeShutOut(p)
	if s.probeShort() == "" {
		s.figures.stats.Recovered = s.recovered()
	}
}

// nameGhosts names what kept a key busy while the losers lived, now that it is known whether
// it went away with them: a grant that outlived its dead holder for ever is no ghost.
func (s *Sweep) nameGhosts() {
	for _, k := range s.book.keys {
		if v := k.probe.ghost; v != nil && v.Kind == "" && k.probe.got[probeFinal] != 0 {
			v.Kind = KindGhost
			v.Text += " A client that had been told no occupied it until it was closed."
		}
	}
}

// probeShort says what the probe leaves open; empty when a fresh client had every key.
func (s *Sweep) probeShort() string {
	phase := -1
	for i, began := range s.demands.began {
		if began != 0 {
			phase = i
		}
	}
	if phase < 0 {
		return "No fresh client probed the keys after the faults were healed."
	}
	var open []string
	for _, k := range s.book.keys {
		if k.probe.got[phase] == 0 && len(k.by.all) > 0 {
			open = append(open, s.rules.name(k)+" "+k.probe.shortcoming(phase))
		}
	}
	if len(open) > 0 {
		return "The probe was not answered for every key: " + strings.Join(firstFew(open), "; ") + "."
	}
	return ""
}

// shortcoming says why a key's probe shows nothing.
func (p *probeState) shortcoming(phase int) string {
	switch {
	case p.failed[phase] != "":
		return "was answered with an error (" + p.failed[phase] + ")"
	case p.occupied[phase]:
		return "was busy, but somebody could still hold it, or the probe gave up too early"
	}
	return "was not probed"
}

// recovered is how long after the probe began a fresh client had every key.
func (s *Sweep) recovered() time.Duration {
	began := s.demands.began[probeAlive]
	if began == 0 {
		began = s.demands.began[probeFinal]
	}
	worst := int64(0)
	for _, k := range s.book.keys {
		// below zero for a key that nobody used
		worst = max(worst, earlier(k.probe.got[probeAlive], k.probe.got[probeFinal])-began)
	}
	return time.Duration(worst)
}

// firstFew shortens a list for a sentence.
func firstFew(list []string) []string {
	const few = 4
	if len(list) > few {
		return append(list[:few:few], fmt.Sprintf("and %d more", len(list)-few))
	}
	return list
}

// tellStuck tells of a key that stayed busy.
func (s *Sweep) tellStuck(k *keyState, last *grant, probe int64, client int32, since, end int64) *Violation {
	v := s.stuckAfter(k, last, probe, since, end)
	v.At = since + s.rules.TTL
	v.Text = fmt.Sprintf("nobody could hold %s from %s on, yet at %s client %d, a fresh one, was still told that it is busy (TTL %s).", v.Key,
		seconds(since), seconds(end), client, seconds(s.rules.TTL))
	return v
}

// stuckAfter is a violation in which nobody got the key after the last grant,
// as the acquire op shows at end.
func (s *Sweep) stuckAfter(k *keyState, last *grant, op, since, end int64) *Violation {
	v := &Violation{Property: StuckLock, Key: s.rules.name(k), From: since, To: end}
	var proof evidence
	if last != nil {
		proof.add(last.id, last.start)
		v.A = last.ref()
		v.Faults = s.faults.deathsOf(last)
	}
	proof.add(op, end)
	v.Ops = proof.ops()
	return v
}
