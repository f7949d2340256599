package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/shrink"
	"github.com/lockchaos/lockchaos/spelling"
)

// shrinkFlags are the settings of `lockchaos shrink`.
type shrinkFlags struct {
	runFlags
	property    string
	runs, shows int
	budget      time.Duration
	most        int
	file        string
}

func shrinkCommand() *cobra.Command {
	var f shrinkFlags
	cmd := &cobra.Command{
		Use:   "shrink DIR",
		Short: "Reduce a scenario that shows a violation to the smallest that still does",
		Long: `Takes away faults, clients, keys, and time from the plan in a scenario's folder, for as long as the same property is still violated, and writes what is left
as a scenario file: a regression test, which "lockchaos run" runs, and which gives 1 for as long as the violation shows.

A plan does not repeat its schedule. So each candidate is run --runs times, with as many seeds, and counts as violated if --shows of them are. The smallest is run
again, twice as often with other seeds, and a step of the way is taken back where that does not confirm it.

Exit status: 0 the scenario is written, 2 the violation did not show again, 3 the harness or a service failed, 64 nothing is violated in DIR.`,
		Example: `  lockchaos shrink runs/latest/redis-setnx.pause-holder.unfenced
  lockchaos shrink runs/latest/my-lock.random --property ` + checker.LostUpdate +
			` --runs 5 --shows 4 --budget 20m --write tests/lost-update.yaml`,
		Args: oneFolder("shrink"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.runs < 1 || f.shows < 1 || f.shows > f.runs {
				return exit.Misuse(fmt.Errorf("--shows %d of --runs %d: it must show in one run at least, and can in no more than are run", f.shows, f.runs))
			}
			if f.budget <= 0 || f.most < 0 {
				return exit.Misuse(fmt.Errorf("--budget %v --tries %d: the search needs some time, and some tries (0: no bound)", f.budget, f.most))
			}
			saved, err := loadSaved(ours(), args[0])
			if err != nil {
				return exit.Misuse(err)
			}
			if err := errors.Join(f.sameWhere(cmd, saved.run), f.checkWhere()); err != nil {
				return exit.Misuse(err)
			}
			return f.shrink(cmd.Context(), screen.New(cmd.OutOrStdout()), saved, args[0])
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	flags.StringVar(&f.property, "property", "", "the property that must stay violated (default: one that was not expected to be; of several the one that harms data)")
	flags.IntVar(&f.runs, "runs", 3, "how often each candidate is run")
	flags.IntVar(&f.shows, "shows", 3, "in how many of these runs the property must be violated")
	flags.DurationVar(&f.budget, "budget", 5*time.Minute, "how long to search")
	flags.IntVar(&f.most, "tries", 0, "how many candidates to try at most (default: as many as the budget allows)")
	flags.StringVar(&f.file, "write", "", "file for the scenario (default: the name of the folder and .min.yaml, here)")
	return cmd
}

// shrinking is one search.
type shrinking struct {
	shrinkFlags
	out   *screen.Screen
	from  string // the folder, as it was named
	plan  scenarios.Plan
	old   reports.Scenario
	tries *trials
	began time.Time
}

// shrink searches, and writes what it finds.
func (f shrinkFlags) shrink(ctx context.Context, out *screen.Screen, saved *savedRun, from string) (err error) {
	s := &shrinking{shrinkFlags: f, out: out, from: from, began: time.Now()}
	if err := s.choose(saved); err != nil {
		return exit.Misuse(err)
	}
	if err := runs.WithoutSecrets([]scenarios.Plan{s.plan}); err != nil {
		return err
	}
	where, err := runtimes.Choose(ctx, s.runFlags.Where, kindOf, []scenarios.Plan{s.plan}, out.Say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	if s.Runtime == runtimes.Compose {
		s.Parallel = 1
	}
	if s.tries, err = newTrials(s.complete(), where, "shrink"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.tries.close()) }()
	out.Say(fmt.Sprintf("shrinking %s: %s must stay violated in %d of %d runs; %v at most", s.old.Name, s.property, s.shows, s.runs, s.budget))
	return s.search(ctx)
}

// choose picks the scenario and the property.
func (s *shrinking) choose(saved *savedRun) error {
	var names []string
	at := -1
	for i, sc := range saved.suite.Scenarios {
		property, err := shrinkable(sc, s.property)
		if err != nil {
			return err
		}
		if property == "" {
			continue
		}
		names, at = append(names, filepath.Join(saved.dir, sc.Dir)), i
	}
	switch {
	case len(names) == 0 && s.property != "":
		return fmt.Errorf("%s: %s is not violated: there is nothing to shrink", s.from, s.property)
	case len(names) == 0:
		return fmt.Errorf("%s: nothing is violated: there is nothing to shrink", s.from)
	case len(names) > 1:
		return fmt.Errorf("%d scenarios are violated: name the folder of one:\n  %s", len(names), strings.Join(names, "\n  "))
	}
	s.plan, s.old = saved.plans[at], saved.suite.Scenarios[at]
	s.property, _ = shrinkable(s.old, s.property)
	s.plan.Scenario.Name = shrunkName(s.old.Name)
	if s.file == "" {
		s.file = s.old.Dir + ".min.yaml"
	}
	if _, err := os.Stat(s.file); err == nil {
		return fmt.Errorf("%s is there already, and is left as it is: name another file with --write", s.file)
	}
	return nil
}

// shrunkName is the name of a scenario that was reduced.
func shrunkName(name string) string { return strings.TrimSuffix(name, "/shrunk") + "/shrunk" }

// shrinkable is the property whose violation is to stay: the one that is asked for, or one that was not expected, or one that harms data, or the first; "" if
// nothing is violated.
func shrinkable(sc reports.Scenario, asked string) (string, error) {
	var names, violated, strange []string
	for _, p := range sc.Verdict.Properties {
		names = append(names, p.Name)
		if p.Outcome != checker.Violated {
			continue
		}
		violated = append(violated, p.Name)
		if slices.ContainsFunc(sc.Expect, func(e reports.Expectation) bool { return e.Property == p.Name && !e.Met }) {
			strange = append(strange, p.Name)
		}
	}
	if asked != "" {
		if len(names) > 0 && !slices.Contains(names, asked) {
			return "", fmt.Errorf("there is no property %q%s; one of %s", asked, suggest(asked, names), strings.Join(names, ", "))
		}
		violated, strange = slices.DeleteFunc(violated, func(name string) bool { return name != asked }), nil
	}
	from := violated
	if len(strange) > 0 {
		from = strange
	}
	for _, name := range harmful {
		if slices.Contains(from, name) {
			return name, nil
		}
	}
	if len(from) == 0 {
		return "", nil
	}
	return from[0], nil
}

// search reduces, confirms and writes.
func (s *shrinking) search(ctx context.Context) error {
	first, err := s.tries.vote(ctx, s.plan, s.property, s.runs, s.shows)
	if err != nil {
		return interrupted(ctx, err)
	}
	if first.shown < s.shows {
		return exit.With(exit.Inconclusive, fmt.Errorf("%s was violated in %d of %d runs (%d failed), and has to be in %d: try --shows %d, or more --runs", s.property, first.shown, s.runs, first.failed, s.shows,
			max(1, first.shown)))
	}
	s.say("as it was: still violated", first)
	limited, cancel := context.WithTimeout(ctx, s.budget)
	defer cancel()
	var last ballot
	judge := func(ctx context.Context, sc scenarios.Scenario) (bool, error) {
		var err error
		last, err = s.tries.vote(ctx, scenarios.Plan{Seed: s.plan.Seed, Scenario: sc}, s.property, s.runs, s.shows)
		return last.shown >= s.shows, err
	}
	r, err := shrink.Reduce(limited, s.plan.Scenario, judge, shrink.Options{Valid: runnable, Most: s.most, Progress: func(step shrink.Step) {
		if step.Shows {
			s.say(step.What+": still violated", last)
		} else {
			s.say(step.What+": no longer", last)
		}
	}})
	if err != nil || ctx.Err() != nil {
		return interrupted(ctx, err)
	}
	return s.confirm(ctx, r)
}

// confirm runs the smallest twice as often with other seeds, steps back where that does not confirm it, and writes what does.
func (s *shrinking) confirm(ctx context.Context, r shrink.Result) error {
	var last ballot
	trail, err := shrink.Confirm(ctx, r.Trail, func(ctx context.Context, sc scenarios.Scenario) (bool, error) {
		var err error
		last, err = s.tries.vote(ctx, scenarios.Plan{Seed: s.plan.Seed + 1000, Scenario: sc}, s.property, 2*s.runs, 0)
		confirmed := last.shown >= 2*s.shows
		text := "confirmed"
		if !confirmed {
			text = "not confirmed: one step back"
		}
		s.say(text, last)
		return confirmed, err
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	if len(trail) == 1 {
		s.out.Say("nothing could be taken away")
	}
	text, err := s.yaml(trail, r, last)
	if err != nil {
		return err
	}
	if err := reports.WriteFile(s.file, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	s.out.Say("")
	for _, step := range trail[1:] {
		s.out.Say("  " + step.What)
	}
	cut := ""
	if !r.Minimal {
		cut = " The search was cut short: --budget and --tries give it more."
	}
	s.out.Say(fmt.Sprintf("\n%d candidates in %.0f s.%s\nwrote %s; run it: %s", r.Tried, time.Since(s.began).Seconds(), cut, s.file, reports.Shell(os.Args[0], "run", s.file)))
	return nil
}

// say tells what became of a candidate.
func (s *shrinking) say(what string, b ballot) {
	text := fmt.Sprintf("%6.1f s  %s (%d of %d run%s", time.Since(s.began).Seconds(), what, b.shown, b.shown+b.held, spelling.Plural(b.shown+b.held))
	if b.failed > 0 {
		text += fmt.Sprintf(", %d failed", b.failed)
	}
	s.out.Say(text + ")")
}

// interrupted is the error of a search that was, or that failed.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exit.With(exit.Failed, errors.New("interrupted: nothing is written"))
	}
	return err
}
