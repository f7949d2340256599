package audit

import (
	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/spill"
	"github.com/lockchaos/lockchaos/history"
)

// hold is one grant and what its owner did under it.
type hold struct {
	acquire int32 // its op
	// begin and finish are those of the acquire.
	begin, finish int64
	use           int32 // the op under it that came last
	release       int32 // the release that ended it; -1: none
	key           int32
	lane          int32
	token         int64
	last          int64 // the start of the last act
	until         int64 // when its owner gave it up, or was told of its loss; never
	renewed       int64 // the start of the last renewal
	// least and most are how deep a reentrant owner certainly, and at most, is in it.
	least, most int32
	ended       bool
	replaced    bool  // its owner was granted the key again
	told        bool  // its owner was told of its loss
	attempted   bool  // a release of unknown fate was sent
	next        int32 // its place in the order when its promise was taken away without a release; 0: it was not
	tried       int64 // when the first one was sent, to a hold that was good until then
	adrift      int32 // an earlier release of its owner that may end it, from 1 like ops; 0: none
	before      int32 // its owner's last hold on the key before it; -1: none
	follower    int32 // its owner's next one; 0: none
	inferred    bool
	wrote       bool // a write was made under it
	twice       bool // a later hold has its token, too
	nested      bool // its owner was granted the key again, and had not given this grant up
}

// lane is one owner on one key: the holds that it has not given up, and what else tells about its later ops.
type lane struct {
	key, owner int32
	number     int32 // of lanes, from 1
	open       []int32
	newest     int32   // its last hold; -1: none
	pending    []int32 // acquires of unknown fate: each may still happen
	adrift     int32   // a release of unknown fate: it may still happen, and end a later hold; -1: none
	parts      []part  // none until it asks for the key
}

type place struct{ key, owner int32 }

// tracer finds out under which grant each op was done.
type tracer struct {
	log     *log
	options Options
	lanes   map[place]*lane
	order   []*lane // in order of their first ops
	holds   *spill.List[hold]
	tokens  tokens
	broken  []bool // whether the tokens certainly do not rise with the grants, by key
	// grants are those with tokens, writes the accepted ones, early when holds were made by the tokens of others.
	grants, writes *race
	early          map[int32]int64
	readings       [openEnds + 1]*reading
	tokenless      []bool // keys with writes of grants without tokens
	latest         int64  // the latest instant of the history
	carried        bool   // tokens order all accepted writes
	excluded       bool   // a key was granted when another one had been granted it
	// idle are ops that change nothing under no grant. loose counts the writes, late the grants that are inferred after one with a greater token.
	idle        remarks.Tally
	renewals    int           // grants that are inferred from renewals
	begun       []bool        // keys that were granted
	misfits     remarks.Tally // of those, with another token than their owner's grant
	loose, late int
	// twice are grants to an owner that has not given up the one before, the first to twiceWho on twiceKey.
	twice              remarks.Tally
	twiceWho, twiceKey int32
	lines              int32 // ops that the log has itself
	wanted             bool  // somebody asked for a lock
	granted            int   // acquires that were answered ok
	unordered          int   // writes that are too close to another grant's
}

// trace gives every op its grant.
func trace(l *log, o Options) *tracer {
	keys := len(l.Keys.List)
	t := &tracer{log: l, options: o, lanes: map[place]*lane{}, holds: spill.NewList[hold](l.room), tokens: newTokens(l), broken: make([]bool, keys), begun: make([]bool, keys),
		grants: newRace(l.room), writes: newRace(l.room), early: map[int32]int64{}, tokenless: make([]bool, keys), carried: true}
	t.readings = [...]*reading{newReading(l.room, int64(o.ClockError), acts), newReading(l.room, -t.loosest(), promises), newReading(l.room, -t.loosest(), openEnds)}
	if l.told == nil {
		l.told = l.order(int64(o.ClockError))
	}
	t.lines = l.ops.Length
	defer l.told.Close()
	if o.Reentrant {
		t.lookAhead(l.told.InOrder())
	}
	in := l.told.InOrder()
	for m := in.Next(); m != nil; m = in.Next() {
		l.ops.Trim()
		t.holds.Trim()
		t.op(m.op())
	}
	t.lookThrough()
	return t
}

// close forgets all but what the events and the steps need.
func (t *tracer) close() {
	t.holds.Close()
	t.grants.close()
	t.writes.close()
	for _, r := range t.readings {
		r.spans.Close()
	}
}

// order lists ops in the order in which they tell something: an acquire when it is answered, the others when they begin. On the way it moves their
// times so that none is 0 or less, by which a history means that it does not know.
func (l *log) order(err int64) *spill.Sorter[moment] {
	told := spill.NewSorter(l.room, moment.compare)
	l.sort()
	by := max(0, 1+err-l.first)
	if l.ops.Length == 0 {
		by = 0
	}
	l.zero -= by
	for i := range l.ops.Each(0, l.ops.Length) {
		o := l.ops.At(i)
		o.shift(by)
		if o.order = 2*i + 1; o.Kind == history.Release && o.Outcome == history.TypeNone {
			o.Outcome, o.Ret = history.Info, o.Inv
		}
		told.Add(o.tells(i))
	}
	return told
}

// tells is when an op tells something.
func (o *op) tells(i int32) moment {
	if o.Kind == history.Acquire && o.Ret != never {
		return momentOf(o.Ret, false, o.order, i, false)
	}
	return momentOf(o.Inv, false, o.order, i, false)
}

// lookAhead notes of each op whether its owner's next one on the key is a release that was answered ok.
func (t *tracer) lookAhead(in *spill.Cursor[moment]) {
	last := map[place]int32{}
	for m := in.Next(); m != nil; m = in.Next() {
		t.log.ops.Trim()
		i := m.op()
		o := t.log.ops.See(i)
		at := place{o.Key, o.Owner}
		if before, ok := last[at]; ok && o.Kind == history.Release && o.Outcome == history.OK {
			t.log.ops.At(before).then = true
		}
		last[at] = i
	}
}

// op follows an op.
func (t *tracer) op(i int32) {
	o := t.log.ops.At(i)
	if t.options.Tokens == "none" {
		o.Token = 0
	}
	p := place{o.Key, o.Owner}
	la := t.lanes[p]
	if la == nil {
		la = &lane{key: o.Key, owner: o.Owner, number: int32(len(t.order) + 1), newest: -1, adrift: -1}
		t.lanes[p] = la
		t.order = append(t.order, la)
	}
	switch {
	case o.Outcome == history.Lost:
		t.lost(la, i)
	case o.Kind == history.Acquire:
		t.wanted = true
		t.acquired(la, i)
	case o.Kind == history.Release:
		t.released(la, i)
	default:
		t.acted(la, i)
	}
}

// acquired follows an acquire.
func (t *tracer) acquired(la *lane, i int32) {
	o := t.log.ops.At(i)
	if t.options.Reentrant && t.nested(la, o) {
		return
	}
	if o.Outcome == history.OK {
		if t.again(la, o) {
			return
		}
		t.replace(la, o)
	}
	switch o.Outcome {
	case history.OK:
		t.granted++
		t.hold(la, i)
	case history.Fail:
		if len(la.open) == 0 {
			la.asks(o)
		}
	default:
		la.pending = append(la.pending, i)
		la.asks(o)
	}
}

// again tells whether an owner was granted what it has, by the token: it holds on.
func (t *tracer) again(la *lane, o *op) bool {
	if t.options.Validity.Released || o.Token == 0 || len(la.open) == 0 {
		return false
	}
	h := t.holds.At(la.open[len(la.open)-1])
	if h.token != o.Token {
		return false
	}
	t.granted++
	o.Kind, o.Outcome, o.Inv, o.shown = history.Renew, history.Fail, o.Ret, shownAgain
	t.under(h, o)
	return true
}

// replace ends the holds of an owner that is granted the key again: whatever became of them, the owner is one. Where a grant is good until it
// is released, the second one is a violation instead.
func (t *tracer) replace(la *lane, o *op) {
	if t.options.Permits > 1 || t.options.Validity.Released {
		return
	}
	for n := la.newest; n >= 0; {
		h := t.holds.At(n)
		if h.replaced {
			break
		}
		h.replaced = true
		if !h.ended && o.begin() < h.until {
			h.until, h.next = o.begin(), o.order-1
		}
		if !h.ended {
			t.grantedTwice(h, o)
		}
		n = h.before
	}
	la.open = la.open[:0]
}

// nested folds an owner's acquire into the hold that it has, and tells whether it did.
func (t *tracer) nested(la *lane, o *op) bool {
	if len(la.open) == 0 {
		return false
	}
	h := t.holds.At(la.open[len(la.open)-1])
	switch {
	case h.least == 0 && (o.Token == 0 || o.Token != h.token): // it may have been given up, and what follows be another one
		if o.Outcome == history.OK {
			h.ended = true
			la.open = la.open[:len(la.open)-1]
		}
		return false
	case o.Outcome == history.OK && o.Token != 0 && h.token != 0 && o.Token != h.token:
		// The lock granted it anew, so it had forgotten the hold before.
		h.ended, h.until = true, min(h.until, o.Inv)
		la.open = la.open[:len(la.open)-1]
		return false
	case o.Outcome == history.OK:
		t.granted++
		h.least, h.most = max(h.least, 1)+1, h.most+1
		// That an owner gets in again shows that it held. It is no renewal that would extend a lease.
		o.Kind, o.Outcome, o.shown = history.Renew, history.Fail, shownAgain
		t.under(h, o)
	case o.Outcome != history.Fail:
		h.most++
	}
	return true
}

// hold opens a hold for an acquire.
func (t *tracer) hold(la *lane, i int32) *hold {
	o := t.log.ops.At(i)
	n := t.holds.Add(hold{acquire: i, use: i, release: -1, key: o.Key, lane: la.number, begin: o.begin(), finish: o.finish(), until: never, least: 1, most: 1, before: la.newest, inferred: o.inferred})
	if la.newest >= 0 {
		t.holds.At(la.newest).follower = n
	}
	la.open, la.newest = append(la.open, n), n
	la.asks(o)
	o.part = n + 1
	t.begun[o.Key] = true
	h := t.holds.At(n)
	if la.adrift >= 0 && !o.inferred {
		h.attempted, h.least, h.until, h.adrift = true, 0, o.begin(), la.adrift+1
	}
	t.tokened(n, o.Token)
	return h
}

// asks notes that a judge is told of an acquire.
func (la *lane) asks(o *op) {
	o.lane = la.number
	if len(la.parts) == 0 {
		la.parts = []part{{free: -1, freeAt: -never / 2}} // and so it is free
	}
}

// tokened notes a hold's token.
func (t *tracer) tokened(n int32, token int64) {
	if token == 0 {
		return
	}
	h := t.holds.At(n)
	a := t.log.ops.At(h.acquire)
	at := tokenOn{h.key, token}
	if other, twice := t.tokens.hold(t.holds, at); twice {
		earlier := t.holds.At(other)
		earlier.twice = true
		a.mute = t.log.ops.At(earlier.acquire).Owner == a.Owner
		t.broken[h.key] = true // even to one owner: two grants that a token does not tell apart
	}
	h.token, a.Token = token, token
	t.tokens.add(at, n)
}

// under notes that an op was done under a hold.
func (t *tracer) under(h *hold, o *op) {
	o.grant = h.acquire + 1
	h.wrote = h.wrote || o.Kind == history.Write && (o.Outcome == history.OK || o.Refused)
	h.use = max(h.use, o.order/2)
	if o.act() {
		h.last = max(h.last, o.begin())
	}
	if o.Kind == history.Renew && o.Outcome == history.OK {
		h.renewed = max(h.renewed, o.begin())
	}
}

// which is the place in the lane's open holds of the one that an op is about: that of its token, else the newest; -1: none.
func (t *tracer) which(la *lane, token int64) int {
	for i := len(la.open) - 1; i >= 0; i-- {
		if h := t.holds.At(la.open[i]); token == 0 || h.token == 0 || h.token == token {
			return i
		}
	}
	if t.ofWrite(la, token) {
		if token = 0; len(la.open) > 0 {
			return len(la.open) - 1
		}
	}
	if t.reopened(la, token) {
		return len(la.open) - 1
	}
	return -1
}
