package audit

import "github.com/lockchaos/lockchaos/history"

// The open hold that an op is about, among those of its owner.

// openHold is the place in the owner's open holds of the one that an op is about:
// that of its token, else the newest; -1: none.
func (t *tracer) openHold(la *ownerOnKey, token history.Token) int {
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

// given reports whether a token is that of one of an owner's grants.
func (t *tracer) given(la *ownerOnKey, token history.Token) bool {
	n, known := t.tokens.hold(t.holds, tokenOn{la.key, token})
	return known && t.holds.At(n).lane == la.number
}

// ofWrite reports whether a number that none of an owner's open grants has is that of a write.
func (t *tracer) ofWrite(la *ownerOnKey, token history.Token) bool {
	return t.options.Tokens == "version" && token != 0 && !t.given(la, token)
}

// stray notes an op under no grant, unless it says itself that its client held
// nothing, or ends a hold that was there when the log began.
func (t *tracer) stray(la *ownerOnKey, o *op) {
	switch {
	case o.NotHeld || o.Outcome == history.Fail:
	case !t.begun[o.Key] && (o.Kind == history.Release || o.Outcome == history.Lost):
	case o.Token != 0 && len(la.open) > 0:
		t.misfits.Add(o.Line)
	default:
		t.idle.Add(o.Line)
	}
}
