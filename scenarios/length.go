package scenarios

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/checker"
)

// Overhead is what a scenario takes beside its workload, to start, heal and probe.
const Overhead = 3 * time.Second

// stuck is how much longer one takes that leaves a key which nobody gets: fresh
// clients ask for it, as the clients are closed one by one.
const stuck = 25 * time.Second

// LengthOf is how long a plan takes, as nearly as can be said before it is run.
func LengthOf(p Plan) time.Duration {
	length := p.Scenario.Duration.Std() + Overhead
	if left := p.Scenario.Expect.Properties[checker.StuckLock]; left == "violated" || left == anyOutcome &&
		len(p.Scenario.Faults) == 0 {
		length += stuck
	}
	return length
}

// Lengths says how long plans take by how long others took, here and today: on a busy machine all
// take longer, by about the same factor. Its zero value goes by LengthOf. Safe for concurrent use.
type Lengths struct {
	mu             sync.Mutex
	expected, took time.Duration
}

// forgets is the share that what was learnt before has beside each plan that has run: a machine is
// busy for a while.
const forgets = 0.8

// Add notes how long a plan took.
func (l *Lengths) Add(p Plan, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = time.Duration(forgets*float64(l.expected)) + LengthOf(p)
	l.took = time.Duration(forgets*float64(l.took)) + took
}

// Of is how long a plan takes.
func (l *Lengths) Of(p Plan) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expected <= 0 || l.took <= 0 {
		return LengthOf(p)
	}
	return time.Duration(float64(LengthOf(p)) * float64(l.took) / float64(l.expected))
}

// LengthOfAll is how long plans take that begin in their order, so many at a time.
func LengthOfAll(plans []Plan, parallel int) time.Duration {
	free := make([]time.Duration, max(1, parallel))
	longest := time.Duration(0)
	for _, p := range plans {
		first := slices.Index(free, slices.Min(free))
		free[first] += LengthOf(p)
		longest = max(longest, free[first])
	}
	return longest
}

// EstimateOf writes how long a scenario takes, as nearly as can be said before it is run.
func EstimateOf(s Scenario) string { return Estimate(LengthOf(Plan{Scenario: s})) }

// Estimate writes a length that is no more than an estimate.
func Estimate(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("about %d s", int(d.Round(time.Second).Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("about %d min", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("about %.1f h", d.Hours())
}
