package witness

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// Witness is a part of a history that shows a violation of the whole.
type Witness struct {
	*history.History
	// Minimal reports whether it is 1-minimal: else the search has come to its
	// bound, and a smaller witness would have been found with more patience.
	Minimal bool
}

// Ops counts the ops of the witness.
func (w Witness) Ops() int { return len(w.Kept()) }

// Kept are the numbers of its ops, in the order in which they were asked.
func (w Witness) Kept() (ops []int64) {
	for i := range w.Events {
		if w.Events[i].Type == history.Invoke {
			ops = append(ops, w.Events[i].Op)
		}
	}
	return ops
}

// effort bounds a search, in events judged: some seconds.
const effort = 50_000_000

// Smallest reduces a history to what is needed for one of its violations, as
// the judge found it (checker.Judge with the options given). The events that
// are left are those of h, in its order. It is an error if the judge does not
// find the violation in h. A cut history gives a witness that is cut.
func Smallest(h *history.History, v checker.Violation, o checker.Options) (Witness, error) {
	s := search{h: h, want: v, opts: o, left: effort}
	s.opts.OnViolation = nil
	s.split()
	kept := s.begin()
	if kept == nil {
		return Witness{}, fmt.Errorf("witness: the judge does not find this violation of %s in the history: %s",
			v.Property, v.Text)
	}
	for _, level := range []level{byGrant, byUnit} {
		kept = s.reduce(kept, level)
	}
	part := s.history(kept)
	s.untell(part)
	return Witness{History: part, Minimal: s.left > 0}, nil
}

// partial says of a property why a part of a history is not judged by it.
const partial = "This is a part of a history, and what it leaves out decides this property."

// untell has a part judged by no property whose violations in it are not those
// of the whole: what is left out may be all that speaks against them. Without
// the grants before it, a client seems to wait for a free key.
func (s *search) untell(part *history.History) {
	others := checker.Judge(part, s.opts).Properties
	others = slices.DeleteFunc(others, func(p checker.PropertyResult) bool {
		return p.Name == s.want.Property ||
			p.Outcome != checker.Violated
	})
	if len(others) == 0 {
		return
	}
	whole := checker.Judge(s.h, s.opts)
	for _, p := range others {
		if slices.ContainsFunc(p.Violations,
			func(v checker.Violation) bool { return !tells(whole.Property(p.Name), v) }) {
			untold := map[string]string{p.Name: partial}
			maps.Copy(untold, part.Header.Untold)
			part.Header.Untold = untold
		}
	}
	if !s.in(part) { // the violation needs the other property: its severity is that of the harm
		part.Header.Untold = s.h.Header.Untold
	}
}

// tells reports whether a verdict on a property has a violation like another:
// of the same grants, in the same words.
func tells(p *checker.PropertyResult, v checker.Violation) bool {
	return p != nil && slices.ContainsFunc(p.Violations, func(x checker.Violation) bool { return x.Text == v.Text })
}

// search is the state of one reduction.
type search struct {
	h     *history.History
	want  checker.Violation
	opts  checker.Options
	units []unit
	// the places of the events that every part has: the End event, if there is
	// one, and the faults that bear on the violation
	fixed []int
	left  int // events that may still be judged
}

// shows reports whether the judge still finds the violation, unchanged, in these units alone.
func (s *search) shows(kept []int) bool { return s.in(s.history(kept)) }

// in reports whether the judge finds the violation, unchanged, in a part of the history.
func (s *search) in(part *history.History) bool {
	s.left -= len(part.Events)
	verdict := checker.Judge(part, s.opts)
	for _, p := range verdict.Properties {
		if p.Name == s.want.Property {
			return slices.ContainsFunc(p.Violations, s.same)
		}
	}
	return false
}

// same reports whether a violation is the one that is looked for, in every particular.
func (s *search) same(v checker.Violation) bool { return reflect.DeepEqual(v, s.want) }

// history is the part of the whole that consists of these units.
func (s *search) history(kept []int) *history.History {
	part := &history.History{Header: s.h.Header, Keys: s.h.Keys, Truncated: s.h.Truncated, Line: s.h.Line}
	places := slices.Clone(s.fixed)
	for _, u := range kept {
		places = append(places, s.units[u].events...)
	}
	slices.Sort(places)
	for _, i := range places {
		part.Events = append(part.Events, s.h.Events[i])
	}
	return part
}

// begin finds units to start from, few if that is enough: those that the
// violation names, with the grants that they belong to; then everything on the
// same key; then everything. It returns nil if not even that shows the violation.
func (s *search) begin() []int {
	for _, fits := range []func(*unit) bool{s.named, s.near, func(*unit) bool { return true }} {
		var kept []int
		for i := range s.units {
			if fits(&s.units[i]) {
				kept = append(kept, i)
			}
		}
		if s.shows(kept) {
			return kept
		}
	}
	return nil
}
