package witness

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// unit is what is kept or left out as a whole: an op with its completion and its entries in the ledger, a fault with its end, or a single event.
type unit struct {
	events []int // places in the history
	op     int64 // 0: it is no op
	grant  int64 // under which the op is done, or of which an event tells; 0: none
	fault  int   // the fault's ID; 0: it is none
	key    history.KeyID
	keyed  bool
	first  *history.Event
}

// split divides the history into units, in the order of their first events. Its end, and the faults that bear on the violation, are none of them: they are
// never left out.
func (s *search) split() {
	ops, faults := map[int64]int{}, map[int]int{}
	for i := range s.h.Events {
		e := &s.h.Events[i]
		if e.Type == history.End {
			s.fixed = append(s.fixed, i)
			continue
		}
		at, known := -1, false
		switch {
		case e.Op != 0:
			at, known = ops[e.Op], has(ops, e.Op)
		case e.Fault != nil:
			at, known = faults[e.Fault.ID], has(faults, e.Fault.ID)
		}
		if known {
			s.units[at].events = append(s.units[at].events, i)
			continue
		}
		u := unit{events: []int{i}, op: e.Op, grant: e.Grant, key: e.Key, first: e}
		u.keyed = e.Op != 0 && e.Kind != history.Close || e.Type == history.Lost
		switch {
		case e.Op != 0:
			ops[e.Op] = len(s.units)
		case e.Fault != nil:
			u.fault = e.Fault.ID
			faults[u.fault] = len(s.units)
		}
		s.units = append(s.units, u)
	}
	since := s.since()
	s.units = slices.DeleteFunc(s.units, func(u unit) bool {
		bears := u.fault != 0 && s.bears(&u, since)
		if bears {
			s.fixed = append(s.fixed, u.events...)
		}
		return bears
	})
}

// since is how far back the violation reaches: a TTL before the first of its ops, for what disturbs a client then may end its session later.
func (s *search) since() int64 {
	first := s.want.At
	for i := range s.units {
		if u := &s.units[i]; u.op != 0 && s.named(u) {
			first = min(first, u.first.Time)
		}
	}
	return first - s.h.Header.TTL
}

// bears tells whether a fault lay on a client of the violation, or on the service, between then and the violation. Without it the witness would show an
// undisturbed client where the history shows a disturbed one, though the violation may look the same.
func (s *search) bears(u *unit, since int64) bool {
	from, to, closed := u.first.Time, int64(0), false
	touches := false
	for _, i := range u.events {
		e := &s.h.Events[i]
		f := e.Fault
		if f.From != 0 {
			from = min(from, f.From)
		}
		to, closed = max(to, e.Time, f.To), closed || f.Phase == "end"
		touches = touches || f.Service
		for _, g := range []*checker.GrantRef{s.want.A, s.want.B} {
			touches = touches || g != nil && (e.Client == g.Client || slices.Contains(f.Clients, g.Client))
		}
	}
	return touches && from <= max(s.want.At, s.want.To) && (to >= since || !closed)
}

func has[K comparable](m map[K]int, k K) bool { _, ok := m[k]; return ok }

// frame tells whether the unit is part of every witness's beginning: the phases, and what tells how far the ledger is known. They are few, and
// without them the judge would have to doubt.
func (u *unit) frame() bool {
	switch u.first.Type {
	case history.Mark, history.Watermark, history.Count, history.Exit:
		return true
	}
	return false
}

// named tells whether the violation names the unit, or a grant that it belongs to.
func (s *search) named(u *unit) bool {
	grants := []int64{}
	for _, g := range []*checker.GrantRef{s.want.A, s.want.B} {
		if g != nil {
			grants = append(grants, g.Grant)
		}
	}
	return u.frame() || u.fault != 0 && slices.Contains(s.want.Faults, u.fault) || u.op != 0 && slices.Contains(s.want.Ops, u.op) ||
		u.grant != 0 && (slices.Contains(grants, u.grant) || slices.Contains(s.want.Ops, u.grant))
}

// near tells whether the unit is on the violation's key, or on none.
func (s *search) near(u *unit) bool {
	return !u.keyed || int(u.key) < len(s.h.Keys) && s.h.Keys[u.key] == s.want.Key
}
