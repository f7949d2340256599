package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
)

// Course is what a scenario came to, run by run.
type Course struct {
	Name  string
	Turns []Turn
}

// Turn is what a scenario came to in one run.
type Turn struct {
	Run     string // the run's folder, below that which was named
	Result  reports.Result
	Elapsed time.Duration
}

// Change is the place of the first turn of those that came to what the last one did; 0: the scenario
// has never changed.
func (c Course) Change() int {
	for i := len(c.Turns) - 1; i > 0; i-- {
		if c.Turns[i-1].Result != c.Turns[i].Result {
			return i
		}
	}
	return 0
}

// Trend is what the scenarios of a folder's runs came to.
type Trend struct {
	Runs    []string // their folders, the oldest first
	Courses []Course // what changed last first
	Without int      // folders that hold no run that can be read
}

// ReadTrend reads the records of all runs in a folder. Each repetition counts as a run.
func ReadTrend(dir string) (*Trend, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	t := &Trend{}
	var all []*runs.Record
	named := map[*runs.Record]string{}
	for _, e := range entries {
		if !e.IsDir() { // the link to the latest is none
			continue
		}
		folders, err := runs.RepetitionsIn(filepath.Join(dir, e.Name()))
		if err != nil {
			folders = []string{filepath.Join(dir, e.Name())}
		}
		for _, folder := range folders {
			run, err := runs.Load(folder)
			if err != nil {
				t.Without++
				continue
			}
			named[run], _ = filepath.Rel(dir, folder)
			all = append(all, run)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no folder in it is one of a run", dir)
	}
	slices.SortStableFunc(all, func(a, b *runs.Record) int { return a.Started.Compare(b.Started) })
	for _, run := range all {
		t.Runs = append(t.Runs, named[run])
		for _, r := range run.Scenarios {
			t.add(named[run], r)
		}
	}
	place := func(c Course) int {
		if i := c.Change(); i > 0 {
			return slices.Index(t.Runs, c.Turns[i].Run)
		}
		return -1
	}
	slices.SortStableFunc(t.Courses, func(a, b Course) int { return place(b) - place(a) })
	return t, nil
}

// add adds what a scenario came to in a run, unless it came to nothing there.
func (t *Trend) add(run string, r runs.ScenarioRecord) {
	var result reports.Result
	if r.State != runs.StateEnded || result.UnmarshalText([]byte(r.Result)) != nil || result == reports.Skipped {
		return
	}
	i := slices.IndexFunc(t.Courses, func(c Course) bool { return c.Name == r.Name })
	if i < 0 {
		i, t.Courses = len(t.Courses), append(t.Courses, Course{Name: r.Name})
	}
	t.Courses[i].Turns = append(t.Courses[i].Turns, Turn{run, result, r.Elapsed})
}
