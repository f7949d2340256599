package director

import (
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// schedule is when a planned fault comes, as the nemesis knows it.
func schedule(f scenarios.Fault) nemesis.Schedule {
	s := nemesis.Schedule{After: f.After.Std(), Every: nemesis.Interval{Min: f.Every.Min.Std(), Max: f.Every.Max.Std()},
		Grants: f.Grant}
	for _, i := range f.At {
		s.At = append(s.At, nemesis.Instant{At: i.At.Std(), Jitter: i.Jitter.Std()})
	}
	return s
}

// program is what a planned fault does, as the nemesis knows it. place is that
// of the last single fault before it; each takes the next.
func program(f scenarios.Fault, place *int) nemesis.Program {
	var p nemesis.Program
	for _, part := range f.Sequence {
		one := program(part.Within(f), place)
		one.After = part.After.Std()
		p.Sequence = append(p.Sequence, one)
	}
	for _, part := range f.Mix {
		p.Mix = append(p.Mix, nemesis.Choice{Weight: max(part.Weight, 1), Program: program(part.Within(f), place)})
	}
	if len(f.Sequence) == 0 && len(f.Mix) == 0 {
		s := nemesis.Strike{Aim: nemesis.Aim{Target: nemesis.Target(f.Target), When: nemesis.Moment(f.When)}}
		for _, part := range f.Singles() {
			*place++
			s.Parts = append(s.Parts, nemesis.Part{Spec: part.Spec(), For: part.For.Std(), Place: *place})
		}
		p.Strike = &s
	}
	return p
}

// LongestFault is how long planned faults may keep a worker from answering:
// each once, one right after the other.
func LongestFault(plan scenarios.Plan) (d time.Duration) {
	for _, f := range plan.Scenario.Faults {
		d += f.Longest().Std()
	}
	return d
}
