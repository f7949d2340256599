package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/spelling"
)

func trendCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "trend [DIR]",
		Short: "Show what each scenario came to over the runs of a folder, and when that changed",
		Long: `Reads the runs in a folder ("runs", if none is named), the oldest first. Each scenario has a line: a
mark for each run in which it took part, how long it took, and since which run it has its present
outcome. The latest change comes first. Each repetition counts as a run.`,
		Example: "  lockchaos trend\n  lockchaos trend nightly/runs",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "runs"
			if len(args) > 0 {
				dir = args[0]
			}
			t, err := readTrend(dir)
			if err != nil {
				return exit.Misuse(err)
			}
			return t.write(cmd.OutOrStdout())
		},
	}
}

// course is what a scenario came to, run by run.
type course struct {
	name string
	all  []turn
}

// turn is what it came to in one run.
type turn struct {
	run     string // the run's folder, below that which was named
	result  reports.Result
	elapsed time.Duration
}

// change is the first turn of those that came to what the last one did, by its place; 0: it never changed.
func (c course) change() int {
	for i := len(c.all) - 1; i > 0; i-- {
		if c.all[i-1].result != c.all[i].result {
			return i
		}
	}
	return 0
}

func (c course) changed() string {
	if i := c.change(); i > 0 {
		return fmt.Sprintf("%s since %s, %s before", c.all[i].result, c.all[i].run, c.all[i-1].result)
	}
	return ""
}

// longestMarks is how many of the newest runs have a mark.
const longestMarks = 40

func (c course) marks() string {
	var b strings.Builder
	for _, t := range c.all[max(0, len(c.all)-longestMarks):] {
		b.WriteString(t.result.Mark())
	}
	return b.String()
}

func (c course) times() string {
	byLength := func(a, b turn) int { return cmp.Compare(a.elapsed, b.elapsed) }
	least, most := slices.MinFunc(c.all, byLength).elapsed.Seconds(), slices.MaxFunc(c.all, byLength).elapsed.Seconds()
	if len(c.all) == 1 {
		return fmt.Sprintf("%.1f s", least)
	}
	return fmt.Sprintf("%.1f to %.1f s", least, most)
}

// trend is the scenarios of a folder's runs.
type trend struct {
	runs    []string // the oldest first
	courses []course
	without int // folders that hold no run
}

func readTrend(dir string) (*trend, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	t := &trend{}
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
				t.without++
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
		t.runs = append(t.runs, named[run])
		for _, r := range run.Scenarios {
			t.add(named[run], r)
		}
	}
	return t, nil
}

// add adds what a scenario came to in a run, unless it came to nothing there.
func (t *trend) add(run string, r runs.ScenarioRecord) {
	var result reports.Result
	if r.State != runs.StateEnded || result.UnmarshalText([]byte(r.Result)) != nil || result == reports.Skipped {
		return
	}
	i := slices.IndexFunc(t.courses, func(c course) bool { return c.name == r.Name })
	if i < 0 {
		i, t.courses = len(t.courses), append(t.courses, course{name: r.Name})
	}
	t.courses[i].all = append(t.courses[i].all, turn{run, result, r.Elapsed})
}

func (t *trend) write(w io.Writer) error {
	place := func(c course) int {
		if i := c.change(); i > 0 {
			return slices.Index(t.runs, c.all[i].run)
		}
		return -1
	}
	slices.SortStableFunc(t.courses, func(a, b course) int { return place(b) - place(a) })
	rows := [][]string{{"SCENARIO", "RUNS", "TIMES", "CHANGED"}}
	changed := 0
	for _, c := range t.courses {
		if c.change() > 0 {
			changed++
		}
		rows = append(rows, []string{c.name, c.marks(), c.times(), c.changed()})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	_, err := harmless.Fprintf(w, "\n%d scenario%s in %d run%s, from %s to %s; %d changed.\n", len(t.courses), spelling.Plural(len(t.courses)), len(t.runs), spelling.Plural(len(t.runs)), t.runs[0], t.runs[len(t.runs)-1], changed)
	if err == nil && t.without > 0 {
		_, err = harmless.Fprintf(w, "Left out, since they hold no run that can be read: %d folder%s.\n", t.without, spelling.Plural(t.without))
	}
	return err
}
