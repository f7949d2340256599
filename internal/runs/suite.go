package runs

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Run is one suite: scenarios side by side, each in a sandbox of its own.
type Run struct {
	Settings Settings
	// Name and About are the suite's. Command is what a user types to have the same again.
	Name, About, Command string
	// Plans are the scenarios with their seed; of a sharded run those of all shards, until Prepare.
	Plans []scenarios.Plan
	// Screen shows the run, and Where is where hosts live.
	Screen *screen.Screen
	Where  Runtime

	// Label tells apart the repetitions of a run, beside a scenario's name on
	// the screen; "" where there is one.
	Label string
	// Test says that the run is a test in Go; nil: it is none. It has one
	// scenario, whose folder is the run's.
	Test *GoTest
	// OnAgain, when set, is told of each try that is made again, and why.
	OnAgain func(sc reports.Scenario, why string)
	// OnEnd, when set, is told of each scenario at its end, before another takes its place.
	OnEnd func(reports.Scenario)
	// late, when set, says why it is too late to start a plan; "": it is not.
	late func(scenarios.Plan) string
	// Alone is locked by the last try of a scenario, which runs beside no other.
	Alone *sync.RWMutex
	// Exam is what is examined; nil: the run is none.
	Exam *reports.Exam

	// Dir is the run's folder, since Prepare.
	Dir   string
	began time.Time
	// pacer measures the lock of an exam; nil: nothing does.
	pacer *pacer
	// running is closed by lead when the clients of the first scenario have
	// begun, or it has come to an end without.
	running chan struct{}
	lead    func()
	record  Record
	mu      sync.Mutex // guards record.Scenarios and judged, and the writing of run.json
	// Results are the verdicts of the plans, once they have come to their ends.
	Results []Judged
	// interrupted: it was ended from outside, and not by the time budget of a gate.
	interrupted bool
}

// Do runs every scenario, then renders. Its error carries the exit status.
func (s *Run) Do(ctx context.Context) error {
	suite, unwritten, err := s.Through(ctx)
	if err != nil {
		return err
	}
	// The verdicts are told even where they can't be written.
	err = s.Screen.Summarize(s.Dir, suite, func(out io.Writer) error {
		err := Tell(out, s.Dir, suite, s.Settings.NoExpect, ctx.Err() != nil)
		s.Screen.PrintFigures(out, time.Since(s.began))
		return err
	})
	if unwritten != nil {
		return exit.With(exit.Failed, unwritten)
	}
	return err
}

// Through makes the run's folder, runs every scenario, and renders; it tells nothing of what came
// out. unwritten is what could not be written of that.
func (s *Run) Through(ctx context.Context) (suite reports.Suite, unwritten, err error) {
	began := time.Now()
	dir, err := MakeFolder(s.Settings.Out, began)
	if err != nil {
		return suite, nil, err
	}
	s.Prepare(dir, began)
	s.Begin()
	s.Launch(ctx, make(chan struct{}, s.Settings.Parallel))()
	unmended := s.mend(ctx)
	s.Screen.Stop()
	suite, unwritten = s.Finish()
	return suite, errors.Join(unmended, unwritten), nil
}

// Begin begins the screen of the run.
func (s *Run) Begin() {
	total, parallel, column := len(s.Plans), s.Settings.Parallel, 0
	for _, p := range s.Plans {
		column = max(column, len(p.Scenario.Name))
	}
	r := &s.record
	suite := reports.Suite{Version: r.Version, Name: Titled(r.Suite, r.Shard), Runtime: r.Runtime, Seed: r.Seed}
	s.Screen.Start(suite, total, parallel, column, func(out io.Writer) {
		harmless.Fprintf(out, "lockchaos %s · %s · %s · seed %d\n", suite.Version, suite.Name, suite.Runtime,
			suite.Seed)
		harmless.Fprintf(out, "%d scenario%s, %d at once, %s\n\n", total, spelling.Plural(total), min(parallel, total),
			scenarios.Estimate(scenarios.LengthOfAll(s.Plans, parallel)))
	})
}

// Tell says what a run came to, in the words of what it is.
func Tell(out io.Writer, dir string, suite reports.Suite, noExpect, interrupted bool) error {
	if suite.Exam != nil {
		return summarizeExam(out, dir, suite, interrupted)
	}
	return Summarize(out, dir, suite, noExpect, interrupted)
}

// Prepare leaves of the plans those of the shard, and begins the run's record; dir is its folder.
func (s *Run) Prepare(dir string, began time.Time) {
	s.Dir, s.began = dir, began
	if s.Exam != nil && s.Exam.Budget > 0 {
		s.late = s.overdue
	}
	shares := s.Settings.Shard.shares(s.Plans)
	s.Plans = s.Settings.Shard.Part(s.Plans)
	s.record = Record{Version: s.Settings.Tool.Version, Build: s.Settings.Tool.Build, Suite: s.Name, About: s.About,
		Command: s.Command, Program: s.Settings.Tool.Program, Runtime: s.Where.About(), Where: s.Settings.Words,
		Seed:     s.Plans[0].Seed,
		NoExpect: s.Settings.NoExpect, Policy: s.Settings.Policy, Started: began.UTC().Truncate(time.Second),
		Parallel: s.Settings.Parallel, Exam: s.Exam, Scenarios: make([]ScenarioRecord, len(s.Plans)),
		Shard: s.Settings.Shard.String(), Shares: shares, Test: s.Test}
	for i, p := range s.Plans {
		folder := FolderOf(p.Scenario.Name)
		if s.Test != nil {
			folder = runFolder
		}
		s.record.Scenarios[i] = ScenarioRecord{Name: p.Scenario.Name, Dir: folder, State: StateWaiting,
			Planned: p.Scenario.Duration.Std()}
	}
	s.Results = make([]Judged, len(s.Plans))
	if s.Alone == nil {
		s.Alone = new(sync.RWMutex)
	}
	s.running = make(chan struct{})
	s.lead = sync.OnceFunc(func() { close(s.running) })
	Reserve(dir, len(s.Plans))
	s.note(0, func(*ScenarioRecord) {})
}

// note changes what run.json says of a scenario. That it can't be written is
// told at the end, when it is written for good.
func (s *Run) note(i int, change func(*ScenarioRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.record.Scenarios[i])
	_ = s.record.Save(s.Dir)
}

// Finish writes the record and every report.
func (s *Run) Finish() (suite reports.Suite, unwritten error) {
	s.record.Elapsed = time.Since(s.began)
	suite = s.record.Together(s.Results)
	code := exit.OfSuite(suite, s.Settings.NoExpect)
	if s.interrupted {
		code, s.record.Interrupted = exit.Failed, true
	}
	s.record.Exit = &code
	return suite, errors.Join(s.record.SaveAtLast(s.Dir), Render(s.Dir, suite))
}

// order is that in which scenarios are started: the longest first, so that none is left over at the
// end. Of a suite the first one that must corrupt data comes before all, or else the suite's first:
// that is what its reader waits for.
func (s *Run) order() []int {
	// the most telling first: what does not fit any more tells least
	if s.Exam != nil && s.Exam.Budget > 0 {
		return longestFirst(len(s.Plans), func(int) time.Duration { return 0 })
	}
	lead := max(0, slices.IndexFunc(s.Plans, func(p scenarios.Plan) bool { return p.Scenario.Expect.Corrupts() }))
	return longestFirst(len(s.Plans), func(i int) time.Duration {
		// a lock that falls undisturbed need not be attacked
		if s.Exam == nil && i == lead || s.Exam != nil && len(s.Plans[i].Scenario.Faults) == 0 {
			return math.MaxInt64
		}
		return scenarios.LengthOf(s.Plans[i])
	})
}

// Launch starts scenarios in order, each when a place is free, and returns when
// the last one has been started; wait waits for their ends.
func (s *Run) Launch(ctx context.Context, places chan struct{}) (wait func()) {
	if s.Exam != nil {
		s.Screen.More, s.Screen.Left = s.attacked, func() time.Duration { return s.left(time.Now()) }
	}
	var all sync.WaitGroup
	over := make(chan struct{})
	var watch sync.WaitGroup
	if ctx.Err() != nil {
		s.Screen.Interrupted() // before it began: by the time that somebody watches all may be over
	} else {
		watch.Go(func() {
			select {
			case <-ctx.Done():
				s.Screen.Interrupted()
			case <-over:
			}
		})
	}
	order := s.order()
	if s.Exam != nil && s.Exam.Avoids == "" { // a masked exam goes by the pace of the first one
		s.pacer = pacerOf(s.Plans, order)
	}
	for n, i := range order {
		if n == 1 && s.Exam == nil && s.Label == "" {
			s.headStart(ctx)
		}
		p := s.Plans[i]
		if len(p.Scenario.Faults) > 0 {
			s.pacer.await(ctx)
		}
		places <- struct{}{} // here, not in the goroutine: the first in the order begins first
		if s.Settings.Steady > 0 {
			awaitRoom(ctx, s.Settings.Steady, func() int { return len(places) }, machineIsIdle)
		}
		all.Go(func() {
			defer func() { <-places; s.lead() }()
			s.tries(ctx, i, p)
		})
	}
	return func() {
		all.Wait()
		close(over)
		watch.Wait() // what is told after this comes after what it tells
		late := (*overBudget)(nil)
		s.interrupted = ctx.Err() != nil && !errors.As(context.Cause(ctx), &late)
	}
}

// headStartLimit is how long others wait for the first scenario. On a machine
// where it takes longer to start, there is no haste.
const headStartLimit = 3 * time.Second

// headStart waits until the clients of the first scenario have begun, so that
// what it shows is seen before others are started beside it.
func (s *Run) headStart(ctx context.Context) {
	select {
	case <-s.running:
	case <-time.After(headStartLimit):
	case <-ctx.Done():
	}
}

// label is what the screen calls a scenario of this run.
func (s *Run) label(p scenarios.Plan) string { return p.Scenario.Name + s.Label }
