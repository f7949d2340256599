package checker

import "github.com/lockchaos/lockchaos/history"

// Records of grants and ops are used again. A judge that makes a new record for
// each leaves a third of its time to the garbage collector.
//
// An op's record is free as soon as the op is finished. A grant's is free when
// it is forgotten and none of a key's summaries (keep) points to it. What a
// finding looks at, or what may become one, is pinned: it is left to the
// garbage collector, since to follow who still needs it would cost every grant.

// recordBlock is how many records are allocated at once.
const recordBlock = 16

// newOp returns a record for an invocation; nil if an op of that number is still open.
func (s *Sweep) newOp(e *history.Event) *op {
	p := s.numbers.page(pageOf(e.Op))
	if p == nothing {
		p = s.numbers.newPage(pageOf(e.Op))
	}
	if p.op(e.Op) != nil {
		return nil
	}
	if s.spareOps == nil {
		block := make([]op, recordBlock)
		for i := range block {
			s.spare(&block[i])
		}
	}
	o := s.spareOps
	s.spareOps, o.next = o.next, nil
	// Field by field: the pointers are nil already (see free and dequeue), and
	// to clear all of it takes a tenth of the time of judging.
	o.id, o.inv, o.kind, o.key, o.client, o.process = e.Op, e.Time, e.Kind, e.Key, e.Client, e.Process
	o.start, o.base, o.baseOp, o.before, o.told, o.mode, o.takes = 0, noBase, 0, 0, 0, e.Mode, max(e.Permits, 1)
	o.set, o.members = e.Set, 0
	// outside and definite, and of reads and writes reaches, are set before anybody asks
	o.done, o.ledgered = false, false
	p.open(o)
	return o
}

// spare notes that an op's record is in no use.
func (s *Sweep) spare(o *op) { o.next, s.spareOps = s.spareOps, o }

// free forgets an op.
func (s *Sweep) free(o *op) {
	s.numbers.close(o)
	if o.pinned {
		return
	}
	if s.retire != nil {
		s.retire(nil, o)
		return
	}
	o.grant, o.slept = nil, nil
	s.spare(o)
}

// newGrant returns an empty record for a grant.
func (s *Sweep) newGrant() *grant {
	if n := len(s.spareGrants); n > 0 {
		g := s.spareGrants[n-1]
		s.spareGrants = s.spareGrants[:n-1]
		*g = grant{}
		return g
	}
	if len(s.freshGrants) == 0 {
		s.freshGrants = make([]grant, recordBlock)
	}
	g := &s.freshGrants[0] // nothing to clear: memory that is touched for the first time is dear
	s.freshGrants = s.freshGrants[1:]
	return g
}

// forget drops a grant: nobody finds it by its number any more.
func (s *Sweep) forget(g *grant) {
	s.numbers.drop(g)
	s.live--
	g.forgotten = true
	if g.kept == 0 {
		s.reuse(g)
	}
}

// keep has one of a key's summaries point to a grant, which outlasts being forgotten for it.
func (s *Sweep) keep(slot **grant, g *grant) {
	old := *slot
	if old == g {
		return
	}
	if g != nil {
		g.kept++
	}
	*slot = g
	s.letGo(old)
}

// keepWriter has one of them point to a writer.
func (s *Sweep) keepWriter(slot *writer, w writer) {
	s.keep(&slot.g, w.g)
	slot.op, slot.version, slot.at, slot.again = w.op, w.version, w.at, w.again
}

// letGo notes that one of a key's summaries does not point to a grant any more.
// There may have been none that it pointed to.
func (s *Sweep) letGo(g *grant) {
	if g == nil {
		return
	}
	if g.kept--; g.kept == 0 && g.forgotten {
		s.reuse(g)
	}
}

// reuse takes back the record of a grant that nothing points to any more.
func (s *Sweep) reuse(g *grant) {
	if g.several {
		delete(s.footprints, g)
	}
	if g.pinned {
		return
	}
	if s.retire != nil {
		s.retire(g, nil)
	} else {
		s.spareGrants = append(s.spareGrants, g)
	}
}

// pin keeps the records of grants that a finding looks at.
func pin(grants ...*grant) {
	for _, g := range grants {
		g.pinned = true
	}
}
