package checker

import "github.com/lockchaos/lockchaos/history"

// Records of grants and ops are used again. A judge that makes a new record for
// each leaves a third of its time to the garbage collector.
//
// An op's record is free as soon as the op is finished. A grant's is free when
// it is forgotten and none of a key's summaries (keep) points to it. What a
// finding looks at, or what may become one, is pinned: it is left to the
// garbage collector, since to follow who still needs it would cost every grant.

// records are those of all ops and grants that the judge still needs, and those that it uses
// again.
type records struct {
	numbers pageTable // the open ops and the grants, by number
	live    int       // how many grants are remembered
	// footprints are those of holds on other protected keys than the first.
	footprints map[*grant][]*footprint

	spareOps    []*op
	spareGrants []*grant
	freshGrants []grant
	spareBlocks settledBlocks
	retire      func(*grant, *op) // for a test: takes the records that would be used again
}

func newRecords() records {
	return records{numbers: newPageTable(), footprints: map[*grant][]*footprint{}}
}

// So many records are allocated at once: as many as fill one of the runtime's sizes of memory that
// begin with a cache line, 512 and 8,192 bytes.
const (
	opBlock    = 4
	grantBlock = 18
)

// newOp returns a record for an invocation; nil if an op of that number is still open.
func (rec *records) newOp(e *history.Event) *op {
	p := rec.numbers.page(pageOf(e.Op))
	if p == nothing {
		p = rec.numbers.newPage(pageOf(e.Op))
	}
	if p.op(e.Op) != nil {
		return nil
	}
	if len(rec.spareOps) == 0 {
		rec.moreOps()
	}
	last := len(rec.spareOps) - 1
	o := rec.spareOps[last]
	rec.spareOps = rec.spareOps[:last]
	// Field by field, and the second cache line only of ops that need it: to clear all of it takes
	// a tenth of the time of judging. The pointers are nil already (see free and dequeue).
	o.id, o.inv, o.kind, o.key, o.client, o.process = e.Op, e.Time, e.Kind, e.Key, e.Client, e.Process
	o.start, o.mode, o.takes = 0, e.Mode, max(e.Permits, 1)
	// outside and definite, and of reads and writes reaches, are set before anybody asks
	o.done, o.ledgered, o.tentative = false, false, false
	switch e.Kind {
	case history.Read: // no read or write is one of a set
		o.set = 0
	case history.Write:
		o.set, o.base, o.baseOp = 0, noBase, 0
	default:
		o.set, o.members, o.told, o.before = e.Set, 0, 0, 0
	}
	p.open(o)
	return o
}

// moreOps makes records that are in no use.
func (rec *records) moreOps() {
	block := make([]op, opBlock)
	for i := range block {
		rec.spareOps = append(rec.spareOps, &block[i])
	}
}

// free forgets an op.
func (rec *records) free(o *op) {
	rec.numbers.close(o)
	if o.pinned {
		return
	}
	if rec.retire != nil {
		rec.retire(nil, o)
		return
	}
	if o.grant = nil; o.kind == history.Acquire {
		o.slept = nil
	}
	rec.spareOps = append(rec.spareOps, o)
}

// newGrant returns an empty record for a grant.
func (rec *records) newGrant() *grant {
	if n := len(rec.spareGrants); n > 0 {
		g := rec.spareGrants[n-1]
		rec.spareGrants = rec.spareGrants[:n-1]
		*g = grant{}
		return g
	}
	if len(rec.freshGrants) == 0 {
		rec.freshGrants = make([]grant, grantBlock)
	}
	g := &rec.freshGrants[0] // nothing to clear: memory that is touched for the first time is dear
	rec.freshGrants = rec.freshGrants[1:]
	return g
}

// forget drops a grant: nobody finds it by its number any more.
func (rec *records) forget(g *grant) {
	rec.numbers.drop(g)
	rec.live--
	g.forgotten = true
	if g.kept == 0 {
		rec.reuse(g)
	}
}

// keep has one of a key's summaries point to a grant, which outlasts being forgotten for it.
func (rec *records) keep(slot **grant, g *grant) {
	old := *slot
	if old == g {
		return
	}
	if g != nil {
		g.kept++
	}
	*slot = g
	rec.letGo(old)
}

// keepWriter has one of them point to a writer.
func (rec *records) keepWriter(slot *writer, w writer) {
	rec.keep(&slot.g, w.g)
	slot.op, slot.version, slot.at, slot.again = w.op, w.version, w.at, w.again
}

// letGo notes that one of a key's summaries does not point to a grant any more.
// There may have been none that it pointed to.
func (rec *records) letGo(g *grant) {
	if g == nil {
		return
	}
	if g.kept--; g.kept == 0 && g.forgotten {
		rec.reuse(g)
	}
}

// reuse takes back the record of a grant that nothing points to any more.
func (rec *records) reuse(g *grant) {
	if g.several {
		delete(rec.footprints, g)
	}
	if g.pinned {
		return
	}
	if rec.retire != nil {
		rec.retire(g, nil)
	} else {
		rec.spareGrants = append(rec.spareGrants, g)
	}
}

// pin keeps the records of grants that a finding looks at.
func pin(grants ...*grant) {
	for _, g := range grants {
		g.pinned = true
	}
}

// eachOpen calls f for every op that is not finished.
func (rec *records) eachOpen(f func(*op)) {
	rec.numbers.each(func(p *page) { p.each(f) })
}

// keepTop keeps the greatest token of what has left the queue.
func (rec *records) keepTop(kept, top *topToken) {
	if top.g != nil {
		rec.keep(&kept.g, top.g)
		rec.keep(&kept.twin, top.twin)
	}
}
