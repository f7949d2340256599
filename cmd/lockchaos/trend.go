package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/reports/terminal"
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
			t, err := experiments.ReadTrend(dir)
			if err != nil {
				return exit.Misuse(err)
			}
			return writeTrend(cmd.OutOrStdout(), t)
		},
	}
}

func changes(c studies.Course) string {
	if i := c.Change(); i > 0 {
		return fmt.Sprintf("%s since %s, %s before", c.Turns[i].Result, c.Turns[i].Run, c.Turns[i-1].Result)
	}
	return ""
}

// longestMarks is how many of the newest runs have a mark.
const longestMarks = 40

func marks(c studies.Course) string {
	var b strings.Builder
	for _, t := range c.Turns[max(0, len(c.Turns)-longestMarks):] {
		b.WriteString(t.Result.Mark())
	}
	return b.String()
}

func times(c studies.Course) string {
	least, most := c.Times()
	if len(c.Turns) == 1 {
		return fmt.Sprintf("%.1f s", least.Seconds())
	}
	return fmt.Sprintf("%.1f to %.1f s", least.Seconds(), most.Seconds())
}

func writeTrend(w io.Writer, t *studies.Trend) error {
	rows := [][]string{{"SCENARIO", "RUNS", "TIMES", "CHANGED"}}
	changed := 0
	for _, c := range t.Courses {
		if c.Change() > 0 {
			changed++
		}
		rows = append(rows, []string{c.Name, marks(c), times(c), changes(c)})
	}
	if err := terminal.Table(w, rows); err != nil {
		return err
	}
	_, err := harmless.Fprintf(w, "\n%d scenario%s in %d run%s, from %s to %s; %d changed.\n", len(t.Courses),
		spelling.Plural(len(t.Courses)), len(t.Runs), spelling.Plural(len(t.Runs)), t.Runs[0], t.Runs[len(t.Runs)-1],
		changed)
	if err == nil && t.Without > 0 {
		_, err = harmless.Fprintf(w, "Left out, since they hold no run that can be read: %d folder%s.\n", t.Without,
			spelling.Plural(t.Without))
	}
	return err
}
