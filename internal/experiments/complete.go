package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/exhaustive"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Complete tries each fault at each place of the smallest application, instead of what seeds draw,
// and with two Faults then pairs of them.
// It writes a report, and the plan of the first defect. command is what the user would type to have
// it again. Its error carries the exit status: that of an exam.
func (x *Exploring) Complete(ctx context.Context, settings runs.Settings, command string) (err error) {
	var programs runtimes.Programs
	defer func() { err = errors.Join(err, programs.Close()) }()
	search, err := x.searchPlaces(ctx, &programs, settings, command)
	if err != nil {
		return err
	}
	c, dir, err := search.Report(ctx)
	x.Out.Say("")
	for _, line := range c.Lines() {
		x.Out.Say(line)
	}
	x.Out.Say("report: " + filepath.Join(dir, exhaustive.PageFile))
	if err == nil && ctx.Err() == nil {
		plan, fell, failed := search.FirstDefect(ctx)
		if fell {
			return x.keep(ctx, search, plan, c.Tried)
		}
		err = failed
	}
	return exit.Ended(exhaustive.Status(c), err, ctx.Err() != nil)
}

// searchPlaces does the search, as far as it is not in the journal.
func (x *Exploring) searchPlaces(ctx context.Context, programs *runtimes.Programs, settings runs.Settings,
	command string) (search *exhaustive.Search, err error) {
	if x.program, err = programs.Of(ctx, x.Lock.Adapter.Go); err != nil {
		return nil, err
	}
	folder := x.Corpus
	if folder == UsualCorpus {
		if folder, err = sim.CacheEntry(sim.Corpora, x.program.Hash); err != nil {
			return nil, err
		}
	}
	search = &exhaustive.Search{Lock: x.Lock.Kind(), Examinee: x.Lock.Examinee(), Program: x.program, Seed: x.Seed,
		For: x.For, Cores: x.Cores, Faults: x.Faults, Folder: folder, Fresh: x.Fresh, Settings: settings, Command: command, Say: x.Out.Say}
	return search, search.Do(ctx)
}

// Beside does the search for an exam of the lock, and returns what it came to, and the exit status
// of that.
func (x *Exploring) Beside(ctx context.Context, settings runs.Settings, command string) (_ *reports.ExamComplete, code int, err error) {
	var programs runtimes.Programs
	defer func() { err = errors.Join(err, programs.Close()) }()
	search, err := x.searchPlaces(ctx, &programs, settings, command)
	if err != nil {
		return nil, exit.Failed, err
	}
	c, dir, err := search.Report(ctx)
	return &reports.ExamComplete{Told: c.Told(), Report: filepath.Join(dir, exhaustive.PageFile)}, exhaustive.Status(c), err
}

// keep writes the plan of a defect, and has it replayed. It has one fault, or two of which none
// alone breaks the lock, and nothing that is drawn: there is nothing to shrink.
func (x *Exploring) keep(ctx context.Context, search *exhaustive.Search, plan scenarios.Plan, tried int) error {
	h, err := x.simulate(ctx, plan)
	if err != nil {
		return interrupted(ctx, err)
	}
	property, text := defectOf(checker.Judge(h, checker.Options{KeepDefects: true}), plan.Scenario)
	if property == "" {
		return exit.With(exit.Violated, fmt.Errorf("no certain defect in %s by itself: see the report", plan.Scenario.Name))
	}
	x.found = &finding{plan: plan, property: property, text: text}
	if err := x.aim(ctx, search); err != nil {
		return err
	}
	return x.write(ctx, plan, tried)
}

// aim looks for a plan that shows the defect by a fault at a step, and not at an instant, for the
// replay: a real run repeats no instant.
func (x *Exploring) aim(ctx context.Context, search *exhaustive.Search) error {
	if x.Then == nil {
		return nil
	}
	plan, ok := search.Aimed(x.found.plan)
	if !ok {
		return nil
	}
	seed, shows, err := x.shows(ctx, plan, x.found.property)
	if shows {
		plan.Seed = seed
		x.found.real = &plan
		x.Out.Say("a fault at that step shows it, too: that is replayed")
	}
	return err
}
