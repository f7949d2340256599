package checker

// What tells the order of two grants where their acquires overlap. Many locks poll, and report as the start of the first attempt that may have taken effect the
// start of the call. Then every two waits overlap, and by that alone nobody would be the earlier.

// grantedAfter tells whether b was certainly granted after a: by time, else by tokens, else because b's attempt that succeeded began only then, and no reply to
// an earlier one was lost.
func (s *Sweep) grantedAfter(b, a *grant, tokens bool) bool {
	switch {
	case later(b, a, tokens):
		return true
	case later(a, b, tokens) || !mayFollow(b, a):
		return false
	}
	return !s.disturbed(b.client, b.earliest, b.attempt, anyFault)
}

// mayFollow tells whether b's attempt that succeeded began when a had been granted.
func mayFollow(b, a *grant) bool { return b.attempt > a.end }
