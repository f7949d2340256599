package experiments

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

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/internal/shrink"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Goal is what a search is for, and how long it may take.
type Goal struct {
	Property    string
	Runs, Shows int
	Budget      time.Duration
	Most        int
	File        string
}

// Shrinking is one search.
type Shrinking struct {
	Goal
	tool  *runs.Tool
	out   *screen.Screen
	from  string // the folder, as it was named
	Plan  scenarios.Plan
	old   reports.Scenario
	tries *Trials
	began time.Time
}

// NewShrinking picks the scenario and the property in what was saved in a
// folder, which was named from.
func NewShrinking(tool *runs.Tool, g Goal, out *screen.Screen, saved *Saved, from string) (*Shrinking, error) {
	s := &Shrinking{Goal: g, tool: tool, out: out, from: from, began: time.Now()}
	return s, s.choose(saved)
}

// Do searches, and writes what it finds.
func (s *Shrinking) Do(ctx context.Context, settings runs.Settings, where runtimes.Runtime) (err error) {
	if s.tries, err = NewTrials(settings, where, "shrink"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.tries.Close()) }()
	s.out.Say(fmt.Sprintf("shrinking %s: %s must stay violated in %d of %d runs; %v at most", s.old.Name, s.Property,
		s.Shows, s.Runs, s.Budget))
	return s.search(ctx)
}

// choose picks the scenario and the property.
func (s *Shrinking) choose(saved *Saved) error {
	var names []string
	at := -1
	for i, sc := range saved.Suite.Scenarios {
		property, err := shrinkable(sc, s.Property)
		if err != nil {
			return err
		}
		if property == "" {
			continue
		}
		names, at = append(names, filepath.Join(saved.Dir, sc.Dir)), i
	}
	switch {
	case len(names) == 0 && s.Property != "":
		return fmt.Errorf("%s: %s is not violated: there is nothing to shrink", s.from, s.Property)
	case len(names) == 0:
		return fmt.Errorf("%s: nothing is violated: there is nothing to shrink", s.from)
	case len(names) > 1:
		return fmt.Errorf("%d scenarios are violated: name the folder of one:\n  %s", len(names),
			strings.Join(names, "\n  "))
	}
	s.Plan, s.old = saved.Plans[at], saved.Suite.Scenarios[at]
	s.Property, _ = shrinkable(s.old, s.Property)
	s.Plan.Scenario.Name = shrunkName(s.old.Name)
	if s.File == "" {
		s.File = s.old.Dir + ".min.yaml"
	}
	if _, err := os.Stat(s.File); err == nil {
		return fmt.Errorf("%s is there already, and is left as it is: name another file with --write", s.File)
	}
	return nil
}

// shrunkName is the name of a scenario that was reduced.
func shrunkName(name string) string { return strings.TrimSuffix(name, "/shrunk") + "/shrunk" }

// shrinkable is the property whose violation is to stay: the one that is asked for, or one
// that was not expected, or one that harms data, or the first; "" if nothing is violated.
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
			return "", fmt.Errorf("there is no property %q%s; one of %s", asked, spelling.Suggest(asked, names),
				strings.Join(names, ", "))
		}
		violated, strange = slices.DeleteFunc(violated, func(name string) bool { return name != asked }), nil
	}
	from := violated
	if len(strange) > 0 {
		from = strange
	}
	for _, name := range Harmful {
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
func (s *Shrinking) search(ctx context.Context) error {
	first, err := s.tries.Vote(ctx, s.Plan, s.Property, s.Runs, s.Shows)
	if err != nil {
		return interrupted(ctx, err)
	}
	if first.Shown < s.Shows {
		return exit.With(exit.Inconclusive,
			fmt.Errorf("%s was violated in %d of %d runs (%d failed), and has to be in %d: try --shows %d, or more --runs", s.Property, first.Shown, s.Runs, first.Failed, s.Shows,
				max(1, first.Shown)))
	}
	s.say("as it was: still violated", first)
	limited, cancel := context.WithTimeout(ctx, s.Budget)
	defer cancel()
	var last TrialCounts
	judge := func(ctx context.Context, sc scenarios.Scenario) (bool, error) {
		var err error
		last, err = s.tries.Vote(ctx, scenarios.Plan{Seed: s.Plan.Seed, Scenario: sc}, s.Property, s.Runs, s.Shows)
		return last.Shown >= s.Shows, err
	}
	r, err := shrink.Reduce(limited, s.Plan.Scenario, judge,
		shrink.Options{Valid: func(sc scenarios.Scenario) error { return Runnable(s.tool.Catalogue(), sc) },
			Most: s.Most, Progress: func(step shrink.Step) {
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

// confirm runs the smallest twice as often with other seeds, steps back where
// that does not confirm it, and writes what does.
func (s *Shrinking) confirm(ctx context.Context, r shrink.Result) error {
	var last TrialCounts
	trail, err := shrink.Confirm(ctx, r.Trail, func(ctx context.Context, sc scenarios.Scenario) (bool, error) {
		var err error
		last, err = s.tries.Vote(ctx, scenarios.Plan{Seed: s.Plan.Seed + 1000, Scenario: sc}, s.Property, 2*s.Runs, 0)
		confirmed := last.Shown >= 2*s.Shows
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
	if err := reports.WriteFile(s.File, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
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
	s.out.Say(fmt.Sprintf("\n%d candidates in %.0f s.%s\nwrote %s; run it: %s", r.Tried, time.Since(s.began).Seconds(),
		cut, s.File, reports.Shell(s.tool.Program, "run", s.File)))
	return nil
}

// say tells what became of a candidate.
func (s *Shrinking) say(what string, b TrialCounts) {
	text := fmt.Sprintf("%6.1f s  %s (%d of %d run%s", time.Since(s.began).Seconds(), what, b.Shown, b.Shown+b.Held,
		spelling.Plural(b.Shown+b.Held))
	if b.Failed > 0 {
		text += fmt.Sprintf(", %d failed", b.Failed)
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
