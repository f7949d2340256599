package audit

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// released follows a release.
func (t *tracer) released(la *ownerOnKey, i int32) {
	o := t.log.ops.At(i)
	if o.Outcome == history.Info || o.Outcome == history.TypeNone {
		la.adrift = i
	}
	at := t.openHold(la, o.Token)
	if t.options.Permits > 1 && o.Token == 0 {
		at = t.untried(la)
	}
	if at < 0 {
		t.releasedUnknown(la, i)
		return
	}
	if o.Outcome == history.OK && len(la.pending) > 0 && t.holds.At(la.open[at]).attempted {
		t.releasedEither(la, i, at)
		return
	}
	h := t.holds.At(la.open[at])
	switch {
	case o.Outcome == history.OK && t.inner(o, h):
		// it shows that its owner held, and ends nothing
		o.Kind, o.Outcome, o.judgedAs = history.Renew, history.Fail, shownInner
		h.least, h.most = max(h.least-1, 1), max(h.most-1, 1)
		t.under(h, o)
	case o.Outcome == history.OK || o.Outcome == history.Fail && o.NotHeld:
		switch {
		case o.Outcome == history.Fail:
			h.gaveUp = min(h.gaveUp, o.begin())
		case h.told: // it cleans up, and knows that it holds nothing
			o.Outcome, o.judgedAs = history.Info, shownRelease
		}
		t.under(h, o)
		h.ended, h.release, h.until = true, i, min(h.until, o.begin())
		la.open = slices.Delete(la.open, at, at+1)
	default:
		t.releasedPerhaps(h, o)
	}
}

// releasedPerhaps follows a release of a hold that failed, or is of unknown fate.
func (t *tracer) releasedPerhaps(h *hold, o *op) {
	switch {
	case o.Outcome == history.Fail && t.options.Validity.Released:
		return // it did not happen
	case o.Outcome == history.Fail:
	case h.least > 1:
		h.least--
		return
	default:
		h.least, h.attempted = 0, true
		if h.until == never {
			h.tried = o.begin()
		}
	}
	t.under(h, o)
	h.until, h.gaveUp = min(h.until, o.begin()), min(h.gaveUp, o.begin())
}

// untried is the place of the newest open hold that nobody has tried to
// release, or else of the newest: a semaphore's permits are alike.
func (t *tracer) untried(la *ownerOnKey) int {
	for i := len(la.open) - 1; i >= 0; i-- {
		if !t.holds.At(la.open[i]).attempted {
			return i
		}
	}
	return len(la.open) - 1
}

// inner reports whether a release that was answered ok is not the outermost one. Where the depth
// is open, the owner's next op tells: a second release that was answered ok could not have been.
func (t *tracer) inner(o *op, h *hold) bool {
	if !t.options.Reentrant || h.most <= 1 {
		return false
	}
	if h.least > 1 {
		return true
	}
	return o.then
}

// releasedUnknown follows a release under no grant that is known. One that was
// answered ok, after an acquire of unknown fate, shows that this was granted:
// before the release ended, and held when it began.
func (t *tracer) releasedUnknown(la *ownerOnKey, i int32) {
	o := t.log.ops.At(i)
	if o.Outcome != history.OK || len(la.pending) == 0 {
		t.stray(la, o)
		return
	}
	first := la.pending[0] // the oldest, of which the least is known
	la.pending = la.pending[1:]
	a := t.log.ops.At(first)
	a.Outcome, a.start, a.end, a.Ret, a.Token = history.OK, a.Inv, o.finish(), o.Inv, o.Token
	t.granted++
	t.instant(la, first, i)
	h := t.holds.At(la.newest)
	if h.since = a.Inv; h.before >= 0 {
		if own := t.holds.At(h.before); own.until != never {
			h.since = max(h.since, own.until)
		}
	}
}

// releasedEither follows a release that was answered ok, of a hold that may have been
// released before, or of one that an acquire of unknown fate made. Whichever it was, its
// owner held when it was released; and no later release is certainly of the older hold.
func (t *tracer) releasedEither(la *ownerOnKey, i int32, at int) {
	o := *t.log.ops.At(i)
	older := t.holds.At(la.open[at])
	older.ended = true
	la.open = slices.Delete(la.open, at, at+1)
	a := *t.log.ops.At(older.acquire)
	first := t.log.ops.Add(op{Call: formats.Call{Kind: history.Acquire, Outcome: history.OK, Inv: o.Inv, Ret: o.Inv,
		Key: o.Key, Owner: o.Owner,
		Line: a.Line, EndLine: a.EndLine}, start: a.begin(), end: o.finish(), order: o.order - 1})
	t.instant(la, first, i)
}

// instant makes a hold of no length of acquire a: its owner held when it released it by op i.
func (t *tracer) instant(la *ownerOnKey, a, i int32) {
	h := t.hold(la, a)
	o := t.log.ops.At(i)
	t.under(h, o)
	h.use = max(h.use, i)
	h.ended, h.release, h.until, h.adrift = true, i, o.begin(), 0
	la.open = la.open[:len(la.open)-1]
}
