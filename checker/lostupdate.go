// # lost-update
//
// Violated if another hold's write stands between the version that a hold last read before its
// write, and that write.
//
// "Version read is not the version replaced" would accuse a hold of its own writes: read 1, write
// 2, write 3. A write without a read before it loses nothing, nor does one that the store made
// itself from what it replaced.
//
// It is judged without a lock, too. There a hold is what a client did between its acquire and its
// release, and nothing excuses what it lost.
//
// A request that the store takes a second time is made from what its hold wrote last. "The store's
// doing, and no loss" would pass A.write v35, B.write v41, A's same request again as v42: B's is
// lost.
//
// Where a client released its grant, and the ledger then took what it had written in a transaction,
// the lost update is of the kind released-before-commit. The order of release and commit is decided
// by the store's stamp and the start of the release.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// LostUpdate names the property lost-update: no write replaces one that its hold has not read.
const LostUpdate = "lost-update"

// lostUpdate reads, beside rules and findings: explanations, faults.
var lostUpdate = Property{
	Name:  LostUpdate,
	kinds: []string{KindReleasedBeforeCommit},
	About: "No accepted write replaces a version that its holder had not read.",
	needs: []string{history.FactVersions},
	blame: Harm,

	byEarlier: true,
	exempt: func(h *history.Header) string {
		if h.Claims.Job != "" && h.Claims.Overlap {
			return "This scheduler declares that executions may overlap, so it keeps none from writing over another."
		}
		if noLock(h) != "" {
			return "" // that an update is lost needs no lock
		}
		return notExclusive(h)
	},
	unmet: noStore,
	short: (*Sweep).ledgerShort,
	Words: Words{
		Violation: "lost update",
		Demands:   "A write replaces the version that its client has read, never one it has not seen.",
		Weight:    9,
	},
}

// baseOf is the version that write w was made from, and the read that returned
// it; noBase: it was made from none, or from what it replaced.
func baseOf(w writer, o *op, f *footprint, atomic bool) (base, baseOp int64) {
	switch {
	case atomic:
	case w.again && f.wrote:
		return f.wroteLast, 0
	case !w.again && o != nil:
		return o.base, o.baseOp
	}
	return noBase, 0
}

// judgeBase judges an accepted write that was made from an older version.
func (s *Sweep) judgeBase(k *keyState, w writer, base, baseOp int64) {
	last := k.ledger.lastUnderAny()
	found := s.rules.firstOther(w.g, &last.run, &last.before)
	if found.version <= base { // or there is none
		return
	}
	g, other := w.g, *found
	g.corrupt = true
	pin(g, other.g)
	s.findings.putOff(min(g.earliest, other.g.earliest), func() {
		j := judgement{violated: true, severity: Corrupting}
		switch {
		case s.rules.exclude(g, other.g):
			a, b := inOrder(g, other.g, s.rules.tokens)
			late := w
			// the earlier grant's late write slipped in between; what became of
			// its client after that explains nothing
			if a == other.g {
				late = other
			}
			if j.kind = s.rules.commitKind(late); j.kind != "" {
				j.pattern = PatternReleasedBeforeCommit
				break // no lease and no stall has a part in it
			}
			j.pattern = s.explanations.lostPattern(a, b, w, other)
			j.stallOnly = !(a == g && w.late(j.pattern)) && s.explanations.stallExplains(a, b, late.at)
		case s.rules.exclusive: // two locks, which keep nobody apart
			j.pattern = PatternUnexplained
		}
		s.findings.record(&lostUpdate, k, j, j, func(judgement) *Violation {
			return s.tellLost(k, w, other, base, baseOp, j.kind)
		})
	})
}

// tellLost tells of a lost update: w replaced what other had written after w's hold read.
func (s *Sweep) tellLost(k *keyState, w, other writer, base, baseOp int64, kind string) *Violation {
	a, b := w.g, other.g
	v := &Violation{Property: LostUpdate, Kind: kind, Severity: Corrupting, Key: s.rules.name(k), At: w.at, From: other.at,
		To: w.at}
	first, second := inOrder(a, b, s.rules.trusted(k))
	v.A, v.B = first.ref(), second.ref()
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(baseOp, a.start+1)
	proof.add(b.id, b.start)
	proof.add(other.op, other.at)
	proof.add(w.op, w.at)
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(w.at, a, b)
	if w.again {
		v.Text = fmt.Sprintf("the store took a request of %s to %s again, as version %d, over version %d of %s, which is lost.", clientName(a), v.Key, w.version,
			other.version, clientName(b))
		return v
	}
	v.Text = fmt.Sprintf("%s read version %d of %s and wrote version %d over version %d of %s, which it had never seen", clientName(a), base, v.Key,
		w.version, other.version, clientName(b))
	if kind == KindReleasedBeforeCommit {
		v.Text += fmt.Sprintf(": that was committed at %s, after the lock had been released at %s",
			seconds(other.at), seconds(other.g.heldTo))
	}
	v.Text += "."
	return v
}
