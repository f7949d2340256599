package audit

import "github.com/lockchaos/lockchaos/history"

// Ops that follow from others: what nobody wrote down and is certain all the same.

// addImplied adds ops that nobody wrote down, for what is known all the same, and
// notes how long the holds lasted.
func (t *tracer) addImplied() {
	last := int64(0)
	if t.options.Validity.Released && t.options.Permits > 1 {
		for i := range t.log.ops.Each(0, t.log.ops.Length) {
			last = max(last, t.log.ops.See(i).latest())
		}
	}
	for n := range t.holds.Each(0, t.holds.Length) {
		t.log.ops.Trim()
		one := *t.holds.See(n) // a copy, for the last use of the hold
		h := &one
		t.word(h)
		if t.gapped[n] && !h.ended {
			h.until, h.next = min(h.until, max(h.last, h.finish)), 2*h.use+2
		}
		switch {
		case t.gapped[n] && t.options.Validity.Released:
			t.withdrawPromise(h)
		case !t.options.Validity.Released:
			t.withdrawPromise(h)
			t.over(h)
		case t.options.Permits > 1:
			t.holdUntilRelease(h, last)
		}
		t.tokenless[h.key] = t.tokenless[h.key] || h.wrote && h.token == 0
		t.spanned(n, h)
	}
}

// word adds the client's own word: when it says that it was granted the key, it is
// alive and takes itself for the holder. Where a release of unknown fate may still
// happen, and end a hold that came after it, the hold's promise is taken away instead.
func (t *tracer) word(h *hold) {
	a := *t.log.ops.See(h.acquire)
	if a.inferred || a.end != 0 {
		return
	}
	if h.adrift == 0 {
		h.last = max(h.last, a.Ret)
		t.say(h, history.Renew, history.Fail, a.Ret, a.order+1)
		return
	}
	late := *t.log.ops.See(h.adrift - 1)
	o := t.say(h, history.Release, history.Info, a.Ret, a.order+1)
	o.start, o.Line, o.EndLine = a.Inv, late.Line, late.EndLine
}

// withdrawPromise takes a hold's promise away where its owner was granted the key
// again, or went on after its release.
func (t *tracer) withdrawPromise(h *hold) {
	if h.next != 0 {
		t.say(h, history.Release, history.Info, h.until, h.next).start = h.until
	}
}

// over ends a hold that was never given up, when all that was done under it and
// all that was promised is over, so that a judge can forget it.
func (t *tracer) over(h *hold) {
	if h.ended {
		return
	}
	at := t.done(h.use)
	if ttl := int64(t.options.Validity.TTL); ttl > 0 {
		a := t.log.ops.See(h.acquire)
		at = max(at, min(h.until, max(a.begin(), a.attempt, h.renewed)+ttl))
	}
	t.say(h, history.Release, history.Fail, max(at, h.last), 2*h.use+2).NotHeld = true
}

// holdUntilRelease makes a semaphore's grant that is good until it is released a hold until
// then: a judge counts holds with holds and promises with promises, and not both.
func (t *tracer) holdUntilRelease(h *hold, last int64) {
	at := last + 1
	switch {
	case h.ended || h.adrift != 0:
		return
	case h.until == never:
	case h.tried != 0:
		at = h.tried
	default:
		return
	}
	h.last = max(h.last, at)
	t.say(h, history.Renew, history.Fail, at, 2*h.use+2)
}
