// # Order of grants
//
// A grant was made at an instant between the start of the first attempt that may have taken effect
// and the end of the acquire. It is not the attempt that succeeded: the first may have taken effect
// with its reply lost, and the second may have recognised its own value.
//
// B is later than A when B's earliest instant is after A's end. Where time is silent, a greater
// fencing token decides, on a key without a token-order violation. "Token, else time" would judge a
// reset counter by the tokens that it broke. Otherwise the order is unknown, and nothing follows
// from it.
//
// Many locks poll, and report the start of the call as the first attempt, so all their waits
// overlap. To decide which of two double-holds is the later one (granted-while-valid, kinds and
// patterns), there is one more rule. B is later, too, if its attempt that succeeded began after A's
// end, and nothing disturbed B's client, its links or the service since B's first attempt. Only a
// lost reply makes an earlier attempt take effect unseen.
//
//	A.acquire [0,10], A is stopped from 20 to 690, B.acquire [1,601] of an attempt at 600, A.write [700,701]
//
// By the calls alone either may be the earlier, and the overrun of A would be assumed. "The lock
// confirmed A's hold before B's acquire had ended, so B is later" accuses a correct lock: B may
// have been granted the key before A, and its reply may have come late.
//
// # Packets
//
// Most locks cannot say when their attempt began. Where a lock does not, lockchaos records what the
// packets of its client tell: when its last request to the service left (Event.Sent), and when the
// last answer arrived before the acquire returned (Event.Came). They decide between two orders of a
// double-hold that the calls leave open, and nothing else.
//
//   - A's last answer arrived before B's acquire began: A is the earlier. A lock knows of its grant
//     by what its service said to it, so the grant was made by then. An order that convicts may
//     follow from it.
//   - B's last request left after A's acquire had ended: A is the earlier,
//     unless the lock sends more requests when it has been granted the key. So
//     this convicts nobody. An overrun of A then needs no other assumption.
//
// Here A was first, by the second rule:
//
//	B.acquire [-5,900], last request at 800; A.acquire [0,10], A is stopped from 20 to 1490, A.write [1500,1501]
//
// "The grant was made after the last request" accuses locks that send more when they
// have the key: an expiry, a notice to waiters, a heartbeat on the same connection. No
// request is recorded if the client asked on several connections within the acquire,
// as a quorum or a pool does, or said something after the last answer. Encryption
// hides no stamps, but its own messages count as requests, and so do those that keep
// HTTP/2 alive. A segment that is sent again does not count. Nothing is recorded if a
// packet was missed, if the service sent nothing, and for locks without a service.
package checker

import "fmt"

// grantedAfter reports whether b was certainly granted after a: by time, else by
// tokens, else because b's attempt that succeeded began only then, and no reply
// to an earlier one was lost. a and b are as inOrder returns them.
func (ex *explanations) grantedAfter(b, a *grant, tokens bool) bool {
	return later(b, a, tokens) || mayFollow(b, a) && !ex.faults.disturbed(b.client, b.earliest, b.attempt, anyFault)
}

// mayFollow reports whether b's attempt that succeeded began when a had been granted.
func mayFollow(b, a *grant) bool { return b.attempt > a.end }

// judgeEitherOrder finds the kind of a double-hold of two grants whose order
// the history does not tell. a and b are as inOrder returns them.
//
// The kind is that of both orders where it is the same. Where one of them is
// inherent, that one is assumed, for a correct lock can have made the history
// so. Where each order needs a defect, it is the milder one. Stalls that explain
// one order leave it open whose the violation is. Packets may tell the order.
func (ex *explanations) judgeEitherOrder(j *judgement, a, b *grant) {
	kind, stall := ex.explain(b, a, b.last)
	p := &mutualExclusion
	first, second := p.blameOf(j.kind), p.blameOf(kind)
	switch {
	case answeredBefore(a, b):
		j.unordered, j.packets = false, answered(a, b)
		return
	case j.kind != KindGrantedDead && answeredBefore(b, a):
		j.unordered, j.packets, j.swapped, j.stallOnly = false, answered(b, a), true, stall
		j.kind, j.pattern = kind, ex.patternOf(b, a, 0)
		return
	}
	j.stallOnly = j.stallOnly || stall
	switch {
	case kind == j.kind:
		return
	case first == Inherent:
		j.assumed = true
		j.supposeAsked(a, b)
	case second == Inherent:
		j.assumed, j.swapped = true, true // no packet tells it: a had its answer before b
	case first == Defect && second == Defect:
		j.swapped = kind == KindLateNotice
	default:
		j.kind = KindUnexplained
		return
	}
	if j.swapped {
		j.kind, a, b = kind, b, a
	}
	j.pattern = ex.patternOf(a, b, 0)
}

// answeredBefore reports whether the service's last answer to a had arrived
// when b had not been asked for yet: a's grant was made by then.
func answeredBefore(a, b *grant) bool { return a.came != 0 && a.came < b.earliest }

func answered(a, b *grant) string {
	return fmt.Sprintf(" (client %d was first: the service's last answer to it had arrived at %s, before client %d asked)", a.client, seconds(a.came), b.client)
}

// supposeAsked has an order that is inherent, of a before b, be more than an assumption where
// b's last request left when a had been granted the key. A lock that asks for more when it has
// been granted the key may have been granted it before that request, so this convicts nobody.
func (j *judgement) supposeAsked(a, b *grant) {
	if b.sent <= a.end {
		return
	}
	j.assumed, j.unordered = false, false
	j.packets = fmt.Sprintf(" (client %d was first, unless the lock sends more requests when it has been granted a key: the last request of client %d left at %s)", a.client, b.client, seconds(b.sent))
}

// inEitherOrder tells of two holders of which the history does not say who was granted the
// key first; where an order is assumed, or each needs a defect, it is that of a before b.
func (ex *explanations) inEitherOrder(a, b *grant, j judgement) string {
	const open = ": which of them was granted it first, the history does not tell"
	switch {
	case j.assumed:
		text := ex.overran(a, b, j.pattern) + ", if it was granted the key first. The history does not tell that"
		if a.attempt == 0 || b.attempt == 0 {
			text += "; the start of the attempt that succeeded (attempt_ns) would"
		}
		return text
	case j.kind == KindGrantedWhileValid:
		return open + "; but each was granted it inside the other's promise"
	case j.kind == KindLateNotice:
		return fmt.Sprintf("%s; but if client %d was, its lock told it of the loss too late, and if client %d was, client %d was granted it inside that promise", open, a.client, b.client, a.client)
	}
	return open
}
