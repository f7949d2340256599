package reporttest

import (
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// outcomes makes a run whose scenarios came to these outcomes.
func outcomes(all map[string]checker.Outcome, redis string) (s reports.Suite) {
	s.Versions = []history.Part{{Name: "redis", Version: redis}, {Name: "kernel", Version: "6"}}
	for _, name := range []string{"a", "b", "c", "d", "e", "only-first", "only-second"} {
		if o, there := all[name]; there {
			x := Trial(name, o)
			x.Dir = name
			s.Scenarios = append(s.Scenarios, x)
		}
	}
	return s
}

func Comparison() studies.Comparison {
	const pass, violated, unclear = checker.Pass, checker.Violated, checker.Inconclusive
	return studies.Compare(
		outcomes(map[string]checker.Outcome{"a": pass, "b": violated, "c": violated, "d": pass, "e": unclear,
			"only-first": pass}, "7.0"),
		outcomes(map[string]checker.Outcome{"a": pass, "b": pass, "c": unclear, "d": violated, "e": pass,
			"only-second": violated}, "7.2<script>"))
}

// Knee is a curve of a lock that is safe up to its TTL.
func Knee(violated ...int) studies.Curve {
	c := studies.Curve{Lock: "mine<script>", Fault: "pause-holder", TTL: 500 * time.Millisecond,
		Property: "mutual-exclusion", Over: "duration", Runs: 2}
	for i, n := range violated {
		ratio := 0.5 + 0.5*float64(i)
		c.Points = append(c.Points, studies.CurvePoint{Ratio: ratio, Value: int64(ratio * 5e8), Struck: 10, Violated: n,
			Harmed: n / 2, Runs: 2, Shortest: int64(ratio * 5e8), Longest: int64(ratio * 6e8)})
	}
	return c
}
