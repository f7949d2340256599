package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

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
	if r.Failed == "" && r.Skipped == "" && r.Cut == "" {
		s.Screen.Lengths.Add(p, r.Elapsed)
	}
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
		if why := sc.RepeatReason(); why != "" && !(calm && pointless(p.Scenario.Needs, sc)) {
			return why
		}
		if !calm && sc.Unhindered && sc.Fate() == reports.FellInherent {
			return "shows only that a busy machine held a client up past its lease, since no fault of the attack does"
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
	err := s.runScenario(ctx, i, p, r.Dir)
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

// savePlan makes the scenario's folder, with its plan.
func (s *Run) savePlan(p scenarios.Plan, folder string) error {
	dir := filepath.Join(s.Dir, folder)
	if err := os.MkdirAll(filepath.Join(dir, reports.LogFolder), 0o755); err != nil {
		return fmt.Errorf("make the scenario's folder: %w", err)
	}
	return p.Save(filepath.Join(dir, PlanFile))
}

// runScenario runs the scenario of a number, up to its complete history.
func (s *Run) runScenario(ctx context.Context, i int, p scenarios.Plan, folder string) error {
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
	if err != nil && ctx.Err() != nil && hasHistory(dir) {
		return nil // interrupted: what is there is judged, as a history that was cut
	}
	return err
}

// hasHistory reports whether a scenario has a history that can be judged.
func hasHistory(dir string) bool {
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
