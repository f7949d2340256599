package story

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
)

// disturbance finds the fault that explains the violation: of those the verdict names,
// else of those that touched A between its grant and its last op, the longest injected
// one, then the longest. Where the order of A and B is unknown, B is looked at as A is.
func disturbance(r *reports.Record, t *Story, ops []*history.Op) *history.FaultSpan {
	// where clients were disturbed, there is no deadlock
	if len(ops) == 0 || t.Violation.Property == checker.Deadlock {
		return nil
	}
	var best *history.FaultSpan
	if t.Violation.Property == checker.StuckLock && t.A != nil {
		return death(r, t.A)
	}
	for _, f := range r.Faults {
		if explains(f, t) && (best == nil || f.Injected && !best.Injected || f.Injected == best.Injected &&
			f.To-f.From > best.To-best.From) {
			best = f
		}
	}
	return best
}

// explains reports whether a fault can be the one that brought the violation about.
func explains(f *history.FaultSpan, t *Story) bool {
	v := t.Violation
	switch {
	case !f.Injected && blameless(v.Pattern):
		return false
	case t.A != nil && !touchedGrant(f, t.A) && !(v.Unordered && t.B != nil && touchedGrant(f, t.B)):
		return false
	}
	return slices.Contains(v.Faults, f.ID) || t.A != nil && len(v.Faults) == 0
}

// touchedGrant reports whether the fault touched the client of a grant between its acquire and its
// last op.
func touchedGrant(f *history.FaultSpan, g *history.Grant) bool {
	return f.Disturbs(g.Client) && f.From <= g.LastEnd && f.To >= g.Start
}

// blameless reports whether a violation of the pattern was not brought about by a
// stop of its clients, so that a stall of the machine beside it explains nothing.
func blameless(pattern string) bool {
	switch pattern {
	case "", checker.PatternPaused, checker.PatternSeveral, checker.PatternUnexplained:
		return false
	}
	return true
}

// besideMost is how many faults a story tells that disturb neither of its clients.
const besideMost = 2

// otherFaults finds the injected faults that lay on the service, or on links of the two
// to the store, between the earlier grant and the end of what the two did: the
// latest of those that began before the later grant, and those that began after it.
func otherFaults(r *reports.Record, t *Story) []*history.FaultSpan {
	if !t.Rivals() {
		return nil
	}
	var out []*history.FaultSpan
	for _, f := range r.Faults {
		theirs := f.Service || len(f.Clients) == 0 && (f.Victim == t.A.Client || f.Victim == t.B.Client)
		if f != t.Fault && f.Injected && theirs && f.From <= max(t.A.LastEnd, t.B.LastEnd) && f.To >= t.A.End {
			out = append(out, f)
		}
	}
	before := 0
	for _, f := range out {
		if f.From <= t.B.End {
			before++
		}
	}
	if before > 1 {
		out = out[before-1:]
	}
	return out[:min(len(out), besideMost)]
}

// death finds the kill that ended the client which had the grant; nil when there was none.
func death(r *reports.Record, g *history.Grant) *history.FaultSpan {
	for _, f := range r.Faults {
		if f.Kills() && f.Disturbs(g.Client) && f.From >= g.Start {
			return f
		}
	}
	return nil
}
