package audit

import "github.com/lockchaos/lockchaos/history"

// lost follows the news of a loss.
func (t *tracer) lost(la *lane, i int32) {
	o := t.log.ops.At(i)
	at := t.which(la, o.token)
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
	until, line, order := o.begin(), o.line, o.order
	h.last = max(h.last, until)
	shows := t.say(h, history.Renew, history.Fail, until, order-1)
	shows.line, shows.endLine, shows.shown = line, line, shownLoss
}

// acted follows a read, write or renewal.
func (t *tracer) acted(la *lane, i int32) {
	o := t.log.ops.At(i)
	if at := t.which(la, o.token); at >= 0 {
		n := la.open[at]
		if t.holds.At(n).token == 0 && o.token != 0 && o.kind == history.Write && t.options.Tokens == "fencing" {
			t.tokened(n, o.token) // the log tells the token only here
		}
		t.under(t.holds.At(n), o)
		return
	}
	var n int32
	known := false
	if o.token != 0 {
		n, known = t.tokens.hold(t.holds, tokenOn{o.key, o.token})
	}
	switch {
	case known && t.holds.At(n).replaced:
		t.replacedWrite(la, t.holds.At(n), o)
	case known:
		t.reopen(t.holds.At(n))
		t.under(t.holds.At(n), o)
	case o.token != 0 && o.kind == history.Write && t.options.Permits == 1 && t.options.Tokens == "fencing":
		t.infer(la, i)
	case o.kind == history.Write:
		t.loose++
	case t.provesHold(la, o):
		t.infer(la, i)
		t.renewals++
	default:
		t.stray(la, o)
	}
}

// reopen takes back that a release ended a hold: its owner has acted under it later. It held until then, and gave the promise up.
func (t *tracer) reopen(h *hold) {
	if h.release >= 0 {
		r := t.log.ops.At(h.release)
		if r.outcome == history.OK {
			r.kind, r.outcome, r.shown = history.Renew, history.Fail, shownRelease
		} else {
			r.grant = 0
		}
		if h.next == 0 {
			h.next = r.order + 1
		}
		h.release, h.ended, h.attempted = -1, false, true
	}
}

// replacedWrite follows a write of a grant that its owner had replaced by a newer one. It is no act that would prolong the older hold, for
// its owner holds anyway; what it does to the data is seen in the ledger.
func (t *tracer) replacedWrite(la *lane, h *hold, o *op) {
	if o.kind != history.Write || o.outcome != history.OK || !t.log.ledgered {
		t.stray(la, o)
		return
	}
	t.reopen(h)
	o.late, o.grant, h.use, h.wrote = true, h.acquire+1, max(h.use, o.order/2), true
}

// provesHold reports whether a renewal shows a hold whose acquire the log lacks: its client was granted the key before the log begins. One that was given up
// is not renewed, so a renewal behind a release shows nothing.
func (t *tracer) provesHold(la *lane, o *op) bool {
	if o.kind != history.Renew || o.outcome != history.OK || len(la.open) > 0 || t.log.columns == nil || t.options.Permits > 1 {
		return false
	}
	return la.newest < 0 || t.holds.At(la.newest).inferred
}

// infer opens a hold for an act whose acquire the log lacks: it was granted at some time before.
func (t *tracer) infer(la *lane, i int32) {
	o := *t.log.ops.At(i)
	if o.token < t.tokens.highest(o.key) {
		t.late++
	}
	if t.options.Tokens != "fencing" {
		o.token = 0 // it may be that of the act
	}
	a := t.log.ops.Add(op{kind: history.Acquire, outcome: history.OK, inv: o.inv, ret: o.inv, start: 1, end: o.inv, token: o.token, key: o.key,
		owner: o.owner, line: o.line, endLine: o.line, order: o.order - 1, inferred: true})
	h := t.hold(la, a)
	h.use = o.order / 2
	if len(la.open) > 1 { // it is no hold that a release without a token could be about
		la.open = la.open[:len(la.open)-1]
	}
	t.under(h, t.log.ops.At(i))
}
