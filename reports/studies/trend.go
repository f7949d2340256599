package studies

import (
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/reports"
)

// Trend is what the scenarios of several runs came to.
type Trend struct {
	Runs    []string // their folders, the oldest first
	Courses []Course // what changed last first, once sorted
	Without int      // folders that hold no run that can be read
}

// Course is what a scenario came to, run by run.
type Course struct {
	Name  string
	Turns []Turn
}

// Turn is what a scenario came to in one run.
type Turn struct {
	Run     string // the run's folder
	Dir     string // the scenario's folder; "": it is not known
	Result  reports.Result
	Elapsed time.Duration
}

// Change is the place of the first turn of those that came to what the last one
// did; 0: the scenario has never changed.
func (c Course) Change() int {
	for i := len(c.Turns) - 1; i > 0; i-- {
		if c.Turns[i-1].Result != c.Turns[i].Result {
			return i
		}
	}
	return 0
}

// Times are the shortest and the longest time that it took.
func (c Course) Times() (least, most time.Duration) {
	least, most = c.Turns[0].Elapsed, c.Turns[0].Elapsed
	for _, t := range c.Turns {
		least, most = min(least, t.Elapsed), max(most, t.Elapsed)
	}
	return least, most
}

// Add adds what a scenario came to in the next run, by the word in its record,
// unless that is nothing.
func (t *Trend) Add(scenario, result string, turn Turn) {
	if turn.Result.UnmarshalText([]byte(result)) != nil || turn.Result == reports.Skipped {
		return
	}
	i := slices.IndexFunc(t.Courses, func(c Course) bool { return c.Name == scenario })
	if i < 0 {
		i, t.Courses = len(t.Courses), append(t.Courses, Course{Name: scenario})
	}
	t.Courses[i].Turns = append(t.Courses[i].Turns, turn)
}

// Sort puts first what changed last.
func (t *Trend) Sort() {
	place := func(c Course) int {
		if i := c.Change(); i > 0 {
			return slices.Index(t.Runs, c.Turns[i].Run)
		}
		return -1
	}
	slices.SortStableFunc(t.Courses, func(a, b Course) int { return place(b) - place(a) })
}
