package checker

// Semaphores: a key with N permits. A violation is counted once for each hold that was one too many where it began, or grant that was
// made inside the promises of N earlier ones.

// judgeCrowd judges the holds of a semaphore around a grant that has just settled.
func (s *Sweep) judgeCrowd(g *grant) {
	near := []*grant{g}
	entries := g.key.past.live()
	for i := len(entries) - 1; i >= 0 && entries[i].bound >= g.begin; i-- {
		if x := entries[i].g; x.bound() >= g.begin && !(s.reentrant && x.client == g.client) {
			near = append(near, x)
		}
	}
	for _, b := range near {
		if b.crowded {
			continue
		}
		if others := s.beside(b, near); len(others) >= s.permits || s.promisedBeside(b, near) != nil {
			b.crowded = true
			s.putOff(b.earliest, func() { s.decideCrowd(b, near) })
		}
	}
}

// beside returns the holds among near that go on at the instant at which b begins.
func (s *Sweep) beside(b *grant, near []*grant) []*grant {
	var others []*grant
	for _, x := range near {
		if x == b || !overlap(x, b, false) {
			continue
		}
		if x.end < b.end || x.end == b.end && (x.last > b.end) {
			others = append(others, x)
		}
	}
	return others
}

// promisedBeside returns N grants inside whose promises b was granted, if there are so many.
func (s *Sweep) promisedBeside(b *grant, near []*grant) []*grant {
	var others []*grant
	for _, x := range near {
		if x != b && s.rightlyExcludes(x, b) && s.agrees(x, b, others) {
			others = append(others, x)
		}
	}
	if len(others) < s.permits {
		return nil
	}
	return others
}

// rightlyExcludes tells whether x and b can't both have been granted without one inside the other's promise, b not being the earlier.
func (s *Sweep) rightlyExcludes(x, b *grant) bool {
	if later(x, b, false) {
		return false
	}
	return s.inPromise(b, x) && (later(b, x, false) || s.inPromise(x, b))
}

// agrees tells whether x belongs with the others that are counted against b: if all are certainly earlier than b, whatever order they
// have; else only if any two of them exclude each other, so that the last of them all, whichever it is, was one too many.
func (s *Sweep) agrees(x, b *grant, others []*grant) bool {
	for _, o := range others {
		if later(b, x, false) && later(b, o, false) {
			continue
		}
		if !s.rightlyExcludes(x, o) && !s.rightlyExcludes(o, x) {
			return false
		}
	}
	return true
}

// decideCrowd records a hold that was one too many.
func (s *Sweep) decideCrowd(b *grant, near []*grant) {
	others, promised := s.beside(b, near), s.promisedBeside(b, near)
	if len(others) < s.permits && (promised == nil || s.cut) {
		return
	}
	j := judgement{violated: true, kind: KindUnexplained}
	if promised != nil {
		j.kind = KindGrantedWhileValid
	} else {
		s.explainCrowd(&j, b, others)
	}
	if len(others) < s.permits {
		others = promised
	}
	j.severity = s.harm(false, append([]*grant{b}, others...)...)
	s.record(mutualExclusion, b.key, j, j, func(j judgement) *Violation { return s.tellCrowd(b, others, j) })
}

// explainCrowd finds the first kind that explains one of the holds beside b.
func (s *Sweep) explainCrowd(j *judgement, b *grant, others []*grant) {
	for _, kind := range [...]string{KindLateNotice, KindLeaseOverrun} {
		for _, a := range others {
			got, stall := s.explain(a, b, a.last)
			if got == kind && later(b, a, false) {
				j.kind, j.stallOnly = kind, stall
				return
			}
		}
	}
}
