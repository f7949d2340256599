// # duplicate-effect
//
// Judged for workloads payment and leader only, with any lock or none. In payment a key is an
// order, and every accepted write charges it. In leader an accepted write of a value is the tick
// of that number. Violated if, of the ledger's accepted writes, a second one charges an order
// again, or runs a tick again. The same request applied twice is the store's doing. Kinds are as of
// an unfenced write.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// DuplicateEffect names the property duplicate-effect: what must be done once is done once.
const DuplicateEffect = "duplicate-effect"

// duplicateEffect reads, beside rules and findings: book, explanations, faults.
var duplicateEffect = Property{
	Name:  DuplicateEffect,
	kinds: []string{KindStale, KindInFlight},
	About: "What must be done once is done once: no order is charged twice, no tick runs twice.",
	blame: Harm,
	exempt: func(h *history.Header) string {
		switch {
		case h.Workload != workloadPayment && h.Workload != workloadLeader:
			return fmt.Sprintf("It is about work that must be done once, and the workload is not %s or %s.",
				workloadPayment, workloadLeader)
		case noLock(h) != "":
			return "" // that an effect is repeated needs no lock
		}
		return notExclusive(h)
	},
	unmet: noStore,
	short: (*Sweep).ledgerShort,
	Words: Words{
		Violation: "repeated effect",
		Demands:   "What must be done once is done once: no order is charged twice, no tick runs twice.",
		Lead:      "Make the effect itself repeatable.",
		Advice: "A lock with a lease makes it rare that work is done twice; it cannot exclude it. Give every " +
			"order or tick a key of its own that whoever carries it out refuses the second time (an " +
			"idempotency key, a unique row, a write on condition of the version).",
		Weight: 9,
	},
}

// The workloads whose effects must not be repeated.
const (
	workloadPayment = "payment"
	workloadLeader  = "leader"
)

// effect is the first write that did something.
type effect struct {
	writer
	o *op // nil: it was forgotten before the ledger had it
}

// judgeEffect judges an accepted write. What was done is remembered to the end:
// one entry an order, or a tick.
func (s *Sweep) judgeEffect(k *keyState, w writer, o *op, e *history.Event) {
	what := int64(0)
	if s.rules.Workload == workloadLeader {
		what = e.Value
	}
	if k.effects == nil {
		k.effects = map[int64]effect{}
	}
	first, done := k.effects[what]
	if !done {
		pin(w.g)
		if o != nil {
			o.pinned = true
		}
		k.effects[what] = effect{w, o}
		return
	}
	if first.op == w.op || w.again {
		return
	}
	if o != nil {
		o.pinned = true
	}
	w.g.corrupt = true
	second := effect{w, o}
	s.findings.putOff(s.book.now, func() {
		plain := s.explanations.repeated(first, second, false)
		trusting := plain
		// tokens of two locks tell nothing of each other
		if s.rules.tokens && s.rules.exclude(first.g, second.g) {
			trusting = s.explanations.repeated(first, second, true)
		}
		s.findings.record(&duplicateEffect, s.book.keyOf(second.g), plain, trusting,
			func(j judgement) *Violation { return s.tellRepeated(k, first, second, what, j, j != plain) })
	}, first.g, w.g)
}

// inTurn returns two effects with that of the later grant second.
func inTurn(x, y effect, tokens bool) (a, b effect) {
	if early, _ := inOrder(x.g, y.g, tokens); early == x.g {
		return x, y
	}
	return y, x
}

func (ex *explanations) repeated(first, second effect, tokens bool) judgement {
	j := judgement{violated: true, severity: Corrupting}
	a, b := inTurn(first, second, tokens)
	if ex.rules.exclusive && a.g != b.g && later(b.g, a.g, tokens) {
		var begun int64
		j.kind, begun = writeKind(a.writer, a.o, b.g)
		j.stallOnly = ex.rules.exclude(a.g, b.g) && ex.stallExplains(a.g, b.g, a.at)
		j.pattern = ex.writePattern(a.g, b.g, j.kind, begun, tokens)
	} else if ex.rules.exclusive {
		j.pattern = PatternUnexplained
	}
	if a.g != b.g && ex.rules.exclude(a.g, b.g) && (j.pattern == PatternUnexplained || ex.inPromise(b.g, a.g)) {
		// two held the key, so both did the work
		if pair := ex.pairJudgement(a.g, b.g, tokens); pair.violated {
			j.pattern = pair.pattern
		}
	}
	return j
}

func (s *Sweep) tellRepeated(k *keyState, first, second effect, what int64, j judgement, tokens bool) *Violation {
	a, b := inTurn(first, second, tokens)
	v := &Violation{Property: DuplicateEffect, Kind: j.kind, Severity: Corrupting, Key: s.rules.name(k), At: second.at,
		From: first.at, To: second.at, A: a.g.ref(), B: b.g.ref()}
	var proof evidence
	for _, x := range [2]effect{first, second} {
		proof.add(x.g.id, x.g.start)
		proof.add(x.op, x.at)
	}
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(second.at, a.g, b.g)
	done := fmt.Sprintf("order %s was charged twice", v.Key)
	if s.rules.Workload == workloadLeader {
		done = fmt.Sprintf("tick %d of %s ran twice", what, v.Key)
	}
	v.Text = fmt.Sprintf("%s: by %s at %s and by %s at %s", done, clientName(first.g), seconds(first.at), clientName(second.g),
		seconds(second.at))
	switch _, begun := writeKind(a.writer, a.o, b.g); j.kind {
	case KindStale:
		v.Text += fmt.Sprintf("; client %d began its write at %s, when client %d had been granted the lock at %s",
			a.g.client, seconds(begun), b.g.client,
			seconds(b.g.end))
	case KindInFlight:
		v.Text += fmt.Sprintf("; client %d had sent its write at %s, before client %d was granted the lock at %s",
			a.g.client, seconds(begun), b.g.client, seconds(b.g.end))
	}
	v.Text += "."
	return v
}
