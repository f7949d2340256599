// # stale-read
//
// Judged in workload transaction only, for exclusive locks: there an earlier holder's write may
// reach the ledger after a later holder has read, though nobody outlived a lease. Violated if a
// hold reads a version that is older than one which an earlier grant's write made, whenever the
// ledger took that write. "Older than what the ledger had when it read" would pass this: A.write
// (in its transaction), A.release, B.acquire, B.read v1, A.commit v2. When B read, v1 was the
// newest.
//
// A write in a transaction stands when the ledger has it. Until the commit is answered, or its
// client's process has ended, the grant stays open. A commit that failed, or was never sent, leaves
// nothing: "a write that was answered is in the ledger" would call such a ledger short. A commit is
// an act of its holder unless a release was asked for before: then its client does not take itself
// for a holder any more.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// StaleRead names the property stale-read: a holder reads what all earlier holders wrote.
const StaleRead = "stale-read"

// staleRead reads, beside rules and findings: book, explanations, faults.
var staleRead = Property{
	Name:  StaleRead,
	kinds: []string{KindReleasedBeforeCommit},
	About: "Each holder reads what the transactions of all holders before it wrote.",
	needs: []string{history.FactVersions},
	blame: Harm,

	byEarlier: true,
	exempt: func(h *history.Header) string {
		if h.Workload != history.WorkloadTransaction {
			return fmt.Sprintf("It is about transactions, and the workload is not %s.", history.WorkloadTransaction)
		}
		return notExclusive(h)
	},
	unmet: noStore,
	short: (*Sweep).ledgerShort,
	Words: Words{
		Violation: "stale read",
		Demands:   "A holder sees what every holder before it wrote.",
		Lead:      "Commit before you release.",
		Advice: "The next holder begins when the lock is free, and sees only what is committed by then. " +
			"Commit first, and release when the commit was answered.",
		Weight: 8,
	},
}

// sawVersion is what a hold read in a transaction.
type sawVersion struct {
	g           *grant
	op, version int64
}

// transactions remember what later holders read while earlier ones could still write.
type transactions struct {
	seen map[*grant][]sawVersion // by the earlier grant
}

// judgeSeen judges a read against what earlier grants wrote, and remembers it for those that may
// still write.
func (s *Sweep) judgeSeen(g *grant, o *op, version int64) {
	saw := sawVersion{g: g, op: o.id, version: version}
	k := s.book.keys[o.key]
	if last := k.ledger.run; last.g != nil && last.g != g {
		s.judgeStaleRead(k, saw, last)
	}
	s.book.keyOf(g).open.all(func(x *grant) bool {
		if x != g && later(g, x, s.rules.tokens) {
			pin(g, x)
			s.transactions.seen[x] = append(s.transactions.seen[x], saw)
		}
		return true
	})
}

// judgeUnseen judges a write that was accepted against what later grants had read by then.
func (s *Sweep) judgeUnseen(k *keyState, w writer) {
	for _, saw := range s.transactions.seen[w.g] {
		s.judgeStaleRead(k, saw, w)
	}
}

// judgeStaleRead records that a hold read an older version than an earlier grant's write made.
func (s *Sweep) judgeStaleRead(k *keyState, saw sawVersion, w writer) {
	if saw.version >= w.version || !later(saw.g, w.g, s.rules.tokens) || s.rules.owns(saw.g, w.g) {
		return
	}
	pin(saw.g, w.g)
	s.findings.putOff(min(saw.g.earliest, w.g.earliest), func() { s.decideStaleRead(k, saw, w) }, saw.g, w.g)
}

// decideStaleRead decides it, when the stalls are known that may explain it.
func (s *Sweep) decideStaleRead(k *keyState, saw sawVersion, w writer) {
	judged := func(tokens bool) judgement {
		if !later(saw.g, w.g, tokens) {
			return judgement{}
		}
		j := judgement{violated: true, kind: s.rules.commitKind(w), severity: Untested, pattern: PatternReleasedBeforeCommit}
		if j.kind == "" {
			j.pattern = s.explanations.pairPattern(w.g, saw.g, 0, tokens)
			j.stallOnly = s.explanations.stallExplains(w.g, saw.g, w.at)
		}
		return j
	}
	plain, trusting := judged(false), judged(s.rules.tokens)
	s.findings.record(&staleRead, s.book.keyOf(saw.g), plain, trusting, func(j judgement) *Violation {
		return s.tellStaleRead(k, saw, w, j)
	})
}

// tellStaleRead tells of a read by a later holder that missed an earlier holder's write.
func (s *Sweep) tellStaleRead(k *keyState, saw sawVersion, w writer, j judgement) *Violation {
	a, b := w.g, saw.g
	v := &Violation{Property: StaleRead, Kind: j.kind, Severity: j.severity, Key: s.rules.name(k), At: w.at,
		From: b.end, To: w.at, A: a.ref(), B: b.ref()}
	var proof evidence
	proof.add(a.id, a.start)
	proof.add(w.op, a.start+1)
	proof.add(b.id, b.start)
	proof.add(saw.op, b.end+1)
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(w.at, a, b)
	v.Text = fmt.Sprintf("%s read version %d of %s, and not version %d of %s, which was granted the lock before it",
		clientName(b), saw.version, v.Key, w.version, clientName(a))
	if j.kind == KindReleasedBeforeCommit {
		v.Text += fmt.Sprintf(" and released it at %s, but committed at %s", seconds(a.heldTo), seconds(w.at))
	}
	v.Text += "."
	return v
}

// forgetSeen forgets what was remembered for a grant that can write no more.
func (s *Sweep) forgetSeen(g *grant) {
	if len(s.transactions.seen) > 0 {
		delete(s.transactions.seen, g)
	}
}
