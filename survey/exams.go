package survey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// Exams installs libraries, tries their adapters, and examines them, by calling this program as a
// user would.
type Exams struct {
	Tool *runs.Tool
	// Dir is the folder of the survey, and Out that of the runs, which has a
	// folder for each library. Dir keeps what whole exams came to, Out what
	// some of the attacks did: the pages say what a library withstood.
	Dir, Out string
	// Count is how many exams there are of each library, with the seeds 1, 2, 3 …
	Count int
	// Short and Attacks leave some of the attacks: the most telling, or these.
	Short   bool
	Attacks []string
	// Told and Errs are where the program's output goes.
	Told, Errs io.Writer
}

// Run examines the libraries one after the other. One that can't be examined does not keep the
// others from it. Its error carries the exit status.
func (s Exams) Run(ctx context.Context, cards []Card) error {
	var failed []string
	for i, c := range cards {
		harmless.Fprintf(s.Told, "[%d/%d] %s (%s)\n", i+1, len(cards), c.Name, c.Library)
		if c.NotRun != "" {
			harmless.Fprintf(s.Told, "not run here: %s\n", c.NotRun)
			continue
		}
		if err := s.examine(ctx, c); err != nil {
			harmless.Fprintf(s.Errs, "lockchaos: %s: %v\n", c.Name, err)
			failed = append(failed, c.Name)
		}
		if ctx.Err() != nil {
			return exit.With(exit.Failed, errors.New("interrupted: what had been examined by then is kept"))
		}
	}
	if len(failed) > 0 {
		return exit.With(exit.Failed, fmt.Errorf("not examined: %s", strings.Join(failed, ", ")))
	}
	return nil
}

// installLimit is how long a library may take to be fetched and compiled.
const installLimit = 10 * time.Minute

// examine installs a library, and keeps what its exams come to.
func (s Exams) examine(ctx context.Context, c Card) error {
	if c.Install != "" {
		limited, cancel := context.WithTimeout(ctx, installLimit)
		defer cancel()
		if err := s.command(limited, c.Dir, "sh", "-c", c.Install); err != nil {
			return fmt.Errorf("install it (%s): %w", c.Install, err)
		}
	}
	where := []string{"--service", c.Service}
	if c.TTL > 0 {
		where = append(where, "--ttl", c.TTL.Std().String())
	}
	if err := s.tryAdapter(ctx, append([]string{"adapter", "test", c.Adapter()}, where...)); err != nil {
		return fmt.Errorf("try its adapter: %w", err)
	}
	r := Result{Name: c.Name, Day: time.Now().UTC().Format(time.DateOnly)}
	for seed := 1; seed <= s.Count && ctx.Err() == nil; seed++ {
		out := filepath.Join(s.Out, c.Name, "seed-"+strconv.Itoa(seed))
		words := append([]string{"exam", "--lock-cmd", c.Adapter(), "--seed", strconv.Itoa(seed), "--out", out},
			where...)
		if s.Short {
			words = append(words, "--short")
		}
		if len(s.Attacks) > 0 {
			words = append(words, "--attack", strings.Join(s.Attacks, ","))
		}
		if code := exitCode(s.again(ctx, words)); code >= exit.Failed || code < exit.OK {
			return fmt.Errorf("exam %d of %d failed with exit status %d", seed, s.Count, code)
		}
		folder := filepath.Join(out, runs.LatestLink)
		_, suite, err := s.Tool.JudgeRun(folder)
		if err != nil {
			return err
		}
		r.Add(suite, folder)
		// after each, so that nothing is lost if it is interrupted
		if err := r.Save(s.kept()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// kept is the folder that keeps the results.
func (s Exams) kept() string {
	if s.Short || len(s.Attacks) > 0 {
		return s.Out
	}
	return s.Dir
}

// tryAdapter tries the adapter, and again where its service did not start in
// time. What the check finds wrong may be the library's.
func (s Exams) tryAdapter(ctx context.Context, words []string) (err error) {
	for range 1 + runs.DefaultRetries {
		if err = s.again(ctx, words); exitCode(err) == exit.OK || exitCode(err) == exit.Violated || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

// again runs lockchaos itself, so that each exam is what its user would see,
// and one that fails fails alone.
func (s Exams) again(ctx context.Context, words []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find lockchaos itself: %w", err)
	}
	return s.command(ctx, "", self, words...)
}

// command runs a program to its end, and shows what it prints.
func (s Exams) command(ctx context.Context, dir, name string, words ...string) error {
	cmd := exec.CommandContext(ctx, name, words...)
	cmd.Dir, cmd.Cancel = dir, func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	out, errs := redact.NewWriter(s.Told), redact.NewWriter(s.Errs)
	cmd.Stdout, cmd.Stderr = out, errs
	return errors.Join(cmd.Run(), out.Flush(), errs.Flush())
}

// exitCode is the exit status of a program that has ended; -1: it did not run, or was killed.
func exitCode(err error) int {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return exit.OK
	case errors.As(err, &ended):
		return ended.ExitCode()
	}
	return -1
}
