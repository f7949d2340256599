package audit

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
)

// trace gives every op its grant.
func trace(l *log, o Options) *tracer {
	keys := len(l.Keys.List)
	t := &tracer{log: l, options: o, lanes: map[ownerKey]*ownerOnKey{}, holds: spill.NewList[hold](l.room), tokens: newTokens(l),
		broken: make([]bool, keys), begun: make([]bool, keys),
		grants: newTokenOrder(l.room), writes: newTokenOrder(l.room), early: map[int32]int64{}, tokenless: make([]bool, keys),
		newest: slices.Repeat([]int32{-1}, keys), gapped: map[int32]bool{}, carried: true}
	err := int64(o.ClockError)
	t.readings = [...]*reading{{err, acts, newSpans(t, false)}, {-err, promises, newSpans(t, true)},
		{-err, openEnds, newSpans(t, true)}}
	if l.told == nil {
		l.told = l.order(err)
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
	t.shortGrants()
	return t
}

// lookAhead notes of each op whether its owner's next one on the key is a
// release that was answered ok.
func (t *tracer) lookAhead(in *spill.Cursor[endpoint]) {
	last := map[ownerKey]int32{}
	for m := in.Next(); m != nil; m = in.Next() {
		t.log.ops.Trim()
		i := m.op()
		o := t.log.ops.See(i)
		at := ownerKey{o.Key, o.Owner}
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
	p := ownerKey{o.Key, o.Owner}
	la := t.lanes[p]
	if la == nil {
		la = &ownerOnKey{key: o.Key, owner: o.Owner, number: int32(len(t.order) + 1), newest: -1, adrift: -1}
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
