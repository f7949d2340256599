package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts/docker"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/runs/screen"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/spelling"
)

// suiteRun is one `lockchaos run`: scenarios side by side, each in a sandbox of its own.
type suiteRun struct {
	flags   settings
	name    string
	about   string
	command string
	plans   []scenarios.Plan
	screen  *screen.Screen
	where   runtimes.Runtime

	// of tells apart the repetitions of a run, beside a scenario's name on the screen; "" where there is one.
	of string
	// ended, when set, is told of each scenario at its end, before another takes its place.
	ended func(reports.Scenario)
	// late, when set, says why it is too late to start a plan; "": it is not.
	late func(scenarios.Plan) string
	// alone is locked by the last try of a scenario, which runs beside no other.
	alone *sync.RWMutex
	// exam is what is examined; nil: the run is none.
	exam *reports.Exam

	dir   string
	began time.Time
	// running is closed by lead when the clients of the first scenario have begun, or it has come to an end without.
	running chan struct{}
	lead    func()
	record  runRecord
	mu      sync.Mutex // guards record.Scenarios and judged, and the writing of run.json
	judged  []judged
	// interrupted: it was ended from outside, and not by the time budget of a gate.
	interrupted bool
}

// run runs every scenario, then renders. Its error carries the exit status.
func (s *suiteRun) run(ctx context.Context) error {
	began := time.Now()
	dir, err := makeRunDir(s.flags.out, began)
	if err != nil {
		return err
	}
	s.prepare(dir, began)
	s.begin()
	s.launch(ctx, make(chan struct{}, s.flags.parallel))()
	s.screen.Stop()
	suite, unwritten := s.finish()
	// The verdicts are told even where they can't be written.
	err = s.screen.Conclude(dir, suite, func(out io.Writer) error {
		err := tell(out, dir, suite, s.flags.noExpect, ctx.Err() != nil)
		s.screen.PrintFigures(out, time.Since(began))
		return err
	})
	if unwritten != nil {
		return exit.With(exit.Failed, unwritten)
	}
	return err
}

// begin begins the screen of the run.
func (s *suiteRun) begin() {
	total, parallel, column := len(s.plans), s.flags.parallel, 0
	for _, p := range s.plans {
		column = max(column, len(p.Scenario.Name))
	}
	r := &s.record
	suite := reports.Suite{Version: r.Version, Name: titled(r.Suite, r.Shard), Runtime: r.Runtime, Seed: r.Seed}
	s.screen.Start(suite, total, parallel, column, func(out io.Writer) {
		harmless.Fprintf(out, "lockchaos %s · %s · %s · seed %d\n", suite.Version, suite.Name, suite.Runtime, suite.Seed)
		harmless.Fprintf(out, "%d scenario%s, %d at once, %s\n\n", total, spelling.Plural(total), min(parallel, total), scenarios.Estimate(scenarios.LengthOfAll(s.plans, parallel)))
	})
}

// tell says what a run came to, in the words of what it is.
func tell(out io.Writer, dir string, suite reports.Suite, noExpect, interrupted bool) error {
	if suite.Exam != nil {
		return concludeExam(out, dir, suite, interrupted)
	}
	return conclude(out, dir, suite, noExpect, interrupted)
}

// prepare leaves of the plans those of the shard, and begins the run's record; dir is its folder.
func (s *suiteRun) prepare(dir string, began time.Time) {
	s.dir, s.began = dir, began
	shares := s.flags.shard.shares(s.plans)
	s.plans = s.flags.shard.part(s.plans)
	s.record = runRecord{Version: s.flags.tool.version, Suite: s.name, About: s.about, Command: s.command, Program: s.flags.tool.program, Runtime: s.where.About(), Where: s.flags.words, Seed: s.plans[0].Seed,
		NoExpect: s.flags.noExpect, Policy: s.flags.policy, Started: began.UTC().Truncate(time.Second), Parallel: s.flags.parallel, Exam: s.exam, Scenarios: make([]scenarioRecord, len(s.plans)),
		Shard: s.flags.shard.String(), Shares: shares}
	for i, p := range s.plans {
		s.record.Scenarios[i] = scenarioRecord{Name: p.Scenario.Name, Dir: folderOf(p.Scenario.Name), State: stateWaiting, Planned: p.Scenario.Duration.Std()}
	}
	s.judged = make([]judged, len(s.plans))
	if s.alone == nil {
		s.alone = new(sync.RWMutex)
	}
	s.running = make(chan struct{})
	s.lead = sync.OnceFunc(func() { close(s.running) })
	reserve(dir, len(s.plans))
	s.note(0, func(*scenarioRecord) {})
}

// note changes what run.json says of a scenario. That it can't be written is told at the end, when it is written for good.
func (s *suiteRun) note(i int, change func(*scenarioRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.record.Scenarios[i])
	_ = s.record.save(s.dir)
}

// finish writes the record and every report.
func (s *suiteRun) finish() (suite reports.Suite, unwritten error) {
	s.record.Elapsed = time.Since(s.began)
	suite = s.record.suite(s.judged)
	code := exit.OfSuite(suite, s.flags.noExpect)
	if s.interrupted {
		code, s.record.Interrupted = exit.Failed, true
	}
	s.record.Exit = &code
	return suite, errors.Join(s.record.saveAtLast(s.dir), render(s.dir, suite))
}

// order is that in which scenarios begin: the longest first, so that no long one is left to run by itself at the end. The first of a suite stays the
// first, for its author wants it to be seen first.
func (s *suiteRun) order() []int {
	return longestFirst(len(s.plans), func(i int) time.Duration {
		if s.exam == nil && i == 0 {
			return math.MaxInt64
		}
		return scenarios.LengthOf(s.plans[i])
	})
}

// launch starts scenarios in order, each when a place is free, and returns when the last one has been started; wait waits for their ends.
func (s *suiteRun) launch(ctx context.Context, places chan struct{}) (wait func()) {
	var all sync.WaitGroup
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ctx.Done():
			s.screen.Interrupted()
		case <-over:
		}
	})
	for n, i := range s.order() {
		if n == 1 && s.exam == nil && s.of == "" {
			s.headStart(ctx)
		}
		p := s.plans[i]
		places <- struct{}{} // here, not in the goroutine: the first in the order begins first
		if s.flags.steady > 0 {
			awaitRoom(ctx, s.flags.steady, func() int { return len(places) }, machineIsCalm)
		}
		all.Go(func() {
			defer func() { <-places; s.lead() }()
			for try := 1; s.try(ctx, i, p, try); try++ {
			}
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

// headStartLimit is how long others wait for the first scenario. On a machine where it takes longer to start, there is no haste.
const headStartLimit = 3 * time.Second

// headStart waits until the clients of the first scenario have begun, so that what it shows is seen before others are started beside it.
func (s *suiteRun) headStart(ctx context.Context) {
	select {
	case <-s.running:
	case <-time.After(headStartLimit):
	case <-ctx.Done():
	}
}

// try runs one scenario. It is true if it is to be tried again; what the try has left is then put aside.
func (s *suiteRun) try(ctx context.Context, i int, p scenarios.Plan, try int) (again bool) {
	if try > 1 && try > s.flags.retries {
		s.alone.Lock()
		defer s.alone.Unlock()
	} else {
		s.alone.RLock()
		defer s.alone.RUnlock()
	}
	began, before := time.Now(), look()
	var r scenarioRecord
	s.note(i, func(saved *scenarioRecord) {
		saved.State, saved.Began = stateRunning, began.UTC()
		r = *saved
	})
	r.locate(s.flags.places[r.Name])
	if err := s.savePlan(p, r.Dir); err != nil {
		r.Failed = err.Error()
	} else if r.Skipped = s.where.Skip(p); r.Skipped == "" {
		s.onTime(ctx, i, p, &r)
	}
	r.Elapsed = time.Since(began)
	verdict := s.flags.tool.judgeScenario(s.dir, r, &s.record)
	if try <= s.flags.retries && ctx.Err() == nil {
		if why := s.spoilt(p, verdict.Scenario, look().calmSince(before)); why != "" && s.putAside(r.Dir, try) == nil {
			why = fmt.Sprintf("try %d %s", try, why)
			s.screen.Say(s.label(p) + ": " + why + ": once more")
			s.screen.Forget(s.label(p))
			s.note(i, func(saved *scenarioRecord) { saved.Spoilt, saved.First = append(saved.Spoilt, why), "" })
			return true
		}
	}
	r.end(verdict.Scenario, s.flags.noExpect)
	s.note(i, func(saved *scenarioRecord) {
		r.First = saved.First
		*saved, s.judged[i] = r, verdict
	})
	s.screen.End(s.label(p), verdict.Scenario)
	if s.ended != nil {
		s.ended(verdict.Scenario)
	}
	return false
}

// spoilt says why a scenario is to be run again, as the rest of a sentence; "": what it came to stands. calm: the processors had time left meanwhile.
func (s *suiteRun) spoilt(p scenarios.Plan, sc reports.Scenario, calm bool) string {
	switch {
	case s.exam != nil, s.flags.policy != nil && s.flags.policy.Examines(p.Scenario.Name):
		if why := sc.Again(); why != "" {
			return why
		}
	case sc.LeavesOpen():
		return fmt.Sprintf("was inconclusive (%s)", sc.Reason())
	case sc.Overslept():
		return "shows only that the machine held a client up past its lease"
	}
	if sc.Failed != "" && !sc.Convicts() && !calm {
		return fmt.Sprintf("failed on a busy machine (%s)", sc.Reason())
	}
	return ""
}

// putAside keeps what a try has left, beside the scenario's folder.
func (s *suiteRun) putAside(folder string, try int) error {
	return os.Rename(filepath.Join(s.dir, folder), filepath.Join(s.dir, fmt.Sprintf("%s.try%d", folder, try)))
}

// onTime runs one scenario, unless there is no time left for it.
func (s *suiteRun) onTime(ctx context.Context, i int, p scenarios.Plan, r *scenarioRecord) {
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
		r.Cut = cause.Error() // if it had come to its end just then its history has one, and that is what counts
	case err != nil && errors.As(cause, &over):
		r.Skipped, r.Late = "not run: "+cause.Error()+" before it had begun", true
	case err != nil:
		r.Failed = redact.Text(err.Error())
	}
	if s.flags.compress {
		if err := compressHistory(filepath.Join(s.dir, r.Dir)); err != nil { // what it shows is judged all the same
			s.screen.Say(s.label(p) + ": " + err.Error())
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
func (s *suiteRun) label(p scenarios.Plan) string { return p.Scenario.Name + s.of }

// savePlan makes the scenario's folder, with its plan.
func (s *suiteRun) savePlan(p scenarios.Plan, folder string) error {
	dir := filepath.Join(s.dir, folder)
	if err := os.MkdirAll(filepath.Join(dir, reports.LogFolder), 0o755); err != nil {
		return fmt.Errorf("make the scenario's folder: %w", err)
	}
	return p.Save(filepath.Join(dir, planFile))
}

// one runs the scenario of a number, up to its complete history.
func (s *suiteRun) one(ctx context.Context, i int, p scenarios.Plan, folder string) error {
	if ctx.Err() != nil {
		return errors.New("not run: interrupted")
	}
	dir := filepath.Join(s.dir, folder)
	log, err := os.Create(filepath.Join(dir, reports.LogFolder, "harness.log"))
	if err != nil {
		return fmt.Errorf("create the harness's log: %w", err)
	}
	defer log.Close()
	name := s.label(p)
	s.screen.Begin(name, p)
	violated, shown := false, checker.Harm
	live := followHistory(filepath.Join(dir, historyFile), func(h history.Header) { s.screen.Ready(h); s.lead() }, func(v checker.Violation) {
		if !violated || screen.TellsMore(v, shown) {
			violated, shown = true, v.Blame()
			s.note(i, func(r *scenarioRecord) { r.First = v.Property + ": " + v.Text })
		}
		s.screen.Violation(name, v)
	})
	defer live()
	err = s.runThere(ctx, p, dir, log, func(pr harness.Progress) { s.screen.Progress(name, pr) })
	if err != nil && ctx.Err() != nil && begun(dir) {
		return nil // interrupted: what is there is judged, as a history that was cut
	}
	return err
}

// begun tells whether a scenario has a history that can be judged.
func begun(dir string) bool {
	f, err := os.Open(filepath.Join(dir, historyFile))
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = history.NewReader(f, historyFile)
	return err == nil
}

// runThere runs `lockchaos scenario DIR` in the runtime and waits for its end.
func (s *suiteRun) runThere(ctx context.Context, p scenarios.Plan, dir string, log *os.File, progress func(harness.Progress)) error {
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
	err = errors.Join(s.where.Run(ctx, p, dir, write, safe), safe.Flush())
	write.Close()
	if err := <-told; err != nil {
		return err
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted")
	case err != nil && !exited(err):
		return err // it was not started, or its nodes were not
	case err != nil && strings.Contains(err.Error(), "exit status 137"):
		return fmt.Errorf("the scenario's process was killed from outside (out of memory?): %w; what it recorded can be judged: %s", err,
			reports.Shell(s.flags.tool.program, "check", s.historyAtEnd(dir)))
	case err != nil && stderr.Len() > 0:
		return fmt.Errorf("the scenario's process failed: %w; the end of its log:\n%s", err, stderr.String())
	case err != nil:
		return fmt.Errorf("the scenario's process failed: %w", err)
	}
	return nil
}

// historyAtEnd is what the history of a scenario's folder will be called.
func (s *suiteRun) historyAtEnd(dir string) string {
	name := filepath.Join(dir, historyFile)
	if s.flags.compress {
		name += history.Compressed
	}
	return name
}

// exited tells whether an error says how a process ended.
func exited(err error) bool {
	var process *exec.ExitError
	var container *docker.ExitError
	return errors.As(err, &process) || errors.As(err, &container)
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
