package audit

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// hold is one grant and what its owner did under it.
type hold struct {
	acquire int32 // its op
	use     int32 // the op under it that came last
	release int32 // the release that ended it; -1: none
	key     int32
	token   int64
	last    int64 // the start of the last act
	until   int64 // when its owner gave it up, or was told of its loss; never
	renewed int64 // the start of the last renewal
	// least and most are how deep a reentrant owner certainly, and at most, is in it.
	least, most int32
	ended       bool
	replaced    bool  // its owner was granted the key again
	told        bool  // its owner was told of its loss
	attempted   bool  // a release of unknown fate was sent
	next        int32 // its place in the order when its promise was taken away without a release; 0: it was not
	tried       int64 // when the first one was sent, to a hold that was good until then
	adrift      int32 // an earlier release of its owner that may end it, from 1 like ops; 0: none
	inferred    bool
}

// lane is one owner on one key: its ops in order, and the holds that it has not given up.
type lane struct {
	ops     []int32
	at      int // the place in ops of the op that is looked at
	open    []int32
	holds   []int32
	others  []int32 // acquires without a hold
	pending []int32 // acquires of unknown fate: each may still happen
	adrift  int32   // a release of unknown fate: it may still happen, and end a later hold; -1: none
}

type place struct{ key, owner int32 }

type tokenOn struct {
	key   int32
	token int64
}

// tracer finds out under which grant each op was done.
type tracer struct {
	log     *log
	options Options
	lanes   map[place]*lane
	order   []*lane // in order of their first ops
	holds   []hold
	tokens  map[tokenOn]int32
	highest []int64 // the highest token that was granted, by key
	broken  []bool  // whether the tokens certainly do not rise with the grants, by key
	// idle counts ops that change nothing under no grant, loose the writes, late the grants that are inferred after one with a greater token.
	idle, loose, late int
	granted           int // acquires that were answered ok
	unordered         int // writes that are too close to another grant's
}

// trace gives every op its grant.
func trace(l *log, o Options) *tracer {
	t := &tracer{log: l, options: o, lanes: map[place]*lane{}, highest: make([]int64, len(l.keys.list)),
		broken: make([]bool, len(l.keys.list))}
	if byTime := func(a, b op) int { return cmp.Compare(a.inv, b.inv) }; !slices.IsSortedFunc(l.ops, byTime) {
		slices.SortStableFunc(l.ops, byTime)
	}
	for i := range l.ops {
		o := &l.ops[i]
		if o.order = int32(2*i + 1); o.kind == history.Release && o.outcome == history.TypeNone {
			o.outcome, o.ret = history.Info, o.inv
		}
	}
	told := inOrder(l.ops)
	grants := 0
	for i := range l.ops {
		if l.ops[i].kind == history.Acquire && l.ops[i].outcome == history.OK {
			grants++
		}
	}
	t.holds, t.tokens = make([]hold, 0, grants), make(map[tokenOn]int32, grants)
	for _, i := range told {
		o := &l.ops[i]
		p := place{o.key, o.owner}
		la := t.lanes[p]
		if la == nil {
			la = &lane{adrift: -1}
			t.lanes[p] = la
			t.order = append(t.order, la)
		}
		la.ops = append(la.ops, i)
	}
	for _, i := range told {
		o := &l.ops[i]
		la := t.lanes[place{o.key, o.owner}]
		switch {
		case o.outcome == history.Lost:
			t.told(la, i)
		case o.kind == history.Acquire:
			t.acquired(la, i)
		case o.kind == history.Release:
			t.released(la, i)
		default:
			t.acted(la, i)
		}
		la.at++
	}
	for key, items := range t.tokenItems() {
		t.broken[key] = t.broken[key] || overtaken(items, 2*int64(o.ClockError)) > 0
	}
	return t
}

// inOrder lists ops in the order in which they tell something: an acquire when it is answered, the others when they begin.
func inOrder(ops []op) []int32 {
	moments := make([]moment, len(ops))
	for i := range ops {
		o := &ops[i]
		when, place := o.inv, o.order
		if o.kind == history.Acquire && o.ret != never {
			when = o.ret
		}
		if o.after != 0 {
			place = 2 * o.after
		}
		moments[i] = momentOf(when, false, place, int32(i), false)
	}
	inOrderOfTime(moments)
	list := make([]int32, len(ops))
	for i, m := range moments {
		list[i] = m.op()
	}
	return list
}

// acquired follows an acquire.
func (t *tracer) acquired(la *lane, i int32) {
	o := &t.log.ops[i]
	if t.options.Reentrant && t.nested(la, o) {
		return
	}
	if o.outcome == history.OK {
		if t.again(la, o) {
			return
		}
		t.replace(la, o)
	}
	switch o.outcome {
	case history.OK:
		t.granted++
		t.hold(la, i)
	case history.Fail:
		if len(la.open) == 0 {
			la.others = append(la.others, i)
		}
	default:
		la.pending = append(la.pending, i)
		la.others = append(la.others, i)
	}
}

// again tells whether an owner was granted what it has, by the token: it holds on.
func (t *tracer) again(la *lane, o *op) bool {
	if t.options.Validity.Released || o.token == 0 || len(la.open) == 0 {
		return false
	}
	h := &t.holds[la.open[len(la.open)-1]]
	if h.token != o.token {
		return false
	}
	t.granted++
	o.kind, o.outcome, o.inv = history.Renew, history.Fail, o.ret
	t.under(h, o)
	return true
}

// replace ends the holds of an owner that is granted the key again: whatever became of them, the owner is one. Where a grant is good until it
// is released, the second one is a violation instead.
func (t *tracer) replace(la *lane, o *op) {
	if t.options.Permits > 1 || t.options.Validity.Released {
		return
	}
	for i := len(la.holds) - 1; i >= 0 && !t.holds[la.holds[i]].replaced; i-- {
		h := &t.holds[la.holds[i]]
		h.replaced = true
		if !h.ended && o.begin() < h.until {
			h.until, h.next = o.begin(), o.order-1
		}
	}
	la.open = la.open[:0]
}

// nested folds an owner's acquire into the hold that it has, and tells whether it did.
func (t *tracer) nested(la *lane, o *op) bool {
	if len(la.open) == 0 {
		return false
	}
	h := &t.holds[la.open[len(la.open)-1]]
	switch {
	case h.least == 0 && (o.token == 0 || o.token != h.token): // it may have been given up, and what follows be another one
		if o.outcome == history.OK {
			h.ended = true
			la.open = la.open[:len(la.open)-1]
		}
		return false
	case o.outcome == history.OK && o.token != 0 && h.token != 0 && o.token != h.token:
		// The lock granted it anew, so it had forgotten the hold before.
		h.ended, h.until = true, min(h.until, o.inv)
		la.open = la.open[:len(la.open)-1]
		return false
	case o.outcome == history.OK:
		t.granted++
		h.least, h.most = max(h.least, 1)+1, h.most+1
		// That an owner gets in again shows that it held. It is no renewal that would extend a lease.
		o.kind, o.outcome = history.Renew, history.Fail
		t.under(h, o)
	case o.outcome != history.Fail:
		h.most++
	}
	return true
}

// hold opens a hold for an acquire.
func (t *tracer) hold(la *lane, i int32) *hold {
	o := &t.log.ops[i]
	n := int32(len(t.holds))
	t.holds = append(t.holds, hold{acquire: i, use: i, release: -1, key: o.key, token: o.token, until: never, least: 1, most: 1, inferred: o.inferred})
	la.open, la.holds = append(la.open, n), append(la.holds, n)
	if h := &t.holds[n]; la.adrift >= 0 && !o.inferred {
		h.attempted, h.least, h.until, h.adrift = true, 0, o.begin(), la.adrift+1
	}
	t.tokened(n, o.token)
	return &t.holds[n]
}

// tokened notes a hold's token.
func (t *tracer) tokened(n int32, token int64) {
	if token != 0 {
		h := &t.holds[n]
		a := &t.log.ops[h.acquire]
		h.token, a.token = token, token
		if other, twice := t.tokens[tokenOn{h.key, token}]; twice {
			a.mute = t.log.ops[t.holds[other].acquire].owner == a.owner
			t.broken[h.key] = true // even to one owner: two grants that a token does not tell apart
		}
		t.tokens[tokenOn{h.key, token}] = n
		t.highest[h.key] = max(t.highest[h.key], token)
	}
}

// under notes that an op was done under a hold.
func (t *tracer) under(h *hold, o *op) {
	o.grant = h.acquire + 1
	h.use = max(h.use, o.order/2)
	if o.act() {
		h.last = max(h.last, o.begin())
	}
	if o.kind == history.Renew && o.outcome == history.OK {
		h.renewed = max(h.renewed, o.begin())
	}
}

// which is the place in the lane's open holds of the one that an op is about: that of its token, else the newest; -1: none.
func (t *tracer) which(la *lane, token int64) int {
	for i := len(la.open) - 1; i >= 0; i-- {
		if h := &t.holds[la.open[i]]; token == 0 || h.token == 0 || h.token == token {
			return i
		}
	}
	return -1
}
