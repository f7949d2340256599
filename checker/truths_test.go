package checker

import "slices"

// truly tells of a property whether it was violated in a world, and whether the
// history shows it: by stamps and tokens alone, for certain.
func (w *world) truly(property string) (violated, shown bool) {
	t := &w.truths
	see := func(isTrue, isShown bool) { violated, shown = violated || isTrue, shown || isTrue && isShown }
	switch property {
	case MutualExclusion:
		w.seeHolds(see)
	case UnfencedWrite:
		for i, a := range t.writes {
			for _, b := range t.writes[:i] {
				if a.key == b.key && b.g.granted > a.g.granted {
					see(true, w.after(b.g, a.g))
				}
			}
		}
	case LostUpdate:
		for i, a := range t.writes {
			for _, b := range t.writes[:i] {
				see(a.key == b.key && a.g != b.g && a.base != noBase && b.version > a.base, true)
			}
		}
	case DuplicateEffect:
		for i, a := range t.writes {
			for _, b := range t.writes[:i] {
				see(a.key == b.key && a.op != b.op && (w.workload == workloadPayment || a.value == b.value), true)
			}
		}
	case TokenOrder:
		for i, b := range t.order {
			for _, a := range t.order[:i] {
				if a.key == b.key && w.outOfOrder(a, b) {
					see(true, a.answered && b.answered && (b.first > a.end || a.token == b.token || b.token > a.token))
				}
			}
		}
	case Continuity:
		for _, x := range t.vouches {
			for _, b := range t.order {
				if b.key == x.g.key && b.client != x.g.client && b.granted > x.g.granted && b.granted < x.at {
					see(true, w.after(b, x.g) && t.starts[x.op] > b.end)
				}
			}
		}
	case DeadGrant:
		for _, g := range t.order {
			if w.session {
				stopped := slices.ContainsFunc(w.paused[g.client], func(p [2]int64) bool {
					return g.enqueued != 0 && p[0] >= g.enqueued && p[1] <= g.end && p[1]-p[0] > worldTTL+worldSlack
				})
				see(g.dead && g.answered, stopped)
				continue
			}
			see(g.dead && g.answered, g.end > g.attempt+worldTTL+worldTTL/10 && w.calm(g.client, g.attempt, g.end))
		}
	case DeadRenewal:
		for _, x := range t.late {
			see(true, x.end > x.attempt+worldTTL+worldTTL/10 && w.calm(x.g.client, x.attempt, x.end))
		}
	case StolenRelease:
		w.seeStolen(see)
	case StuckLock:
		see(t.stuck, true)
		see(t.turnedAway, false) // it may have been too soon to ask
		see(t.slept, t.oversaw)
	case FalseBusy: // what is shown depends on all that others ask; the slow checker is held to that
		for _, is := range t.falsely {
			see(is, false)
		}
	case FalseLoss: // what is shown depends on how much of the lease is left
		for range t.denied {
			see(true, false)
		}
	case KeptKey: // and on who else asks
		for range t.kept {
			see(true, false)
		}
	case FIFO:
		for _, x := range t.jumped {
			first, passed := t.grants[x[0]], t.grants[x[1]]
			if passed != nil && passed.answered {
				see(true, w.after(passed, first) && passed.enqueued < first.start && w.calm(passed.client, passed.start, passed.end))
			}
		}
	case Starvation:
		w.seeStarved(see)
	case Deadlock:
		w.seeCycles(see)
	case Herd:
		if len(t.counted) == 2 {
			grants := t.counted[1][1] - t.counted[0][1]
			see(float64(t.counted[1][0]-t.counted[0][0]) > float64(grants)*(herdBase+float64(w.clients-1)/herdShare), grants >= herdGrants)
		}
	}
	return violated, shown
}

func (w *world) seeHolds(see func(bool, bool)) {
	t := &w.truths
	for _, x := range w.owing() {
		b, a := x[0], x[1]
		see(true, w.permits == 1 && b.answered && w.after(b, a) && w.relies(a, b.end))
	}
	if w.permits > 1 {
		for _, b := range t.order {
			see(w.crowd(b, false) >= w.permits, w.crowd(b, true) >= w.permits)
		}
		return
	}
	for i, b := range t.order {
		for _, a := range t.order[:i] {
			if a.overlaps(b) {
				see(true, a.answered && b.answered && w.begins(a) < b.lastSeen && w.begins(b) < a.lastSeen)
			}
		}
	}
}

func (w *world) seeStolen(see func(bool, bool)) {
	for _, x := range w.truths.stole {
		for _, o := range w.truths.owed {
			c, b := o[0], o[1]
			if b != x.victim || c.client == x.thief.client && c.client == b.client {
				continue
			}
			began := w.truths.starts[x.op]
			over := x.thief.end+worldTTL < began
			if w.session {
				over = x.thief.toldAt != 0 && x.thief.toldAt < began
			}
			see(began != 0, x.thief.answered && over && w.after(b, x.thief) && began > b.end && began < c.first &&
				c.first > b.end && w.relies(b, c.end) &&
				c.start-began <= worldTTL/4 && c.end-max(began, c.start) <= worldTTL/4)
		}
	}
}

func (w *world) seeStarved(see func(bool, bool)) {
	for _, x := range w.truths.waits {
		inside, seen := 0, 0
		for _, g := range w.truths.order {
			if g.client == x.client || g.key != x.key {
				continue
			}
			if g.granted > x.start && g.granted < x.end {
				inside++
			}
			if g.answered && g.start > x.start && g.end < x.end {
				seen++
			}
		}
		see(inside > patience*w.clients, seen > patience*w.clients && w.calm(x.client, x.start, x.end))
	}
}

// seeCycles looks for two clients who each had what the other waited for.
func (w *world) seeCycles(see func(bool, bool)) {
	const bound = worldTTL / 2
	had := func(x ended) (all []*truth) {
		for _, g := range w.truths.order {
			if g.client == x.client && g.key != x.key && g.granted < x.end && g.answered && g.end <= x.start {
				all = append(all, g)
			}
		}
		return all
	}
	for i, x := range w.truths.waits {
		for _, y := range w.truths.waits[:i] {
			if x.client == y.client || x.key == y.key || min(x.end, y.end)-max(x.start, y.start) < bound {
				continue
			}
			for _, a := range had(x) {
				for _, b := range had(y) {
					if a.key != y.key || b.key != x.key {
						continue
					}
					from, to := max(x.start, y.start), min(x.end, y.end)
					really := min(to, a.due, b.due) - max(from, a.granted, b.granted)
					seen := max(from, a.end, b.end)
					until := min(to, a.promise, b.promise)
					for _, g := range [2]*truth{a, b} {
						if g.releasing != 0 {
							until = min(until, g.releasing)
						}
					}
					calm := w.calm(x.client, a.first-worldTTL, until) && w.calm(y.client, b.first-worldTTL, until)
					see(really >= bound, until-seen >= bound && calm)
				}
			}
		}
	}
}

// confirms reports whether a violation that was found is true.
func (w *world) confirms(v Violation) bool {
	t := &w.truths
	switch v.Property {
	case MutualExclusion:
		a, b := t.grants[v.A.Grant], t.grants[v.B.Grant]
		for _, x := range w.owing() {
			if x == [2]*truth{b, a} || x == [2]*truth{a, b} || w.permits > 1 && (x[0] == b || x[1] == b) {
				return true
			}
		}
		if v.Kind == KindGrantedWhileValid {
			return false
		}
		return w.permits == 1 && a.overlaps(b) || w.permits > 1 && w.crowd(b, false) >= w.permits
	case UnfencedWrite, LostUpdate, DuplicateEffect:
		a, b := t.grants[v.A.Grant], t.grants[v.B.Grant]
		if v.Property == DuplicateEffect && a == b {
			break
		}
		for i, x := range t.writes {
			for _, y := range t.writes[:i] {
				if x.key == y.key && (x.g == a && y.g == b || x.g == b && y.g == a) {
					violated, _ := w.truly(v.Property)
					return violated
				}
			}
		}
		return false
	case FalseBusy:
		return t.falsely[v.Ops[len(v.Ops)-1]]
	case FalseLoss:
		// it may have given away before what it denies
		return t.denied[v.Ops[len(v.Ops)-1]] || w.defective()
	case KeptKey:
		return t.kept[v.A.Grant]
	case FIFO:
		for _, x := range t.jumped {
			if x == [2]int64{v.A.Grant, v.B.Grant} {
				return true
			}
		}
		return false
	}
	violated, _ := w.truly(v.Property)
	return violated
}
