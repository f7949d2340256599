package shrink

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/scenarios"
)

// Judge reports whether a scenario still shows what is looked for. An error ends
// the search, unless it is that of the context.
type Judge func(ctx context.Context, s scenarios.Scenario) (shows bool, err error)

// Step is one candidate that was judged.
type Step struct {
	// What tells in a few words what differs from the smallest so far: "clients 4 → 2".
	What string
	// Shows reports whether it is still seen, so that the candidate is now the smallest.
	Shows    bool
	Scenario scenarios.Scenario
}

// Result is what a search came to.
type Result struct {
	// Trail are the scenario as it was and every reduction that was kept, in
	// order; the last is the smallest.
	Trail []Step
	// Tried counts the candidates that were judged.
	Tried int
	// Minimal: no reduction that is tried is left. Else the search was cut short.
	Minimal bool
}

// Options adjust a search. The zero value tries everything, and tells nothing.
type Options struct {
	// Valid refuses scenarios that can't be run; nil: all can.
	Valid func(scenarios.Scenario) error
	// Progress is told of each candidate, when it has been judged.
	Progress func(Step)
	// Most bounds how many candidates are judged; 0: nothing does.
	Most int
}

// Reduce searches, from a scenario that shows what the judge looks for. The end
// of the context cuts it short, and is no error.
func Reduce(ctx context.Context, from scenarios.Scenario, judge Judge, o Options) (Result, error) {
	s := &search{ctx: ctx, judge: judge, opts: o, known: map[string]bool{fmt.Sprintf("%+v", from): true},
		bounds: map[string]int64{}, best: from}
	s.result.Trail = []Step{{What: "as it was", Shows: true, Scenario: from}}
	for !s.over() {
		before := len(s.result.Trail)
		for _, reduce := range passes {
			reduce(s)
		}
		if len(s.result.Trail) == before {
			s.result.Minimal = !s.over()
			break
		}
	}
	s.margins(from)
	return s.result, s.err
}

// passes are the reductions, those first that make the others cheaper.
var passes = []func(*search){(*search).faults, (*search).strikes, (*search).duration, (*search).clients, (*search).keys,
	(*search).combinations, (*search).lengths, (*search).workload}

// search is the state of one reduction.
type search struct {
	ctx    context.Context
	judge  Judge
	opts   Options
	best   scenarios.Scenario
	known  map[string]bool  // what was judged, by its text
	bounds map[string]int64 // up to where a number or a time was found not to show
	result Result
	err    error
}

// over reports whether nothing more is to be tried.
func (s *search) over() bool {
	return s.err != nil || s.ctx.Err() != nil || s.opts.Most > 0 && s.result.Tried >= s.opts.Most
}

// try judges a candidate, and keeps it if it shows.
func (s *search) try(what string, candidate scenarios.Scenario) bool {
	text := fmt.Sprintf("%+v", candidate)
	if _, judged := s.known[text]; judged || s.over() {
		return false // what shows becomes the best, so what was judged and is not, does not show
	}
	if s.opts.Valid != nil && s.opts.Valid(candidate) != nil {
		s.known[text] = false
		return false
	}
	shows, err := s.judge(s.ctx, candidate)
	if s.ctx.Err() != nil {
		return false // judged in haste
	}
	if err != nil {
		s.err = fmt.Errorf("%s: %w", what, err)
		return false
	}
	s.known[text] = shows
	s.result.Tried++
	step := Step{what, shows, candidate}
	if shows {
		s.best = candidate
		s.result.Trail = append(s.result.Trail, step)
	}
	if s.opts.Progress != nil {
		s.opts.Progress(step)
	}
	return shows
}

// Confirm returns how much of the trail a second, stricter judge confirms: it
// asks about the smallest, then about the one before it, and so on. What comes
// first is taken on trust. The end of the context is an error here.
func Confirm(ctx context.Context, trail []Step, judge Judge) ([]Step, error) {
	for len(trail) > 1 {
		shows, err := judge(ctx, trail[len(trail)-1].Scenario)
		if ctx.Err() != nil {
			return trail, ctx.Err()
		}
		if err != nil {
			return trail, err
		}
		if shows {
			break
		}
		trail = trail[:len(trail)-1]
	}
	return trail, nil
}
