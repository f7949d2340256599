package audit

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// lost follows the news of a loss.
func (t *tracer) lost(la *ownerOnKey, i int32) {
	o := t.log.ops.At(i)
	at := t.openHold(la, o.Token)
	if at < 0 {
		t.stray(la, o)
		return
	}
	h := t.holds.At(la.open[at])
	t.under(h, o)
	h.told, h.until = true, min(h.until, o.begin())
	if t.options.Delayed {
		return
	}
	// Until then it took itself for the holder.
	until, line, order := o.begin(), o.Line, o.order
	h.last = max(h.last, until)
	shows := t.say(h, history.Renew, history.Fail, until, order-1)
	shows.Line, shows.EndLine, shows.judgedAs = line, line, shownLoss
}

// acted follows a read, write or renewal.
func (t *tracer) acted(la *ownerOnKey, i int32) {
	o := t.log.ops.At(i)
	if at := t.openHold(la, o.Token); at >= 0 {
		n := la.open[at]
		if t.holds.At(n).token == 0 && o.Token != 0 && o.Kind == history.Write && t.options.Tokens == "fencing" {
			t.tokened(n, o.Token) // the log tells the token only here
		}
		t.under(t.holds.At(n), o)
		return
	}
	var n int32
	known := false
	if o.Token != 0 {
		n, known = t.tokens.hold(t.holds, tokenOn{o.Key, o.Token})
	}
	switch {
	case known && t.holds.At(n).replaced:
		t.replacedWrite(la, t.holds.At(n), o)
	case known:
		t.reopen(t.holds.At(n))
		t.under(t.holds.At(n), o)
	case o.Token != 0 && o.Kind == history.Write && t.options.Permits == 1 && t.options.Tokens == "fencing":
		t.infer(la, i)
	case o.Kind == history.Write:
		if t.loose++; len(la.pending) > 0 { // it waits for the key, and works as if it had it
			t.stray(la, o)
		}
	case t.provesHold(la, o):
		t.infer(la, i)
		t.renewals++
	default:
		t.stray(la, o)
	}
}

// reopen takes back that a release ended a hold: its owner has acted under it
// later. It held until then, and gave the promise up.
func (t *tracer) reopen(h *hold) {
	if h.release >= 0 {
		r := t.log.ops.At(h.release)
		if r.Outcome == history.OK {
			r.Kind, r.Outcome, r.judgedAs = history.Renew, history.Fail, shownRelease
		} else {
			r.grant = 0
		}
		if h.next == 0 {
			h.next = r.order + 1
		}
		h.release, h.ended, h.attempted, h.gaveUp = -1, false, true, min(h.gaveUp, h.until)
	}
}

// replacedWrite follows a write of a grant that its owner had replaced by a
// newer one. It is no act that would prolong the older hold, for its owner
// holds anyway; what it does to the data is seen in the ledger.
func (t *tracer) replacedWrite(la *ownerOnKey, h *hold, o *op) {
	if o.Kind != history.Write || o.Outcome != history.OK || !t.log.ledgered {
		t.stray(la, o)
		return
	}
	t.reopen(h)
	o.late, o.grant, h.use, h.wrote = true, h.acquire+1, max(h.use, o.order/2), true
}

// provesHold reports whether a renewal shows a hold whose acquire the log
// lacks: its client was granted the key before the log begins. One that was
// given up is not renewed, so a renewal behind a release shows nothing.
func (t *tracer) provesHold(la *ownerOnKey, o *op) bool {
	if o.Kind != history.Renew || o.Outcome != history.OK || len(la.open) > 0 || t.log.Columns == nil ||
		t.options.Permits > 1 {
		return false
	}
	return la.newest < 0 || t.holds.At(la.newest).inferred
}

// infer opens a hold for an act whose acquire the log lacks: it was granted at some time before.
func (t *tracer) infer(la *ownerOnKey, i int32) {
	o := *t.log.ops.At(i)
	if o.Token < t.tokens.highest(o.Key) {
		t.late++
	}
	if t.options.Tokens != "fencing" {
		o.Token = 0 // it may be that of the act
	}
	a := t.log.ops.Add(op{Call: formats.Call{Kind: history.Acquire, Outcome: history.OK, Inv: o.Inv, Ret: o.Inv,
		Token: o.Token, Key: o.Key,
		Owner: o.Owner, Line: o.Line, EndLine: o.Line}, start: 1, end: o.Inv, order: o.order - 1, inferred: true})
	h := t.hold(la, a)
	h.use = o.order / 2
	if len(la.open) > 1 { // it is no hold that a release without a token could be about
		la.open = la.open[:len(la.open)-1]
	}
	t.under(h, t.log.ops.At(i))
}
