package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/redact"
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
		s.Screen.More = s.attacked
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

// tries runs one scenario until a try of it stands.
func (s *Run) tries(ctx context.Context, i int, p scenarios.Plan) {
	again, calm := true, true
	for try := 1; again; try++ {
		again, calm = s.try(ctx, i, p, try, calm)
		if s.pacer != nil && s.pacer.plan == i {
			s.pacer.close()
		}
	}
}

// try runs one scenario. It returns whether that is to be tried again, and whether
// the machine was calm meanwhile. What the try has left is then put aside. The
// last try is alone if the machine was not calm during the one before it (calm).
func (s *Run) try(ctx context.Context, i int, p scenarios.Plan, try int, calm bool) (again, wasCalm bool) {
	if try > 1 && try > s.Settings.Retries && !calm {
		s.Alone.Lock()
		defer s.Alone.Unlock()
	} else {
		s.Alone.RLock()
		defer s.Alone.RUnlock()
	}
	p = s.prepared(p, try)
	began, before := time.Now(), processors()
	var r ScenarioRecord
	s.note(i, func(saved *ScenarioRecord) {
		saved.State, saved.Began, saved.Planned = StateRunning, began.UTC(), p.Scenario.Duration.Std()
		r = *saved
	})
	r.locate(s.Settings.Places[r.Name])
	if err := s.savePlan(p, r.Dir); err != nil {
		r.Failed = err.Error()
	} else if r.Skipped = s.Where.Skip(p); r.Skipped == "" {
		s.onTime(ctx, i, p, &r)
	}
	r.Elapsed = time.Since(began)
	verdict := s.Settings.Tool.JudgeScenario(s.Dir, r, &s.record)
	calm = s.Where.Traits().Virtual || processors().wasIdleSince(before)
	if try <= s.Settings.Retries && ctx.Err() == nil && s.hasTime(i, try+1) {
		if why := s.Spoilt(p, verdict.Scenario, calm); why != "" && s.putAside(r.Dir, try) == nil {
			why = fmt.Sprintf("try %d %s", try, why)
			s.Screen.Say(s.label(p) + ": " + why + ": once more")
			s.Screen.Forget(s.label(p))
			if s.OnAgain != nil {
				s.OnAgain(verdict.Scenario, why)
			}
			s.note(i, func(saved *ScenarioRecord) { saved.Spoilt, saved.First = append(saved.Spoilt, why), "" })
			return true, calm
		}
	}
	r.end(verdict.Scenario, s.Settings.NoExpect)
	s.note(i, func(saved *ScenarioRecord) {
		r.First = saved.First
		*saved, s.Results[i] = r, verdict
	})
	s.Screen.End(s.label(p), verdict.Scenario)
	if s.OnEnd != nil {
		s.OnEnd(verdict.Scenario)
	}
	return false, calm
}

// examines reports whether a plan is an attack of an exam, also of one that a policy asks for.
func (s *Run) examines(p scenarios.Plan) bool {
	return s.Exam != nil || s.Settings.Policy != nil && s.Settings.Policy.Examines(p.Scenario.Name)
}

// Spoilt says why a scenario is to be run again, as the rest of a sentence; "":
// what it came to stands. calm: the processors had time left meanwhile.
func (s *Run) Spoilt(p scenarios.Plan, sc reports.Scenario, calm bool) string {
	switch {
	case s.examines(p):
		if why := sc.Again(); why != "" && !(calm && pointless(p.Scenario.Needs, sc)) {
			return why
		}
	case sc.LeavesOpen():
		return fmt.Sprintf("was inconclusive (%s)", sc.Reason())
	case sc.Overslept():
		return "shows only that the machine held a client up past its lease"
	case len(sc.Unshown()) > 0 && !s.Settings.Counted:
		return "did not show " + strings.Join(sc.Unshown(), ", ") + ", which it should"
	}
	if sc.Failed != "" && !sc.Convicts() && !calm {
		return fmt.Sprintf("failed on a busy machine (%s)", sc.Reason())
	}
	return ""
}

// putAside keeps what a try has left, beside the scenario's folder, or in it
// where that is the run's.
func (s *Run) putAside(folder string, try int) error {
	aside := fmt.Sprintf("try%d", try)
	if folder != runFolder {
		return os.Rename(filepath.Join(s.Dir, folder), filepath.Join(s.Dir, folder+"."+aside))
	}
	left, err := os.ReadDir(s.Dir)
	if err == nil {
		err = os.Mkdir(filepath.Join(s.Dir, aside), 0o755)
	}
	for _, e := range left {
		if err == nil && e.Name() != RecordFile && e.Name() != reserveFile && !strings.HasPrefix(e.Name(), "try") {
			err = os.Rename(filepath.Join(s.Dir, e.Name()), filepath.Join(s.Dir, aside, e.Name()))
		}
	}
	return err
}

// onTime runs one scenario, unless there is no time left for it.
func (s *Run) onTime(ctx context.Context, i int, p scenarios.Plan, r *ScenarioRecord) {
	if s.late != nil {
		if r.Skipped = s.late(p); r.Skipped != "" {
			r.Late = true
			return
		}
	}
	err := s.one(ctx, i, p, r.Dir)
	cause := context.Cause(ctx)
	switch over := (*overBudget)(nil); {
	case err == nil && cause != nil:
		// if it had come to its end just then its history has one, and that is what counts
		r.Cut = cause.Error()
	case err != nil && errors.As(cause, &over):
		r.Skipped, r.Late = "not run: "+cause.Error()+" before it had begun", true
	case err != nil:
		r.Failed = redact.Text(err.Error())
	}
	if s.Settings.Compress {
		// what it shows is judged all the same
		if err := CompressHistory(filepath.Join(s.Dir, r.Dir)); err != nil {
			s.Screen.Say(s.label(p) + ": " + err.Error())
		}
	}
}

// overBudget says that the time budget of a gate is used up.
type overBudget struct{ budget time.Duration }

// Error is of the form "the time budget of 15m0s was used up".
func (e *overBudget) Error() string {
	return fmt.Sprintf("the time budget of %v was used up", e.budget)
}

// label is what the screen calls a scenario of this run.
func (s *Run) label(p scenarios.Plan) string { return p.Scenario.Name + s.Label }

// savePlan makes the scenario's folder, with its plan.
func (s *Run) savePlan(p scenarios.Plan, folder string) error {
	dir := filepath.Join(s.Dir, folder)
	if err := os.MkdirAll(filepath.Join(dir, reports.LogFolder), 0o755); err != nil {
		return fmt.Errorf("make the scenario's folder: %w", err)
	}
	return p.Save(filepath.Join(dir, PlanFile))
}

// one runs the scenario of a number, up to its complete history.
func (s *Run) one(ctx context.Context, i int, p scenarios.Plan, folder string) error {
	if ctx.Err() != nil {
		return errors.New("not run: interrupted")
	}
	dir := filepath.Join(s.Dir, folder)
	log, err := os.Create(filepath.Join(dir, reports.LogFolder, "harness.log"))
	if err != nil {
		return fmt.Errorf("create the harness's log: %w", err)
	}
	defer log.Close()
	name := s.label(p)
	s.Screen.Begin(name, p)
	violated, shown := false, checker.Harm
	counted := s.Settings.Metrics.Begin()
	seen := counted.Event
	if s.pacer != nil && s.pacer.plan == i {
		watch := s.pacer.watch()
		seen = func(e *history.Event) { counted.Event(e); watch(e) }
	}
	live := followHistory(filepath.Join(dir, HistoryFile), func(h history.Header) { s.Screen.Ready(h); s.lead() }, seen,
		func(v checker.Violation) {
			counted.Violation(v)
			if !violated || screen.TellsMore(v, shown) {
				violated, shown = true, v.Blame()
				s.note(i, func(r *ScenarioRecord) { r.First = v.Property + ": " + v.Text })
			}
			s.Screen.Violation(name, v)
		})
	defer func() { live(); counted.End() }()
	err = s.runThere(ctx, p, dir, log, func(pr record.Progress) { s.Screen.Progress(name, pr) })
	if err != nil && ctx.Err() != nil && begun(dir) {
		return nil // interrupted: what is there is judged, as a history that was cut
	}
	return err
}

// begun reports whether a scenario has a history that can be judged.
func begun(dir string) bool {
	f, err := os.Open(filepath.Join(dir, HistoryFile))
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = history.NewReader(f, HistoryFile)
	return err == nil
}

// runThere runs `lockchaos scenario DIR` in the runtime and waits for its end.
func (s *Run) runThere(ctx context.Context, p scenarios.Plan, dir string, log *os.File,
	progress func(record.Progress)) error {
	dir, err := filepath.Abs(dir) // it is the same in a container
	if err != nil {
		return fmt.Errorf("find the scenario's folder: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer read.Close()
	told := make(chan error, 1)
	go func() { told <- readChild(read, progress) }()
	// Stderr is a buffer for the message and a file for later.
	var stderr bytes.Buffer
	safe := redact.NewWriter(io.MultiWriter(log, &tail{buf: &stderr}))
	err = errors.Join(s.Where.Run(ctx, p, dir, write, safe), safe.Flush())
	write.Close()
	if err := <-told; err != nil {
		return err
	}
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return s.reason(err, dir, log.Name(), stderr.String())
}

// reason makes of how the process of a scenario ended what went wrong; nil:
// nothing. end is the end of its log.
func (s *Run) reason(err error, dir, log, end string) error {
	var process interface{ ExitCode() int } // or container
	if err == nil || !errors.As(err, &process) {
		return err // it was not started, or its nodes were not
	}
	if process.ExitCode() == 128+int(syscall.SIGKILL) { // its init says it as a shell does
		return fmt.Errorf("the scenario's process was killed from outside (out of memory?): %w; what it recorded can be judged: %s", err,
			reports.Shell(s.Settings.Tool.Program, "check", s.historyAtEnd(dir)))
	}
	if crash := Crash(log); crash != "" {
		return fmt.Errorf("a defect in lockchaos itself, please report it: %w; its log: %s\n%s", err, log, crash)
	}
	if end != "" {
		end = "\n" + end
	}
	return fmt.Errorf("the scenario's process failed: %w; the end of its log, %s:%s", err, log, end)
}

// historyAtEnd is what the history of a scenario's folder will be called.
func (s *Run) historyAtEnd(dir string) string {
	name := filepath.Join(dir, HistoryFile)
	if s.Settings.Compress {
		name += history.Compressed
	}
	return name
}

// tail keeps the last bytes of what is written to it.
type tail struct{ buf *bytes.Buffer }

const tailSize = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	if over := t.buf.Len() - tailSize; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}
