package checker

// The property lost-update: no other hold's write stands between the version that a hold last read before its write, and that write.
// A hold's own writes, a request that the store applied twice, a write without a read before it, and one that the store made itself from what
// it replaced lose nothing. It is judged without a lock too: there a hold is what a client did between its acquire and its release, and nothing
// excuses what it lost.

// judgeBase judges an accepted write whose hold had read before: w is the write, o its op. The ledger's first entry of an op counts, a
// second one is a duplicate.
func (s *Sweep) judgeBase(k *keyState, w writer, o *op) {
	if o == nil || o.ledgered || o.base == noBase || !s.asks[lostUpdate] {
		return
	}
	last := k.ledger.whoever()
	other := s.besides(w.g, last.run, last.before)
	if other.version <= o.base { // or there is none
		return
	}
	g := w.g
	g.corrupt = true
	base, baseOp := o.base, o.baseOp
	pin(g, other.g)
	s.putOff(min(g.earliest, other.g.earliest), func() {
		j := judgement{violated: true, severity: Corrupting}
		switch {
		case s.exclude(g, other.g):
			a, b := inOrder(g, other.g, s.tokens)
			did := w.at
			if a == other.g { // the earlier grant's late write slipped in between; what became of its client after that explains nothing
				did = other.at
			}
			j.stallOnly, j.pattern = s.stallExplains(a, b, did), s.lostPattern(a, b, w, other)
		case s.exclusive: // two locks, which keep nobody apart
			j.pattern = PatternUnexplained
		}
		s.record(lostUpdate, k, j, j, func(judgement) *Violation { return s.tellLost(k, w, other, base, baseOp) })
	})
}
