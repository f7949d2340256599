package witness

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// unit is what is kept or left out as a whole: an op with its completion and
// its entries in the ledger, a fault with its end, or a single event.
type unit struct {
	events []int // places in the history
	fault  *history.FaultSpan
	first  *history.Event
}

// op is the number of the op; 0: it is none.
func (u *unit) op() int64 { return u.first.Op }

// grant is the one under which the op is done, or of which an event tells; 0: none.
func (u *unit) grant() int64 { return u.first.Grant }

// split divides the history into units, in the order of their first events. Its end,
// and the faults that bear on the violation, are none of them: they are never left out.
func (s *search) split() {
	view := history.NewView(s.h)
	s.units = make([]unit, 0, len(view.Ops)+len(view.Faults)+len(view.Singles))
	add := func(places []int, fault *history.FaultSpan) {
		s.units = append(s.units, unit{events: places, fault: fault, first: &s.h.Events[places[0]]})
	}
	commits, joined := commitsOf(view)
	for _, o := range view.Ops {
		if c := commits[o]; c != nil {
			add(slices.Sorted(slices.Values(slices.Concat(o.Places, c.Places))), nil)
		} else if !joined[o] {
			add(o.Places, nil)
		}
	}
	for _, f := range view.Faults {
		add(f.Places, f)
	}
	for i, place := range view.Singles {
		if s.h.Events[place].Type == history.End {
			s.fixed = append(s.fixed, place)
			continue
		}
		add(view.Singles[i:i+1], nil)
	}
	slices.SortFunc(s.units, func(a, b unit) int { return cmp.Compare(a.events[0], b.events[0]) })
	since := s.since()
	s.units = slices.DeleteFunc(s.units, func(u unit) bool {
		bears := u.fault != nil && s.bears(u.fault, since)
		if bears {
			s.fixed = append(s.fixed, u.events...)
		}
		return bears
	})
}

// commitsOf returns the commit of each write in a transaction, and these commits. The two are one
// unit: without its commit a write that the ledger has would seem to stand when it was sent. A
// commit of several writes belongs to the last.
func commitsOf(view *history.View) (commits map[*history.Op]*history.Op, joined map[*history.Op]bool) {
	commits, joined = map[*history.Op]*history.Op{}, map[*history.Op]bool{}
	for _, g := range view.Grants {
		var wrote *history.Op
		for _, o := range g.Ops {
			switch {
			case o.Kind == history.Write:
				wrote = o
			case o.Kind == history.Commit && wrote != nil:
				commits[wrote], joined[o], wrote = o, true, nil
			}
		}
	}
	return commits, joined
}

// since is how far back the violation reaches: a TTL before the first of its
// ops, for what disturbs a client then may end its session later.
func (s *search) since() int64 {
	first := s.want.At
	for i := range s.units {
		if u := &s.units[i]; u.op() != 0 && s.named(u) {
			first = min(first, u.first.Time)
		}
	}
	return first - s.h.Header.TTL
}

// bears reports whether a fault lay on a client of the violation, or on the service,
// between then and the violation. Without it the witness would show an undisturbed client
// where the history shows a disturbed one, though the violation may look the same.
func (s *search) bears(f *history.FaultSpan, since int64) bool {
	touches := f.Service
	for _, g := range []*checker.GrantRef{s.want.A, s.want.B} {
		touches = touches || g != nil && (f.Victim == g.Client || f.Disturbs(g.Client))
	}
	from, to := s.h.Events[f.Places[0]].Time, s.h.Events[f.Places[len(f.Places)-1]].Time
	return touches && min(from, f.From) <= max(s.want.At, s.want.To) && (max(to, f.To) >= since || !f.Ended)
}

// frame reports whether the unit is part of every witness's beginning: the phases, and what tells
// how far the ledger is known. They are few, and without them the judge would have to doubt.
func (u *unit) frame() bool {
	switch u.first.Type {
	case history.Mark, history.Watermark, history.Count, history.Exit:
		return true
	}
	return false
}

// named reports whether the violation names the unit, or a grant that it belongs to.
func (s *search) named(u *unit) bool {
	grants := []int64{}
	for _, g := range []*checker.GrantRef{s.want.A, s.want.B} {
		if g != nil {
			grants = append(grants, g.Grant)
		}
	}
	return u.frame() || u.fault != nil && slices.Contains(s.want.Faults, u.fault.ID) || u.op() != 0 &&
		slices.Contains(s.want.Ops, u.op()) ||
		u.grant() != 0 && (slices.Contains(grants, u.grant()) || slices.Contains(s.want.Ops, u.grant()))
}

// near reports whether the unit is on the violation's key, or on none.
func (s *search) near(u *unit) bool {
	keyed := u.op() != 0 && u.first.Kind != history.Close || u.first.Type == history.Lost
	return !keyed || int(u.first.Key) < len(s.h.Keys) && s.h.Keys[u.first.Key] == s.want.Key
}
