package shrink

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

// The least that is tried.
const (
	leastDuration = scenarios.Duration(500 * time.Millisecond)
	leastFault    = scenarios.Duration(10 * time.Millisecond)
	leastClients  = 1
)

// faults leaves out faults: half of them at a time, then a quarter, and so on to single ones.
func (s *search) faults() {
	for size := len(s.best.Faults); size > 0; size /= 2 {
		for from := 0; from < len(s.best.Faults); {
			to := min(from+size, len(s.best.Faults))
			out := s.best.Faults[from:to]
			candidate := s.best
			candidate.Faults = slices.Concat(s.best.Faults[:from:from], s.best.Faults[to:])
			if len(candidate.Faults) == 0 {
				candidate.Faults, candidate.Quiet, candidate.Needs.Bites = nil, 0, 0
			}
			if !s.try("without "+labels(out), candidate) {
				from = to
			}
		}
	}
}

func labels(all []scenarios.Fault) string {
	var out []string
	for i := range all {
		out = append(out, all[i].Label())
	}
	return strings.Join(out, ", ")
}

// withFault is the smallest with another fault in the place of one of its faults.
func (s *search) withFault(i int, f scenarios.Fault) scenarios.Scenario {
	out := s.best
	out.Faults = slices.Clone(out.Faults)
	out.Faults[i] = f
	return out
}

// strikes lets faults strike at one grant, the first or the third, where they
// would come again and again.
func (s *search) strikes() {
	for i := range s.best.Faults {
		for _, grant := range []int64{1, 3} {
			f := s.best.Faults[i]
			if len(f.Grant) == 1 && f.Grant[0] <= grant {
				break
			}
			f.Every, f.After, f.At, f.Grant = scenarios.Range{}, 0, nil, scenarios.Numbers{grant}
			candidate := s.withFault(i, f)
			candidate.Needs.Bites = min(candidate.Needs.Bites, 1)
			if s.try(fmt.Sprintf("%s once, at grant %d", f.Label(), grant), candidate) {
				break
			}
		}
	}
}

// combinations puts a part in the place of its whole, or leaves parts out.
func (s *search) combinations() {
	for i := range s.best.Faults {
		for s.part(i) && !s.over() {
			continue
		}
	}
}

// part takes one step with a combination, and reports whether it could.
func (s *search) part(i int) bool {
	whole := s.best.Faults[i]
	for _, p := range whole.Parts() {
		alone := p.Within(whole)
		alone.Every, alone.After, alone.At, alone.Grant, alone.Weight = whole.Every, whole.After, whole.At, whole.Grant,
			0
		if s.try(alone.Label()+" alone", s.withFault(i, alone)) {
			return true
		}
	}
	if len(whole.Parts()) < 3 {
		return false
	}
	for at, p := range whole.Parts() {
		less := whole
		for _, parts := range []*[]scenarios.Fault{&less.Sequence, &less.Together, &less.Mix} {
			if len(*parts) > 0 {
				*parts = slices.Delete(slices.Clone(*parts), at, at+1)
			}
		}
		if s.try("without "+p.Label(), s.withFault(i, less)) {
			return true
		}
	}
	return false
}

func (s *search) duration() {
	s.descend("duration", int64(s.best.Duration), int64(leastDuration), tenth, func(v int64) bool {
		candidate := s.best
		candidate.Duration = scenarios.Duration(v)
		return s.try(fmt.Sprintf("duration %v → %v", s.best.Duration, candidate.Duration), candidate)
	})
	if s.best.Quiet > 0 {
		candidate := s.best
		candidate.Quiet = 0
		s.try("no quiet time", candidate)
	}
}

func (s *search) clients() {
	s.descend("clients", int64(s.best.Clients), leastClients, one, func(v int64) bool {
		candidate := s.best
		candidate.Clients = int(v)
		return s.try(fmt.Sprintf("clients %d → %d", s.best.Clients, v), candidate)
	})
}

func (s *search) keys() {
	s.descend("keys", int64(s.best.Keys), 1, one, func(v int64) bool {
		candidate := s.best
		candidate.Keys = int(v)
		return s.try(fmt.Sprintf("keys %d → %d", s.best.Keys, v), candidate)
	})
}

// lengths shortens each fault.
func (s *search) lengths() {
	for i := range s.best.Faults {
		s.length(s.best.Faults[i], func(f scenarios.Fault) scenarios.Scenario { return s.withFault(i, f) })
	}
}

// length shortens a fault, or the parts of a combination; put puts it in its place.
func (s *search) length(f scenarios.Fault, put func(scenarios.Fault) scenarios.Scenario) {
	if f.For > 0 {
		s.descend(lengthOf(f), int64(f.For), int64(leastFault), tenth, func(v int64) bool {
			shorter := f
			shorter.For = scenarios.Duration(v)
			if !s.try(fmt.Sprintf("%s for %v → %v", f.Label(), f.For, shorter.For), put(shorter)) {
				return false
			}
			f = shorter
			return true
		})
	}
	for at := range f.Parts() {
		s.length(f.Parts()[at], func(p scenarios.Fault) scenarios.Scenario {
			for _, parts := range []*[]scenarios.Fault{&f.Sequence, &f.Together, &f.Mix} {
				if len(*parts) > 0 {
					*parts = slices.Clone(*parts)
					(*parts)[at] = p
				}
			}
			return put(f)
		})
	}
}

// margins lengthens faults by a quarter that were shortened to where one step
// less no longer shows: at the very edge chance decides, and another machine
// otherwise. It is not judged here; see Confirm.
func (s *search) margins(from scenarios.Scenario) {
	for i, f := range s.best.Faults {
		least, known := s.bounds[lengthOf(f)]
		longest := longestOf(from, f)
		if !known || f.For == 0 || least == 0 || f.For >= longest {
			continue
		}
		wide := f
		wide.For = min(longest, scenarios.Duration(round(int64(f.For)*5/4)))
		s.best = s.withFault(i, wide)
		s.result.Trail = append(s.result.Trail,
			Step{fmt.Sprintf("%s for %v → %v, a margin", f.Label(), f.For, wide.For), true, s.best})
	}
}

func lengthOf(f scenarios.Fault) string { return "length of " + f.Label() }

// longestOf is how long faults of that label last at most in a scenario.
func longestOf(s scenarios.Scenario, like scenarios.Fault) (d scenarios.Duration) {
	for _, f := range s.Faults {
		for _, single := range f.Singles() {
			if single.Label() == like.Label() {
				d = max(d, single.For)
			}
		}
	}
	return d
}

// workload takes away what an application does besides.
func (s *search) workload() {
	for _, simpler := range []struct {
		what   string
		change func(*scenarios.Scenario)
	}{
		{"never asks the lock", func(c *scenarios.Scenario) { c.Workload.Ask = false }},
		{"never renews", func(c *scenarios.Scenario) { c.Workload.Renew = false }},
		{"store on sqlite", func(c *scenarios.Scenario) { c.Store.Engine = "" }},
	} {
		candidate := s.best
		simpler.change(&candidate)
		s.try(simpler.what, candidate)
	}
}

// descend looks for the least value of something that shows: it tries the floor, then
// halves what lies between what shows and what does not, down to the tolerance. A bound
// that it found in an earlier round holds: less of everything else does not make more show.
func (s *search) descend(what string, from, floor int64, tolerance func(int64) int64, shows func(int64) bool) {
	low, known := s.bounds[what]
	if !known {
		if from <= floor || shows(floor) {
			return
		}
		low = floor
	}
	for high := from; high-low > tolerance(high) && !s.over(); {
		middle := round((low + high) / 2)
		if middle <= low || middle >= high {
			break
		}
		if shows(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	s.bounds[what] = low
}

// one is the tolerance of a number, tenth that of a duration.
func one(int64) int64     { return 1 }
func tenth(v int64) int64 { return max(v/10, int64(time.Millisecond)) }

// round leaves two figures of a duration of milliseconds, so that what is written can be read.
func round(v int64) int64 {
	unit := int64(1)
	for v/unit >= 100 {
		unit *= 10
	}
	if unit < int64(time.Millisecond) {
		return v // a number, or a time too short to matter
	}
	return v / unit * unit
}
