package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/scenarios"
)

// suiteRun is one `lockchaos run`: scenarios side by side, each in a sandbox of its own.
type suiteRun struct {
	flags   runFlags
	name    string
	about   string
	command string
	plans   []scenarios.Plan
	screen  *screen

	dir    string
	record runRecord
	mu     sync.Mutex // guards record.Scenarios
}

// run runs every scenario, then renders. Its error carries the exit status.
func (s *suiteRun) run(ctx context.Context) error {
	began := time.Now()
	dir, err := makeRunDir(s.flags.out, began)
	if err != nil {
		return err
	}
	s.dir = dir
	s.record = runRecord{Version: version, Suite: s.name, About: s.about, Command: s.command, Runtime: runtimeName(), Seed: s.plans[0].Seed,
		NoExpect: s.flags.noExpect, Started: began.UTC().Truncate(time.Second), Scenarios: make([]scenarioRecord, len(s.plans))}
	s.screen.start(&s.record, s.plans, s.flags.parallel)
	s.runAll(ctx)
	s.screen.stop()
	s.record.Elapsed = time.Since(began)
	if err := s.record.save(dir); err != nil {
		return err
	}
	suite, ready, err := render(dir, &s.record)
	if err != nil {
		return err
	}
	err = conclude(s.screen.out, dir, suite, s.flags.noExpect, ctx.Err() != nil)
	ready.print(s.screen.out, s.screen.first, time.Since(began))
	return err
}

// runAll starts scenarios in the order of the suite, so many at once as may be.
func (s *suiteRun) runAll(ctx context.Context) {
	places := make(chan struct{}, s.flags.parallel)
	var all sync.WaitGroup
	for i, p := range s.plans {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			began := time.Now()
			r := scenarioRecord{Name: p.Scenario.Name, Dir: folderOf(p.Scenario.Name)}
			if err := s.one(ctx, p, r.Dir); err != nil {
				r.Failed = err.Error()
			}
			r.Elapsed = time.Since(began)
			s.mu.Lock()
			s.record.Scenarios[i] = r
			s.mu.Unlock()
			s.finished(r, p)
		})
	}
	all.Wait()
}

// one runs one scenario in its sandbox, up to its complete history.
func (s *suiteRun) one(ctx context.Context, p scenarios.Plan, folder string) error {
	if ctx.Err() != nil {
		return errors.New("not run: interrupted")
	}
	dir := filepath.Join(s.dir, folder)
	if err := os.MkdirAll(filepath.Join(dir, logFolder), 0o755); err != nil {
		return fmt.Errorf("make the scenario's folder: %w", err)
	}
	if err := p.Save(filepath.Join(dir, planFile)); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, logFolder, "harness.log"))
	if err != nil {
		return fmt.Errorf("create the harness's log: %w", err)
	}
	defer log.Close()
	s.screen.begin(p.Scenario.Name)
	live := followHistory(filepath.Join(dir, historyFile), func(v checker.Violation) { s.screen.violation(p.Scenario.Name, v) })
	defer live()
	err = runInSandbox(ctx, dir, log, func(pr harness.Progress) { s.screen.progress(p.Scenario.Name, pr) })
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

// runInSandbox runs `lockchaos scenario DIR` in new namespaces and waits for its end.
func runInSandbox(ctx context.Context, dir string, log *os.File, progress func(harness.Progress)) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer read.Close()
	// Stderr is a buffer for the message and a file for later.
	var stderr bytes.Buffer
	inner, err := hosts.Sandbox{Stdout: write, Stderr: io.MultiWriter(log, &tail{buf: &stderr})}.Start(ctx, "scenario", dir)
	write.Close()
	if err != nil {
		return err
	}
	told := readChild(read, progress)
	err = inner.Wait()
	switch {
	case told != nil:
		return told
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted")
	case err != nil && stderr.Len() > 0:
		return fmt.Errorf("the scenario's process failed: %w; the end of its log:\n%s", err, stderr.String())
	case err != nil:
		return fmt.Errorf("the scenario's process failed: %w", err)
	}
	return nil
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

// finished judges a scenario for its line on the screen.
func (s *suiteRun) finished(r scenarioRecord, p scenarios.Plan) {
	sc, err := loadScenario(s.dir, r, &s.record)
	if err != nil {
		sc.Failed = err.Error()
	}
	s.screen.end(sc)
}

func runtimeName() string { return "private network, " + kernel() }
