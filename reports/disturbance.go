package reports

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
)

// disturbance finds the fault that explains the violation: of those the verdict names, else of those that touched A between
// its grant and its last op, the longest injected one, then the longest. Where the order of A and B is unknown, B is looked at as A is.
func (r *record) disturbance(t *story, ops []*op) *fault {
	if len(ops) == 0 || t.v.Property == checker.Deadlock { // where clients were disturbed, there is no deadlock
		return nil
	}
	var best *fault
	if t.v.Property == checker.StuckLock && t.a != nil {
		return r.death(t.a)
	}
	for _, f := range r.faults {
		if !f.Injected && blameless(t.v.Pattern) {
			continue
		}
		named := slices.Contains(t.v.Faults, f.ID)
		if t.a != nil && !f.met(t.a) && !(t.v.Unordered && t.b != nil && f.met(t.b)) {
			named = false
		} else if t.a != nil && len(t.v.Faults) == 0 {
			named = true
		}
		if named && (best == nil || f.Injected && !best.Injected || f.Injected == best.Injected && f.To-f.From > best.To-best.From) {
			best = f
		}
	}
	return best
}

// met reports whether the fault touched the client of a grant between its acquire and its last op.
func (f *fault) met(g *grant) bool {
	return f.touches(g.client) && f.From <= g.done && f.To >= g.start
}

// blameless tells whether a violation of the pattern was not brought about by a stop of its clients, so that a stall of the machine beside it explains nothing.
func blameless(pattern string) bool {
	switch pattern {
	case "", checker.PatternPaused, checker.PatternSeveral, checker.PatternUnexplained:
		return false
	}
	return true
}

// besideMost is how many faults a story tells that disturb neither of its clients.
const besideMost = 2

// besides finds the injected faults that lay on the service, or on links of the two to the store, between the earlier grant and the end of what
// the two did: the latest of those that began before the later grant, and those that began after it.
func (r *record) besides(t *story) []*fault {
	if !t.rivals() {
		return nil
	}
	var out []*fault
	for _, f := range r.faults {
		theirs := f.Service || len(f.Clients) == 0 && (f.victim == t.a.client || f.victim == t.b.client)
		if f != t.fault && f.Injected && theirs && f.From <= max(t.a.done, t.b.done) && f.To >= t.a.end {
			out = append(out, f)
		}
	}
	before := 0
	for _, f := range out {
		if f.From <= t.b.end {
			before++
		}
	}
	if before > 1 {
		out = out[before-1:]
	}
	return out[:min(len(out), besideMost)]
}

// death finds the kill that ended the client which had the grant; nil when there was none.
func (r *record) death(g *grant) *fault {
	for _, f := range r.faults {
		if f.kills() && f.touches(g.client) && f.From >= g.start {
			return f
		}
	}
	return nil
}
