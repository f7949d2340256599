package checker

// openGrants are a key's grants that may still act, in the order in which they came. There are
// many where many may hold the key at once, and where the ledger comes only at the end. So one
// that leaves moves no other, and nobody looks at all to find where the earliest hold begins.
type openGrants struct {
	list []*grant // by their places (grant.place); nil: it has left
	from int      // the first that has not left
	n    int
	// inOrder: each hold begins no earlier than those of the grants before it. The newest begins at
	// newest. Holds of exclusive locks mostly begin in order, until a token says otherwise.
	inOrder bool
	newest  int64
	// begins is a heap of where their holds begin. It has some that have left.
	// Where they are few, or in order, there is none (heaped).
	begins []begin
	heaped bool
	// several: the key has several permits, so that where their acquires began counts, too.
	several bool
}

// begin is where the hold of an open grant begins, or may be said to begin.
type begin struct {
	at int64
	g  *grant
	id int64 // of the grant: its record may be another's by now
}

// fewOpen is up to how many are looked at one by one.
const fewOpen = 64

// add adds the newest grant.
func (o *openGrants) add(g *grant) {
	if len(o.list) >= 2*o.n+16 {
		o.closeUp()
	}
	g.place = int32(len(o.list))
	o.list = append(o.list, g)
	at := o.startOf(g)
	o.inOrder, o.newest = o.n == 0 || o.inOrder && at >= o.newest, at
	if o.n++; o.heaped {
		o.heap(g)
	}
}

// closeUp gives the room of those that have left to the others.
func (o *openGrants) closeUp() {
	kept := o.list[:0]
	for _, g := range o.list[o.from:] {
		if g != nil {
			g.place = int32(len(kept))
			kept = append(kept, g)
		}
	}
	clear(o.list[len(kept):])
	o.list, o.from = kept, 0
}

// remove takes out a grant. It moves no other one.
func (o *openGrants) remove(g *grant) {
	o.list[g.place] = nil
	if o.n--; o.n == 0 {
		o.list, o.from = o.list[:0], 0
		if o.heaped {
			clear(o.begins)
			o.heaped, o.begins = false, o.begins[:0]
		}
		return
	}
	for o.list[o.from] == nil {
		o.from++
	}
	for o.list[len(o.list)-1] == nil {
		o.list = o.list[:len(o.list)-1]
	}
}

// first returns the oldest; nil: there is none.
func (o *openGrants) first() *grant {
	if o.n == 0 {
		return nil
	}
	return o.list[o.from]
}

// all yields them, oldest first; some may be removed meanwhile.
func (o *openGrants) all(yield func(*grant) bool) {
	for i := o.from; i < len(o.list); i++ {
		if g := o.list[i]; g != nil && !yield(g) {
			return
		}
	}
}

// newestFirst yields them the other way round.
func (o *openGrants) newestFirst(yield func(*grant) bool) {
	for i := len(o.list) - 1; i >= o.from; i-- {
		if g := o.list[i]; g != nil && !yield(g) {
			return
		}
	}
}

// startOf is the first instant that an open grant has anything to do with.
func (o *openGrants) startOf(g *grant) int64 {
	// of three grants of unknown order, two may meet before the third one's acquire has ended
	if o.several {
		return min(g.begin, g.earliest)
	}
	return g.begin
}

// starts notes where a grant's hold begins, which may be earlier than before.
func (o *openGrants) starts(g *grant) {
	if o.inOrder = false; o.heaped {
		o.heap(g)
	}
}

// heap puts a grant into the heap.
func (o *openGrants) heap(g *grant) {
	at := o.startOf(g)
	o.begins = append(o.begins, begin{at, g, g.id})
	i := len(o.begins) - 1
	for up := (i - 1) / 2; i > 0 && o.begins[up].at > at; up = (i - 1) / 2 {
		o.begins[i], o.begins[up] = o.begins[up], o.begins[i]
		i = up
	}
}

// earliest is the first instant at which an open hold may begin; forever if there is none.
func (o *openGrants) earliest() int64 {
	switch {
	case o.n == 0:
		return forever
	case o.inOrder:
		return o.startOf(o.list[o.from])
	case o.heaped:
	case o.n <= fewOpen:
		least := int64(forever)
		for g := range o.all {
			least = min(least, o.startOf(g))
		}
		return least
	default:
		o.heaped = true
		for g := range o.all {
			o.heap(g)
		}
	}
	for len(o.begins) > 0 {
		if top := &o.begins[0]; top.g.id == top.id && !top.g.settled {
			return top.at
		}
		o.drop()
	}
	return forever
}

// drop removes the top of the heap.
func (o *openGrants) drop() {
	last := len(o.begins) - 1
	moved := o.begins[last]
	o.begins[last] = begin{}
	o.begins = o.begins[:last]
	i := 0
	for down := 1; down < last; down = 2*i + 1 {
		if down+1 < last && o.begins[down+1].at < o.begins[down].at {
			down++
		}
		if moved.at <= o.begins[down].at {
			break
		}
		o.begins[i] = o.begins[down]
		i = down
	}
	if last > 0 {
		o.begins[i] = moved
	}
}
