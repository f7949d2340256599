package checker

// pageTable finds what is still open by its number. Op numbers mostly count up,
// so it has a page for so many numbers in a row: a look-up is an index into a
// page that was mostly met lately, and a new number moves no other one. A judge
// does several look-ups an event, and a hash table costs it many times as much.
type pageTable struct {
	lately [pagesLately]*page // those met last, by number
	pages  map[uint64]*page   // the others that are not empty
	spare  []*page            // those that are empty, at most pagesLately
}

const (
	pageSize    = 32
	pagesLately = 64
)

// page has what is open of pageSize numbers in a row: the ops, and the grants of the acquires.
type page struct {
	number        uint64
	nops, ngrants int // how many it has
	ops           [pageSize]*op
	grants        [pageSize]*grant
}

// nothing is the page of the numbers that are nowhere. No number is on it.
var nothing = &page{number: 1 << 63}

func newPageTable() pageTable {
	d := pageTable{pages: map[uint64]*page{}}
	for i := range d.lately {
		d.lately[i] = nothing
	}
	return d
}

// pageOf is the number of the page that has an op's or a grant's number.
func pageOf(key int64) uint64 { return uint64(key) / pageSize }

// page returns a page; if there is none of that number, one that has nothing.
func (d *pageTable) page(number uint64) *page {
	if p := d.lately[number%pagesLately]; p.number == number {
		return p
	}
	return d.lookUp(number)
}

// lookUp is page of one that was not met lately.
//
//go:noinline
func (d *pageTable) lookUp(number uint64) *page {
	p := d.pages[number]
	if p == nil {
		return nothing
	}
	delete(d.pages, number)
	d.meet(p)
	return p
}

// op returns the op of a number on the page, or nil.
func (p *page) op(key int64) *op { return p.ops[uint64(key)%pageSize] }

// grant returns the grant of a number on the page, or nil.
func (p *page) grant(key int64) *grant { return p.grants[uint64(key)%pageSize] }

// meet makes a page one of those that were met lately. The one that makes room
// for it is put away.
func (d *pageTable) meet(p *page) {
	place := &d.lately[p.number%pagesLately]
	if old := *place; old != nothing {
		d.pages[old.number] = old
	}
	*place = p
}

// newPage adds a page.
func (d *pageTable) newPage(number uint64) *page {
	var p *page
	if n := len(d.spare); n > 0 {
		p, d.spare = d.spare[n-1], d.spare[:n-1]
	} else {
		p = &page{}
	}
	p.number = number
	d.meet(p)
	return p
}

// vacate takes away a page that was met lately, if it is empty. The next new page is made of it,
// and not of one that was emptied long ago: the processor still has it in its cache.
func (d *pageTable) vacate(p *page) {
	if p.nops+p.ngrants > 0 {
		return
	}
	d.lately[p.number%pagesLately] = nothing
	if len(d.spare) < pagesLately {
		d.spare = append(d.spare, p)
	}
}

// open adds an op to its page, which has none of that number.
func (p *page) open(o *op) {
	p.ops[uint64(o.id)%pageSize] = o
	p.nops++
}

// close removes an op.
func (d *pageTable) close(o *op) {
	p := d.page(pageOf(o.id))
	p.ops[uint64(o.id)%pageSize] = nil
	p.nops--
	d.vacate(p)
}

// hold adds a grant to the page of its acquire, and reports whether there was
// none of that number before.
func (p *page) hold(g *grant) bool {
	if p.grant(g.id) != nil {
		return false
	}
	p.grants[uint64(g.id)%pageSize] = g
	p.ngrants++
	return true
}

// drop removes a grant.
func (d *pageTable) drop(g *grant) {
	p := d.page(pageOf(g.id))
	p.grants[uint64(g.id)%pageSize] = nil
	p.ngrants--
	d.vacate(p)
}

// each calls f for every page, in no particular order: use it only for what
// does not depend on order.
func (d *pageTable) each(f func(*page)) {
	for _, p := range d.lately {
		f(p)
	}
	for _, p := range d.pages {
		f(p)
	}
}

// each calls f for every op on the page.
func (p *page) each(f func(*op)) {
	if p.nops == 0 {
		return
	}
	for _, o := range p.ops {
		if o != nil {
			f(o)
		}
	}
}
