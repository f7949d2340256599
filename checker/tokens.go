package checker

// The property token-order: fencing tokens rise with the grants. Broken when two clients' grants share one, when a grant that is later by
// time has a smaller one, and when an undisturbed client's acquire returned a smaller one after another's returned a greater.

// orderTokens compares a new grant with the earlier ones of its key, and moves the begins of holds that a greater token bounds.
func (s *Sweep) orderTokens(k *keyState, g *grant) {
	if g.token == 0 {
		return
	}
	s.tokensSeen = true
	first := g.token > k.topToken && g.end >= k.lastEnd
	k.topToken, k.lastEnd = max(k.topToken, g.token), max(k.lastEnd, g.end, g.earliest)
	if first { // by token and by time: it has nothing to do with any other
		return
	}
	for _, x := range k.open {
		if x.token >= g.token || max(x.end, x.earliest) > g.end { // else it came first, and has the smaller token
			s.compareTokens(x, g)
		}
	}
	older := &k.past.gone
	for i := k.past.to - 1; i >= k.past.from; i-- {
		entry := k.past.at(i)
		if entry.latest < g.inv {
			older = entry
			break
		}
		s.compareTokens(entry.g, g)
	}
	// Everything older began and ended before this acquire was invoked: its greatest token stands for all.
	for _, x := range [...]*grant{older.top, older.twin} {
		if x != nil {
			s.compareTokens(x, g)
		}
	}
}

// compareTokens compares two grants of a key; g is the one that completed last.
func (s *Sweep) compareTokens(x, g *grant) {
	if x.token == 0 {
		return
	}
	switch {
	case x.token == g.token:
		if x.client != g.client {
			s.tokenViolation(x, g, "shared")
		}
	case x.token > g.token:
		s.compareOrdered(g, x)
	default:
		s.compareOrdered(x, g)
	}
}

// compareOrdered compares two grants of which the second has the greater token.
func (s *Sweep) compareOrdered(small, great *grant) {
	if small.earliest > great.end {
		s.tokenViolation(great, small, "smaller")
		return
	}
	if great.end < small.end {
		s.hastenBegin(small, great.end)
		if small.client != great.client && !small.tokenOrderBroken && !s.header.Translated {
			s.putOff(small.earliest, func() {
				if !s.disturbed(small.client, small.earliest, small.end, anyFault) && !s.uncertainPromises(small, great) {
					s.tokenViolation(great, small, "overtaken")
				}
			}, small, great)
		}
	}
}

// tokenViolation records that grant b is out of order, beside a; each grant counts once.
func (s *Sweep) tokenViolation(a, b *grant, how string) {
	if !s.asks[tokenOrder] {
		return // when a token was given is not told, so it is taken at its word
	}
	k := s.keyOf(b)
	k.tokenBroken = true
	if b.tokenOrderBroken {
		return
	}
	b.tokenOrderBroken = true
	j := judgement{violated: true, pattern: s.tokenPattern(a, b)}
	s.record(tokenOrder, k, j, j, func(judgement) *Violation { return s.tellToken(a, b, how) })
}
