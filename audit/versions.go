package audit

import (
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// A number beside the events of a log may be a fencing token: that of the grant, on every line about it. Or it is the version of a record, such as etcd's
// revision or Kubernetes' resourceVersion, and rises with every write. The log shows which: within one hold the first stays and the second rises.

// versionLines is how many lines are looked at to find out.
const versionLines = 1 << 16

// versions reports whether the numbers of the log are those of writes, in more cases than not.
func (r *gatherer) versions() bool {
	type under struct {
		token int64
		open  bool
	}
	held, rising, steady := map[place]under{}, 0, 0
	in := r.inOrder()
	for range versionLines {
		e := in()
		if e == nil {
			break
		}
		at := place{e.Key, e.Owner}
		h := held[at]
		switch {
		case (e.Means == words.Grant || e.Means == words.Acquire && !r.granted) && e.Ending == words.EndedOK:
			held[at] = under{e.Token, e.Token != 0}
			continue
		case !h.open || e.Token == 0:
		case e.Token == h.token:
			steady++
		case e.Token > h.token && (e.Means == words.Renew || e.Means == words.Release || e.Means == words.Lost):
			rising++
		}
		if e.Means == words.Release && h.open {
			held[at] = under{}
		}
	}
	return rising > steady
}

// given reports whether a token is that of one of an owner's grants.
func (t *tracer) given(la *lane, token int64) bool {
	n, known := t.tokens.hold(t.holds, tokenOn{la.key, token})
	return known && t.holds.At(n).lane == la.number
}

// ofWrite reports whether a number that none of an owner's open grants has is that of a write.
func (t *tracer) ofWrite(la *lane, token int64) bool {
	return t.options.Tokens == "version" && token != 0 && !t.given(la, token)
}

// stray notes an op under no grant, unless it says itself that its client held nothing, or ends a hold that was there when the log began.
func (t *tracer) stray(la *lane, o *op) {
	switch {
	case o.NotHeld || o.Outcome == history.Fail:
	case !t.begun[o.Key] && (o.Kind == history.Release || o.Outcome == history.Lost):
	case o.Token != 0 && len(la.open) > 0:
		t.misfits.Add(o.Line)
	default:
		t.idle.Add(o.Line)
	}
}
