package checker

// The property lost-update: no other hold's write stands between the version that a hold last read before its write, and that write.
// A hold's own writes, a request that the store applied twice, and a write without a read before it lose nothing.

// checkBase judges an accepted write whose hold had read before: w is the write, o its op. The ledger's first entry of an op counts, a
// second one is a duplicate.
func (s *Sweep) checkBase(k *keyState, w writer, o *op) {
	other := k.ledger.run
	if other.g == w.g {
		other = k.ledger.before
	}
	if other.g == nil || other.version <= o.base {
		return
	}
	g := w.g
	g.corrupt, g.corruptByToken = true, true
	base, baseOp := o.base, o.baseOp
	s.putOff(min(g.earliest, other.g.earliest), func() {
		j := judgement{violated: true, severity: Corrupting}
		a, b := inOrder(g, other.g, s.tokens)
		j.stallOnly = s.stallExplains(a, b, w.at)
		s.record(lostUpdate, k, j, j, func(judgement) *Violation { return s.tellLost(k, w, other, base, baseOp) })
	})
}
