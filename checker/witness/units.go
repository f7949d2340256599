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

// split divides the history into units, in the order of their first events. Its end is none of them: it is never left out.
func (s *search) split() {
	ops, faults := map[int64]int{}, map[int]int{}
	for i := range s.h.Events {
		e := &s.h.Events[i]
		if e.Type == history.End {
			s.ends = append(s.ends, i)
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
