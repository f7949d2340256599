package checker

import "fmt"

// What tells the order of two grants where their acquires overlap. Many locks poll, and
// report as the start of the first attempt that may have taken effect the start of the
// call. Then every two waits overlap, and by that alone nobody would be the earlier.

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
