package audit

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/times"
)

// tracer finds out under which grant each op was done.
type tracer struct {
	log     *log
	options Options
	lanes   map[ownerKey]*ownerOnKey
	order   []*ownerOnKey // in order of their first ops
	holds   *spill.List[hold]
	tokens  tokens
	broken  []bool // whether the tokens certainly do not rise with the grants, by key
	// grants are those with tokens, writes the accepted ones, early when holds
	// were made by the tokens of others.
	grants, writes *tokenOrder
	early          map[int32]int64
	readings       [openEnds + 1]*reading
	tokenless      []bool // keys with writes of grants without tokens
	latest         int64  // the latest instant of the history
	carried        bool   // tokens order all accepted writes
	excluded       bool   // a key was granted when another one had been granted it
	// idle are ops that change nothing under no grant. loose counts the writes,
	// late the grants that are inferred after one with a greater token.
	idle        remarks.Tally
	renewals    int           // grants that are inferred from renewals
	begun       []bool        // keys that were granted
	misfits     remarks.Tally // of those, with another token than their owner's grant
	loose, late int
	// twice are grants to an owner that has not given up the one before, the
	// first to twiceWho on twiceKey.
	twice              remarks.Tally
	twiceWho, twiceKey int32
	newest             []int32 // the last hold, by key; -1: none
	// holds that may have been given up on a line that is left out
	gapped map[int32]bool
	// cutters are the owners of holds whose stamps are cut, coarsest is the worst of their grains.
	cutters   []int32
	coarsest  times.Grain
	lines     int32 // ops that the log has itself
	wanted    bool  // somebody asked for a lock
	granted   int   // acquires that were answered ok
	unordered int   // writes that are too close to another grant's
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

// hold opens a hold for an acquire.
func (t *tracer) hold(la *ownerOnKey, i int32) *hold {
	o := t.log.ops.At(i)
	t.cuts(o)
	n := t.holds.Add(hold{acquire: i, use: i, release: -1, key: o.Key, lane: la.number, begin: o.begin(),
		finish: o.finish(), until: never, gaveUp: never, least: 1, most: 1, before: la.newest, inferred: o.inferred})
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
	t.noteGap(n, o)
	return h
}

// asks notes that a judge is told of an acquire.
func (la *ownerOnKey) asks(o *op) {
	o.lane = la.number
	if len(la.parts) == 0 {
		la.parts = []splitClient{{free: -1, freeAt: -never / 2}} // and so it is free
	}
}

// tokened notes a hold's token.
func (t *tracer) tokened(n int32, token history.Token) {
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

// say adds an op under a hold, at an instant.
func (t *tracer) say(h *hold, kind history.Kind, outcome history.Type, at int64, order int32) *op {
	a := t.log.ops.See(h.acquire)
	return t.log.ops.At(t.log.ops.Add(op{Call: formats.Call{Kind: kind, Outcome: outcome, Inv: at, Ret: at, Key: a.Key,
		Owner: a.Owner,
		Line:  a.EndLine, EndLine: a.EndLine}, grant: h.acquire + 1, order: order, cut: t.log.grains.cut(a.Key, a.Owner)}))
}

// done is when the op of that place in the log was answered, or asked if it never was.
func (t *tracer) done(i int32) int64 {
	if i >= t.log.ops.Length {
		return never / 2
	}
	if o := t.log.ops.See(i); o.Ret != never {
		return o.Ret
	}
	return t.log.ops.See(i).Inv
}

// counted is the latest instant at which the time to live of a grant may have begun to count: when
// the attempt was sent that succeeded, which may have been as late as the grant where nobody tells.
func (t *tracer) counted(h *hold) int64 {
	switch o := t.log.ops.See(h.acquire); {
	case o.attempt != 0:
		return o.attempt
	case t.options.Delayed:
		return o.begin()
	}
	return h.finish
}
