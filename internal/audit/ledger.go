package audit

import (
	"cmp"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
)

// queue is the writes of one key in the order in which the store took them.
type queue struct {
	next    int32 // the first that has not been told, plus one; 0: none
	last    int32
	version int64
}

// ledgers puts the writes of each key in order. It tells each one as soon as it
// knows whether the ledger has it.
type ledgers struct {
	t       *tracer
	queues  []queue
	orders  []order            // by key; nil: it has no writes
	links   *spill.List[int32] // by write, the next one of its key plus one; 0: none
	entries int
	tell    func(i int32)
}

func newLedgers(t *tracer, tell func(i int32)) *ledgers {
	keys := len(t.log.Keys.List)
	return &ledgers{t: t, queues: make([]queue, keys), orders: make([]order, keys),
		links: spill.NewList[int32](t.log.room), tell: tell}
}

// entered reports whether a write may be in the ledger.
func (l *log) entered(o *op) bool {
	return l.ledgered && o.Kind == history.Write && o.grant != 0 && (o.Outcome == history.OK || o.Refused)
}

// write takes the next write, in the order of their begins.
func (l *ledgers) write(i int32, o *op) {
	l.links.Trim()
	for l.links.Length <= i {
		l.links.Add(0)
	}
	if l.orders[o.Key] == nil {
		l.orders[o.Key] = l.orderOf(o.Key)
	}
	l.orders[o.Key].write(i, o)
}

// end tells the writes that are left: no more come.
func (l *ledgers) end() {
	for _, o := range l.orders {
		if o != nil {
			o.end()
		}
	}
}

// take appends a write to the ledger of its key.
func (l *ledgers) take(key, i int32) {
	q := &l.queues[key]
	if q.next == 0 {
		q.next = i + 1
	} else {
		*l.links.At(q.last) = i + 1
	}
	q.last = i
	l.entries++
}

// order puts the writes of one key in order. They come in the order of their begins.
type order interface {
	write(i int32, o *op)
	end()
}

// orderOf orders the writes of a key by tokens where all of them have one that can be trusted.
func (l *ledgers) orderOf(key int32) order {
	if l.t.options.Tokens == "fencing" && !l.t.broken[key] && !l.t.tokenless[key] {
		return &mildestOrder{ledgers: l, free: spill.Heap[ranked]{Less: ranked.before},
			ends: spill.Heap[finished]{Less: func(a, b finished) bool { return a.at < b.at }}}
	}
	return &certainOrder{ledgers: l}
}

// reads makes an act of a read. It shows only that its client took itself for
// the holder: no log has reads in the order of the store.
func (o *op) reads() {
	if o.Kind == history.Read && o.act() {
		o.Kind, o.Outcome = history.Renew, history.Fail
	}
}

// certainOrder keeps, without tokens, the writes that are certainly before or behind
// every write of another grant. The others count as acts, and are in doubt.
type certainOrder struct {
	*ledgers
	// ended are those that began before. waiting are those, all of one grant,
	// behind which no write of another grant has come yet.
	ended   lastTwo
	waiting []waiting
}

type waiting struct {
	write, grant int32
	finish       int64
	unsure       bool
}

func (c *certainOrder) write(i int32, o *op) {
	margin := 2 * int64(c.t.options.ClockError)
	w := waiting{i, o.grant, o.finish(), false}
	if before := c.ended.beside(w.grant); before != nil {
		w.unsure = before.finish+margin >= o.begin()
	}
	c.ended.add(w)
	for len(c.waiting) > 0 {
		first := c.waiting[0]
		if near := o.begin() <= first.finish+margin; first.grant != w.grant {
			first.unsure = first.unsure || near
		} else if near {
			break // a later write of another grant may still be as near
		}
		c.waiting = c.waiting[1:]
		c.settle(first)
	}
	c.waiting = append(c.waiting, w)
}

func (c *certainOrder) end() {
	for _, w := range c.waiting {
		c.t.log.ops.Trim()
		c.settle(w)
	}
}

func (c *certainOrder) settle(w waiting) {
	o := c.t.log.ops.At(w.write)
	switch {
	case !w.unsure:
		c.take(o.Key, w.write)
	case o.late:
		o.untold = true
		c.t.unordered++
	default:
		o.Kind, o.Outcome, o.Refused = history.Renew, history.Fail, false
		c.t.unordered++
	}
	c.tell(w.write)
}

// lastTwo are the writes of two different grants that ended last; nil: there is none.
type lastTwo struct{ last, second *waiting }

// beside is the one that ended last of those of another grant.
func (l *lastTwo) beside(grant int32) *waiting {
	if l.last != nil && l.last.grant == grant {
		return l.second
	}
	return l.last
}

func (l *lastTwo) add(o waiting) {
	later := func(than *waiting) bool { return than == nil || o.finish >= than.finish }
	switch {
	case l.last == nil || l.last.grant == o.grant:
		if later(l.last) {
			l.last = &o
		}
	case later(l.last):
		l.last, l.second = &o, l.last
	case later(l.second):
		l.second = &o
	}
}

// mildestOrder orders the writes of a key. Of those that the clocks can't order, the one with the
// smaller token comes first, or else that of the earlier grant. So whatever still stands
// behind a write of a later grant stands there under every reading of the stamps: something
// was certainly before it, with a token at least as great as that of what it stands behind.
type mildestOrder struct {
	*ledgers
	free spill.Heap[ranked]
	ends spill.Heap[finished] // when the free ones ended; those that were taken leave it later
}

// ranked is a write, and what orders writes that the clocks can't order:
// tokens, then the ends of the acquires, then the order of the log.
type ranked struct {
	token        history.Token
	granted      int64
	order, write int32
	key          int32
	taken        *bool
}

func (r ranked) before(o ranked) bool {
	return cmp.Or(cmp.Compare(r.token, o.token), cmp.Compare(r.granted, o.granted), cmp.Compare(r.order, o.order)) < 0
}

// finished is when a write that may be taken ended.
type finished struct {
	at    int64
	taken *bool
}

func (b *mildestOrder) write(i int32, o *op) {
	margin := 2 * int64(b.t.options.ClockError)
	for len(b.ends.Items) > 0 {
		first := b.ends.Items[0]
		if *first.taken {
			b.ends.Pop()
		} else if o.begin() <= first.at+margin {
			break
		} else {
			b.next() // this write, and all that are to come, are certainly behind another one
		}
	}
	a, taken := b.t.log.ops.See(o.grant-1), new(bool)
	b.free.Push(ranked{a.Token, a.finish(), o.order, i, o.Key, taken})
	b.ends.Push(finished{o.finish(), taken})
	b.tell(i)
}

func (b *mildestOrder) next() {
	w := b.free.Pop()
	*w.taken = true
	b.take(w.key, w.write)
}

func (b *mildestOrder) end() {
	for len(b.free.Items) > 0 {
		b.links.Trim()
		b.next()
	}
}
