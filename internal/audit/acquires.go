package audit

import "github.com/lockchaos/lockchaos/history"

// acquired follows an acquire.
func (t *tracer) acquired(la *ownerOnKey, i int32) {
	o := t.log.ops.At(i)
	if t.options.Reentrant && t.nested(la, o) {
		return
	}
	if o.Outcome == history.OK {
		if t.grantedAgain(la, o) {
			return
		}
		t.replaceHold(la, o)
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

// grantedAgain reports whether an owner was granted what it has, by the token: it holds on.
func (t *tracer) grantedAgain(la *ownerOnKey, o *op) bool {
	if t.options.Validity.Released || o.Token == 0 || len(la.open) == 0 {
		return false
	}
	h := t.holds.At(la.open[len(la.open)-1])
	if h.token != o.Token {
		return false
	}
	t.granted++
	o.Kind, o.Outcome, o.Inv, o.judgedAs = history.Renew, history.Fail, o.Ret, shownAgain
	t.under(h, o)
	return true
}

// replaceHold ends the holds of an owner that is granted the key again: whatever became of them,
// the owner is one. Where a grant is good until it is released, the second one is a violation
// instead.
func (t *tracer) replaceHold(la *ownerOnKey, o *op) {
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

// nested folds an owner's acquire into the hold that it has, and reports whether it did.
func (t *tracer) nested(la *ownerOnKey, o *op) bool {
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
		// That an owner gets in again shows that it held. It is no renewal that
		// would extend a lease.
		o.Kind, o.Outcome, o.judgedAs = history.Renew, history.Fail, shownAgain
		t.under(h, o)
	case o.Outcome != history.Fail:
		h.most++
	}
	return true
}
