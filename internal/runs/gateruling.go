package runs

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/terminal"
)

// A gate's ruling: on all its repetitions together, at its end or again later.

// rule rules on all repetitions together, writes the ruling and tells it.
// Its error carries the exit status.
func (g *Gate) rule(interrupted bool) error {
	suite := g.suite()
	code := g.status(suite)
	broken := ""
	switch {
	case interrupted:
		code, broken = exit.Failed, "It was interrupted: the report holds what there is"
	case len(g.errs) > 0:
		code, broken = exit.Failed, errors.Join(g.errs...).Error()
	}
	ruling := reports.Gate{Policy: repositoryPath(g.File), Command: suite.Command, Version: g.Tool.Version,
		Runtime: suite.Runtime, Seed: g.Seed, Started: suite.Started, Elapsed: suite.Elapsed,
		Exit: code, Inconclusive: string(g.Policy.Inconclusive), Skipped: string(g.Policy.Skipped), Broken: broken,
		Budget: g.Policy.Budget, Demands: demands(g.Policy), Known: g.knownViolations(suite)}
	table := reports.Repetition{Suite: suite.Name, Command: suite.Command, Version: g.Tool.Version,
		Runtime: suite.Runtime, Started: suite.Started, Elapsed: int64(suite.Elapsed),
		Wanted: g.repetitions()}
	for _, r := range g.runs {
		ruling.Runs = append(ruling.Runs, reports.RepeatedRun{Seed: r.suite.Seed, Dir: r.dir})
		table.Add(r.suite.Seed, r.dir, r.suite.Scenarios)
	}
	table.Ended = fmt.Sprintf("%d of %d repetitions were begun.", len(g.runs), table.Wanted)
	unwritten := errors.Join(append(g.errs, g.write(ruling, table, suite))...)
	g.Screen.Ruling = "gate " + ruling.Ruling(suite)
	return g.Screen.Summarize(g.dir, suite, func(out io.Writer) error {
		var err error
		if table.Wanted > 1 {
			err = terminal.RepetitionText(out, table, g.Screen.Color)
		} else {
			err = terminal.Matrix(out, suite, g.Screen.Color, g.Screen.Width)
		}
		if err := errors.Join(err, terminal.GateText(out, ruling, suite, g.Screen.Color)); err != nil {
			return fmt.Errorf("print the ruling: %w", err)
		}
		harmless.Fprintf(out, "again: %s\nreport: %s\n", suite.Command,
			reports.There(filepath.Join(g.dir, reports.IndexFile)))
		TellAdds(out, suite)
		return exit.Ended(code, unwritten, interrupted)
	})
}

// suite is every repetition as one run.
func (g *Gate) suite() reports.Suite {
	all := reports.Suite{Name: Titled("gate "+filepath.Base(g.File), g.Shard.String()), Command: g.Command,
		Seed: g.Seed, Started: g.began.UTC().Truncate(time.Second), Elapsed: g.elapsed, Version: g.Tool.Version}
	for i, r := range g.runs {
		if i == 0 {
			all.Versions, all.StandIns, all.About, all.Runtime = r.suite.Versions, r.suite.StandIns, r.suite.About,
				r.suite.Runtime
		}
		for _, sc := range r.suite.Scenarios {
			sc.Dir = filepath.Join(r.dir, sc.Dir)
			all.Scenarios = append(all.Scenarios, sc)
		}
	}
	for _, r := range g.Policy.Remarks(seenIn(all), all.Started) {
		all.Remarks = append(all.Remarks, reports.Remark{Level: reports.Note, Rule: r.Rule, Text: r.Text,
			File: repositoryPath(g.Policy.File), Line: r.Line})
	}
	return all
}

// seenIn is what the runs showed, as a policy sees it.
func seenIn(s reports.Suite) (all []policy.Seen) {
	for _, sc := range s.Scenarios {
		all = append(all, seenOf(sc))
	}
	return all
}

// demands are what the policy asks for, scenario by scenario.
func demands(p *policy.Policy) (all []reports.Demand) {
	for _, r := range p.Runs {
		d := reports.Demand{Scenario: r.Name, Names: r.Demand.Names, Word: "all"}
		if r.Demand.Expected {
			d.Word = "expected"
		}
		all = append(all, d)
	}
	return all
}

// knownViolations is what the policy tolerates, beside what the runs showed of it on the day of the
// gate.
func (g *Gate) knownViolations(s reports.Suite) (all []reports.KnownViolation) {
	for _, k := range g.Policy.Standings(seenIn(s)) {
		all = append(all, reports.KnownViolation{Scenario: k.Scenario, Property: k.Property, Kind: k.Kind,
			Reason: k.Reason, LastDay: k.Expires.Format(time.DateOnly),
			DaysLeft: k.DaysLeft(s.Started), Shown: k.Shown, Clear: k.Clear, Open: k.Open})
	}
	return all
}

// status is the exit status. A gate through which nothing has gone is not passed, however lenient.
func (g *Gate) status(suite reports.Suite) int {
	code, ran := exit.OfSuite(suite, false), false
	for _, sc := range suite.Scenarios {
		ran = ran || sc.Failed == "" && sc.Skipped == ""
	}
	if !ran {
		code = exit.Worse(code, exit.Inconclusive)
	}
	return code
}

// write writes the ruling and its page. Each repetition has written its own files; where there is
// one, those are the gate's, and what people and CI systems read is written again with the ruling.
func (g *Gate) write(ruling reports.Gate, table reports.Repetition, suite reports.Suite) error {
	return errors.Join(outside.Write(g.dir, GateFile,
		func(w io.Writer) error { return reports.WriteGate(w, ruling, suite) }), RenderForCI(g.dir, suite),
		outside.Write(g.dir, reports.IndexFile,
			func(w io.Writer) error { return page.WriteGateIndex(w, ruling, suite, table) }))
}

// IsGate reports whether a folder is that of a gate.
func IsGate(dir string) bool { return outside.Has(dir, GateFile) }

// ReportGate judges and rules on every run of a gate again, by the policy that
// was saved with it, as of its day.
func (t *Tool) ReportGate(out *screen.Screen, dir string) error {
	ruling, err := reports.ReadGate(dir, GateFile)
	if err != nil {
		return exit.Misuse(err)
	}
	g := &Gate{dir: dir, File: ruling.Policy, Command: ruling.Command, Screen: out, began: ruling.Started,
		elapsed: ruling.Elapsed}
	g.Tool, g.Seed = t, ruling.Seed
	interrupted := false
	for _, r := range ruling.Runs {
		folder, err := outside.Folder(dir, filepath.FromSlash(r.Dir))
		if err != nil {
			return exit.Misuse(fmt.Errorf("find a run of the gate: %w", err))
		}
		run, suite, err := t.JudgeRun(folder)
		if err != nil {
			return exit.Misuse(err)
		}
		if run.Policy == nil {
			return exit.Misuse(fmt.Errorf("%s: the run was not a gate's", folder))
		}
		if err := Render(folder, suite); err != nil {
			return err
		}
		if g.Shard.Total == 0 { // the first repetition has every scenario
			if g.Shard, err = run.shard(); err != nil {
				return exit.Misuse(err)
			}
		}
		interrupted = interrupted || run.Interrupted
		g.Policy, g.Settings.Policy = run.Policy, run.Policy
		g.runs = append(g.runs, gateRun{r.Dir, suite})
	}
	if len(g.runs) == 0 {
		return exit.Misuse(fmt.Errorf("%s: the gate has no run", dir))
	}
	return g.rule(interrupted)
}
