package experiments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/scenarios"
)

// What ends a repetition early.
const (
	UntilViolated   = "violated"
	UntilUnexpected = "unexpected"
)

// keptViolations is how many violations of a property are kept of a repetition:
// there may be thousands.
const keptViolations = 3

// Series is one `lockchaos run` that is repeated: runs side by side, each with
// a seed and a folder of its own.
type Series struct {
	runs.Settings
	// Repeat is how often the run is repeated at most; until ends it earlier:
	// UntilViolated, UntilUnexpected, or how many runs must be violated. "": nothing does.
	Repeat int
	Until  string
	Where  runtimes.Runtime
	Screen *screen.Screen
	// Draw makes the plans of a repetition.
	Draw func(seed uint64) ([]scenarios.Plan, error)
	// Command is what the user would type to have the repetition of a seed again,
	// whose folder is dir; whole is what he would type to have them all again.
	Command func(seed uint64, dir string) string
	Whole   string

	dir      string
	alone    sync.RWMutex // of the last tries
	mu       sync.Mutex   // guards what follows
	table    reports.Repetition
	all      []reports.Scenario // of every repetition, for junit.xml
	code     int
	violated map[uint64]bool // the seeds of runs in which a property was
	strange  bool            // something was not as expected
	errs     []error
}

// Do repeats, and tells the table of verdicts. Its error carries the exit
// status: the worst of all runs.
func (s *Series) Do(ctx context.Context, name, about string, plans []scenarios.Plan) error {
	began := time.Now()
	dir, err := runs.MakeFolder(s.Out, began)
	if err != nil {
		return err
	}
	s.dir = dir
	first := plans[0].Seed
	s.table = reports.Repetition{Suite: runs.Titled(name, s.Shard.String()), Command: s.Whole, Version: s.Tool.Version,
		Runtime: s.Where.About(), Started: began.UTC().Truncate(time.Second), Wanted: s.Repeat, Until: s.Until}
	s.save()
	s.begin(s.Shard.Part(plans), first)
	places := make(chan struct{}, s.Parallel)
	var running sync.WaitGroup
	for i := range s.Repeat {
		// a run begins when a place is free for it, and nothing has ended the repetition by then
		places <- struct{}{}
		<-places
		if s.enough() || ctx.Err() != nil {
			break
		}
		one, err := s.prepare(name, about, first+uint64(i), plans)
		if err != nil {
			s.fail(err)
			break
		}
		wait := one.Launch(ctx, places)
		running.Go(func() { wait(); s.add(one) })
	}
	running.Wait()
	s.Screen.Stop()
	s.table.Elapsed = int64(time.Since(began))
	return s.summarize(ctx)
}

// prepare prepares a repetition.
func (s *Series) prepare(name, about string, seed uint64, plans []scenarios.Plan) (*runs.Run, error) {
	if seed != plans[0].Seed {
		var err error
		if plans, err = s.Draw(seed); err != nil {
			return nil, err
		}
	}
	f := s.Settings
	f.Counted = true
	f.Seed = seed
	one := &runs.Run{Settings: f, Where: s.Where, Name: name, About: about, Plans: plans, Screen: s.Screen,
		Alone: &s.alone, Label: fmt.Sprintf(" (seed %d)", seed),
		OnEnd: func(sc reports.Scenario) { s.count(seed, sc) }}
	dir := filepath.Join(s.dir, fmt.Sprintf("seed-%d", seed))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a repetition: %w", err)
	}
	one.Command = s.Command(seed, dir)
	one.Prepare(dir, time.Now())
	return one, nil
}

// add renders a repetition and takes it into the table.
func (s *Series) add(one *runs.Run) {
	suite, unwritten := one.Finish()
	s.mu.Lock()
	defer s.mu.Unlock()
	if unwritten != nil {
		s.errs = append(s.errs, unwritten)
	}
	s.take(filepath.Base(one.Dir), suite)
	s.save()
}

// save writes how far the repetition is, for those who follow it. That it can't
// be written is told at the end, when it is written for good.
func (s *Series) save() {
	var text bytes.Buffer
	if reports.WriteRepetitionJSON(&text, s.table) == nil {
		_ = outside.Replace(s.dir, runs.RepeatFile, text.Bytes())
	}
}

// take counts a repetition, whose folder is dir. Of its scenarios only what the
// table and junit.xml tell is kept: there may be thousands.
func (s *Series) take(dir string, suite reports.Suite) {
	s.table.Add(suite.Seed, dir, suite.Scenarios)
	for _, sc := range suite.Scenarios {
		s.code = exit.Worse(s.code, exit.OfScenario(sc, s.NoExpect))
		for i := range sc.Verdict.Properties {
			p := &sc.Verdict.Properties[i]
			p.Violations = p.Violations[:min(len(p.Violations), keptViolations)]
		}
		s.all = append(s.all, sc)
	}
}

// count notes what may end the repetition.
func (s *Series) count(seed uint64, sc reports.Scenario) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sc.Result().Violates() {
		if s.violated == nil {
			s.violated = map[uint64]bool{}
		}
		s.violated[seed] = true
	}
	s.strange = s.strange || exit.OfScenario(sc, s.NoExpect) != exit.OK
}

func (s *Series) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

// enough reports whether that has come for which the runs are repeated.
func (s *Series) enough() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.Until {
	case "":
		return false
	case UntilUnexpected:
		return s.strange
	case UntilViolated:
		return len(s.violated) > 0
	}
	n, err := strconv.Atoi(s.Until)
	return err == nil && len(s.violated) >= n
}

// summarize writes the table, and tells it.
func (s *Series) summarize(ctx context.Context) error {
	switch {
	case s.table.Ended != "": // it is told again
	case ctx.Err() != nil:
		s.table.Ended = fmt.Sprintf("It was interrupted after %d of %d runs.", len(s.table.Runs), s.Repeat)
	case s.enough():
		s.table.Ended = fmt.Sprintf("It ended after %d of at most %d runs, since what it waited for (--until %s) had come.", len(s.table.Runs), s.Repeat, s.Until)
	default:
		s.table.Ended = fmt.Sprintf("All %d runs were done.", len(s.table.Runs))
	}
	s.table.Sort()
	code := s.code
	if ctx.Err() != nil || len(s.errs) > 0 {
		code = exit.Failed
	}
	s.table.Exit = &code
	suite := s.suite()
	unwritten := errors.Join(append(s.errs, s.write(suite))...)
	return s.Screen.Summarize(s.dir, suite, func(out io.Writer) error {
		if err := terminal.RepetitionText(out, s.table, s.Screen.Color); err != nil {
			return fmt.Errorf("print the table: %w", err)
		}
		harmless.Fprintf(out, "again: %s\nreport: %s\n", s.table.Command,
			reports.There(filepath.Join(s.dir, reports.IndexFile)))
		return exit.Ended(s.code, unwritten, ctx.Err() != nil)
	})
}

// suite is all that was repeated as one run, for CI systems.
func (s *Series) suite() reports.Suite {
	suite := reports.Suite{Name: s.table.Suite, Command: s.table.Command, Runtime: s.table.Runtime,
		Started: s.table.Started, Elapsed: time.Duration(s.table.Elapsed), Version: s.Tool.Version, Scenarios: s.all}
	if len(s.table.Runs) > 0 {
		suite.Seed = s.table.Runs[0].Seed
	}
	return suite
}

// write writes the repetition's own files. Each repetition has written its own.
func (s *Series) write(suite reports.Suite) error {
	return errors.Join(
		outside.Write(s.dir, runs.RepeatFile,
			func(w io.Writer) error { return reports.WriteRepetitionJSON(w, s.table) }),
		outside.Write(s.dir, reports.IndexFile, func(w io.Writer) error { return page.WriteRepetition(w, s.table) }),
		runs.RenderForCI(s.dir, suite),
	)
}

// reportSeries judges and renders every run of a repetition again, and its table.
func reportSeries(ctx context.Context, tool *runs.Tool, out *screen.Screen, dir string, r *reports.Repetition) error {
	s := &Series{Settings: runs.Settings{Tool: tool}, dir: dir, Screen: out, table: *r}
	s.Repeat, s.Until = r.Wanted, r.Until
	s.table.Runs, s.table.Scenarios = nil, nil
	for _, one := range r.Runs {
		folder, err := outside.Folder(dir, filepath.Base(one.Dir))
		if err != nil {
			return exit.Misuse(fmt.Errorf("find a repetition: %w", err))
		}
		run, suite, err := tool.JudgeRun(folder)
		if err != nil {
			return exit.Misuse(err)
		}
		if err := runs.Render(folder, suite); err != nil {
			return err
		}
		s.NoExpect = run.NoExpect
		s.take(filepath.Base(one.Dir), suite)
	}
	return s.summarize(ctx)
}

// begin begins the screen of a run that is repeated.
func (s *Series) begin(plans []scenarios.Plan, first uint64) {
	r := s.table
	total, column := len(plans)*r.Wanted, 0
	for _, p := range plans {
		column = max(column, len(p.Scenario.Name)+len(fmt.Sprintf(" (seed %d)", first+uint64(r.Wanted))))
	}
	until := ""
	if r.Until != "" {
		until = ", until " + strings.TrimSpace(r.Until)
	}
	suite := reports.Suite{Version: r.Version, Name: r.Suite, Runtime: r.Runtime, Seed: first}
	s.Screen.Start(suite, total, s.Parallel, column, func(out io.Writer) {
		harmless.Fprintf(out, "lockchaos %s · %s · %s · seeds from %d\n", r.Version, r.Suite, r.Runtime, first)
		harmless.Fprintf(out, "%d scenario%s, %d times at most%s: %d runs, %d at once, %s\n\n", len(plans),
			spelling.Plural(len(plans)), r.Wanted, until, total, min(s.Parallel, total),
			scenarios.Estimate(scenarios.LengthOfAll(slices.Repeat(plans, r.Wanted), s.Parallel)))
	})
}
