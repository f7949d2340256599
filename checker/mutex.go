// # mutual-exclusion
//
// Violated in two cases:
//
//   - Conflicting holds share an instant. This includes a hold of no length strictly inside another
//     one.
//   - A later grant ended inside the promises of so many earlier ones that they left too few
//     of the key's permits for it. If the order is unknown, each must have ended inside the
//     other's promise. Whichever was later, it was then granted inside the other's promise.
//
// Each pair counts once; on a semaphore, each hold that was one too many.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// MutualExclusion names the property mutual-exclusion: holds that conflict share no instant, and
// no grant is made inside promises that leave no permit for it.
const MutualExclusion = "mutual-exclusion"

// mutualExclusion reads, beside rules and findings: book, explanations, faults.
var mutualExclusion = Property{
	Name:  MutualExclusion,
	About: "No more clients act as holders of a key at one time than it has permits, and no grant is made while it is promised to others.",
	needs: []string{history.FactHolds},
	Kinds: []string{KindGrantedWhileValid, KindSameIdentity, KindConfiguredIdentity, KindGrantedDead, KindLateNotice,
		KindLossIgnored, KindLeaseOverrun, KindUnexplained},

	blame: Unclear,
	kindBlame: map[string]Blame{KindGrantedWhileValid: Defect, KindSameIdentity: Defect, KindGrantedDead: Defect, KindLateNotice: Defect,
		KindLossIgnored: Defect, KindLeaseOverrun: Inherent},
	byEarlier: true,
	exempt: func(h *history.Header) string {
		if h.Claims.Reentrant && !h.Translated && h.Claims.Permits > 1 {
			return "How the nested grants of one owner count on a key with more than one permit is not defined."
		}
		return noLock(h)
	},
	Words: Words{
		Violation: "double-hold",
		Demands:   "At most one client acts as the holder of a key.",
		Weight:    10,
	},
}

// judgeHolds judges a grant that has just settled against every settled grant
// that it can have met. Of two grants, the one that settles later sees the other.
func (s *Sweep) judgeHolds(g *grant) {
	if !s.rules.exclusive {
		if s.rules.asks(&mutualExclusion) {
			s.judgePermits(g)
		}
		return
	}
	settled := &s.book.keyOf(g).settled
	for i := settled.to - 1; i >= settled.from && settled.at(i).meets(g, s.rules.tokens); i-- {
		entry := settled.at(i)
		if x := entry.g; s.rules.owns(x, g) {
			i -= entry.run // its levels, which may be many
		} else if x.bound() >= g.begin {
			s.judgePair(x, g)
			s.judgeContinuity(x, g)
		}
	}
}

// judgePair has two grants of an exclusive lock decided if they can conflict at all.
func (s *Sweep) judgePair(x, y *grant) {
	if s.rules.mayConflict(x, y) {
		s.findings.putOff(s.book.now, func() { s.decidePair(x, y) }, x, y)
	}
}

// mayConflict reports whether two grants conflict by what is cheap to see: it
// looks at no fault, and takes the wider reading of the tokens, since whatever
// conflicts by time conflicts by token too.
func (r *rules) mayConflict(x, y *grant) bool {
	if r.owns(x, y) || readers(x, y) {
		return false
	}
	if overlap(x, y, r.tokens) {
		return true
	}
	a, b := inOrder(x, y, r.tokens)
	return x.client != y.client && b.end < a.limit() && (later(b, a, r.tokens) || mayFollow(b, a) || a.end < b.limit())
}

// hastenBegin moves the begin of a hold forward to t, the end of an acquire with a greater
// token. A hold that was judged already is judged again against those whom it meets only now.
func (s *Sweep) hastenBegin(g *grant, t int64) {
	old := g.begin
	if t >= old {
		return
	}
	if g.mode == history.ModeWrite {
		defer func() { s.hastenReaders(g) }()
	}
	if !g.settled {
		g.begin = t
		s.book.keyOf(g).open.starts(g)
		return
	}
	for x := range s.book.keyOf(g).settled.newest(func(entry *settledEntry) bool { return entry.bound > t }) {
		g.begin = old
		if x != g && !s.rules.mayConflict(x, g) {
			g.begin = t
			s.judgePair(x, g)
		}
	}
	g.begin = t
}

// hastenReaders moves forward the begins of readers whose tokens are smaller than
// that of a writer whose begin was. A reader whose token is greater than both
// says so of the writer alone, since readers' tokens tell nothing of each other.
func (s *Sweep) hastenReaders(w *grant) {
	k := s.book.keyOf(w)
	hasten := func(x *grant) {
		if x.mode == history.ModeRead && x.token.Given() && x.token < w.token {
			s.compareOrdered(x, w)
		}
	}
	for x := range k.settled.newest(func(entry *settledEntry) bool { return entry.bound > w.begin }) {
		hasten(x)
	}
	for x := range k.open.all {
		hasten(x)
	}
}

// inOrder returns two grants with the later one second; where the order is
// unknown, by the ends of their acquires.
func inOrder(x, y *grant, tokens bool) (a, b *grant) {
	switch {
	case later(y, x, tokens):
		return x, y
	case later(x, y, tokens):
		return y, x
	case y.end < x.end || y.end == x.end && y.id < x.id:
		return y, x
	}
	return x, y
}

// decidePair decides whether two grants exclude each other, and records it if they do not.
func (s *Sweep) decidePair(x, y *grant) {
	if s.rules.asks(&stolenRelease) {
		s.judgeStolen(x, y)
	}
	plain := s.explanations.pairJudgement(x, y, false)
	trusting := plain
	if s.rules.tokens {
		trusting = s.explanations.pairJudgement(x, y, true)
	}
	for reading, j := range [2]judgement{plain, trusting} {
		if j.stands() {
			a, _ := inOrder(x, y, reading == 1)
			s.findings.noteOverlapped(a, reading)
		}
	}
	s.findings.record(&mutualExclusion, s.book.keyOf(x), plain, trusting, func(j judgement) *Violation {
		return s.tellPair(x, y, j, j != plain)
	})
}

// pairJudgement judges two grants under one reading of the key's tokens.
func (ex *explanations) pairJudgement(x, y *grant, tokens bool) judgement {
	a, b := inOrder(x, y, tokens)
	known := ex.grantedAfter(b, a, tokens)
	broken := ex.inPromise(b, a) && (known || ex.inPromise(a, b))
	if ex.book.uncertainPromises(a, b) {
		broken = false
	}
	both := overlap(a, b, tokens)
	if !broken && !both {
		return judgement{}
	}
	j := judgement{violated: true, unordered: !known, severity: severityOf(tokens, a, b),
		pattern: ex.pairPattern(a, b, 0, tokens)}
	j.kind, j.stallOnly = ex.explain(a, b, a.last)
	if !known {
		ex.judgeEitherOrder(&j, a, b)
	}
	if j.kind == KindGrantedDead {
		j.unordered = false // whichever was later, it is the dead one that should not be
	}
	return j
}

// severityOf is the severity of a double-hold.
func severityOf(tokens bool, grants ...*grant) Severity {
	severity := Untested
	for _, g := range grants {
		switch {
		case g.corrupt || tokens && g.corruptByToken:
			return Corrupting
		case g.refused:
			severity = Contained
		}
	}
	return severity
}

// tellPair tells of a double-hold of an exclusive lock.
func (s *Sweep) tellPair(x, y *grant, j judgement, tokens bool) *Violation {
	a, b := inOrder(x, y, tokens)
	v := &Violation{Property: MutualExclusion, Kind: j.kind, Severity: j.severity, Key: s.book.nameOf(x), A: a.ref(),
		B: b.ref(), Unordered: j.unordered, Assumed: j.assumed}
	var proof evidence
	proof.addGrant(a, b.end)
	proof.addGrant(b, b.end)
	until := max(b.end, min(a.last, b.last))
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(until, a, b)
	both := overlap(a, b, tokens)
	if both {
		v.From, v.To = b.beginning(tokens), min(a.last, b.last)
		if v.To < v.From { // one of them is of no length, and its instant is not known better
			v.From, v.To = v.To, v.From
		}
		v.Text = fmt.Sprintf("%s and %s both held %s from %s to %s", clientName(a), clientName(b), v.Key, seconds(v.From),
			seconds(v.To))
	} else {
		v.From, v.To = max(a.end, b.end), min(a.limit(), b.limit())
		if v.To == forever || v.To < v.From {
			v.To = v.From
		}
		v.Text = fmt.Sprintf("%s was granted %s at %s", clientName(b), v.Key, seconds(b.end))
		if j.unordered || j.kind == KindGrantedDead {
			v.Text = fmt.Sprintf("%s and %s were granted %s at %s and %s", clientName(a), clientName(b), v.Key, seconds(a.end),
				seconds(b.end))
		}
	}
	v.At = v.From
	if j.kind == KindGrantedDead && !a.dead {
		v.A, v.B = v.B, v.A // A is the one that should not be
	}
	if j.swapped {
		a, b, v.A, v.B = b, a, v.B, v.A
	}
	if v.Text += s.explanations.because(a, b, j, both) + j.packets; j.unordered {
		v.Text += s.explanations.inEitherOrder(a, b, j)
	}
	v.Text += "."
	return v
}

// because tells why there were two holders, of whom b was granted the key later.
func (ex *explanations) because(a, b *grant, j judgement, both bool) string {
	if j.unordered {
		return ""
	}
	switch j.kind {
	case KindSameIdentity, KindConfiguredIdentity:
		return ex.tookForOwn(a, b)
	case KindGrantedWhileValid:
		until := "until it gave the lock up"
		if a.promise != forever {
			until = "until " + seconds(a.promise)
		}
		if !both {
			return fmt.Sprintf(", although the lock had promised it to %s %s", clientName(a), until)
		}
		return fmt.Sprintf(": client %d was granted it at %s, although the lock had promised it to client %d %s",
			b.client, seconds(b.end), a.client, until)
	case KindGrantedDead:
		if !a.dead {
			a = b
		}
		return fmt.Sprintf(": when the lock granted it to client %d, at %s, that grant was over already", a.client,
			seconds(a.end))
	case KindLateNotice:
		return ex.toldLate(a, b)
	case KindLossIgnored:
		return fmt.Sprintf(": client %d was told of the loss at %s and went on as holder, with what it asked for after %s",
			a.client, seconds(a.news), seconds(a.news+ex.rules.reaction()))
	case KindLeaseOverrun:
		return ex.overran(a, b, j.pattern)
	}
	return ""
}

// toldLate tells for how long a client went on although its lock should have told it of the loss.
func (ex *explanations) toldLate(a, b *grant) string {
	since, grace := ex.noticeable(a, b), seconds(ex.rules.Claims.LostGrace)
	on := seconds(a.untold - since)
	if since < max(b.end, ex.faults.lastDisturbance(a.client, a.untold)) {
		return fmt.Sprintf(": client %d went on for %s when its lease was over by its own clock as well, and the lock, which declares to notice a loss by that clock "+
			"within %s, cut off or not, had told it nothing", a.client, on, grace)
	}
	return fmt.Sprintf(": client %d went on undisturbed for %s after client %d was granted it, and the lock, which declares to tell a loss within %s, had told it nothing",
		a.client, on, b.client, grace)
}

// overran tells how a client outlived its lease, which ended before b was granted the key.
func (ex *explanations) overran(a, b *grant, pattern string) string {
	plight := ex.faults.plight(a, a.last)
	lease := fmt.Sprintf("its lease of %s", seconds(ex.rules.TTL))
	switch {
	case ex.rules.Claims.Validity == validitySession && b.end-a.earliest < ex.rules.TTL:
		lease = "its session, which was over before its TTL,"
	case ex.rules.Claims.Validity == validitySession:
		lease = fmt.Sprintf("its session TTL of %s", seconds(ex.rules.TTL))
	case ex.rules.Claims.Validity == validityLibrary && a.timed(): // mostly less than the TTL
		lease = fmt.Sprintf("its lease, which its library called good until %s,", seconds(a.promise+promiseMargin))
	}
	switch {
	case a.told != 0 && a.told < a.last && ex.rules.deaf():
		return fmt.Sprintf(": client %d outlived %s and went on as holder; it was told of the loss at %s, and its application does not listen (guard none)",
			a.client, lease, seconds(a.told))
	case a.told != 0 && a.told < a.last:
		return fmt.Sprintf(": client %d was told of the loss at %s and went on as holder", a.client, seconds(a.told))
	case pattern == PatternStoreAway:
		return fmt.Sprintf(": client %d waited for the store, outlived %s and went on as holder", a.client, lease)
	case pattern == PatternWorkedPast:
		return fmt.Sprintf(": client %d worked for longer than %s and went on as holder", a.client, lease)
	case plight != "":
		return fmt.Sprintf(": client %d %s, outlived %s and went on as holder", a.client, plight, lease)
	}
	return fmt.Sprintf(": client %d outlived %s and went on as holder", a.client, lease)
}
