package main

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

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/survey"
)

const surveyHelp = `Examines lock libraries that people use. Each folder of survey/ is one: an adapter, and a card that says what the library promises.

  lockchaos survey run redis-semaphore    install it, try its adapter, and examine it ten times
  lockchaos survey site                   make the pages in docs/survey from what the exams came to`

func surveyCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "survey",
		Short: "Examine the lock libraries that people use",
		Long:  surveyHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return exit.Misuse(fmt.Errorf("unknown command %q%s (there are run and site)", "survey "+args[0], suggest(args[0], verbs(cmd))))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&dir, "dir", "survey", "the folder of the libraries")
	cmd.AddCommand(surveyRunCommand(&dir), surveySiteCommand(&dir))
	return cmd
}

func surveySiteCommand(dir *string) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:     "site",
		Short:   "Make the survey's pages from what the exams came to",
		Example: "  lockchaos survey site",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := survey.Site(*dir, to); err != nil {
				return exit.Misuse(err)
			}
			harmless.Fprintf(cmd.OutOrStdout(), "the survey: %s\n", reports.There(filepath.Join(to, reports.IndexFile)))
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", filepath.Join("docs", "survey"), "the folder of the pages")
	return cmd
}

// surveyRun is `lockchaos survey run`.
type surveyRun struct {
	dir, out string
	exams    int
	short    bool
	attacks  []string
	told     io.Writer
	errs     io.Writer
}

func surveyRunCommand(dir *string) *cobra.Command {
	var s surveyRun
	cmd := &cobra.Command{
		Use:   "run [NAME…]",
		Short: "Install libraries, try their adapters, and examine them",
		Long: `Installs each library as its card says, tries its adapter (lockchaos adapter test), and examines it again and again with other seeds
(lockchaos exam). What came of it is kept in the folder results of the survey, with the few ops that show each defect.

Exit status: 0 every library was examined, whatever it showed, 3 one could not be, 64 wrong usage.`,
		Example: `  lockchaos survey run redsync kazoo
  lockchaos survey run --exams 1 --short`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.dir, s.told, s.errs = *dir, cmd.OutOrStdout(), cmd.ErrOrStderr()
			if s.exams < 1 {
				return exit.Misuse(errors.New("--exams is at least 1"))
			}
			cards, err := survey.Cards(s.dir)
			if err == nil {
				cards, err = survey.Select(cards, args)
			}
			if err != nil {
				return exit.Misuse(err)
			}
			return s.run(cmd.Context(), cards)
		},
	}
	cmd.Flags().IntVar(&s.exams, "exams", 10, "how many exams of each library, with the seeds 1, 2, 3 …")
	cmd.Flags().BoolVar(&s.short, "short", false, "make only the most telling attacks, about a third")
	cmd.Flags().StringSliceVar(&s.attacks, "attack", nil, "make only these attacks")
	cmd.Flags().StringVar(&s.out, "out", filepath.Join("runs", "survey"), "where the runs are kept, a folder for each library")
	return cmd
}

// run examines the libraries one after the other. One that can't be examined does not keep the others from it.
func (s surveyRun) run(ctx context.Context, cards []survey.Card) error {
	var failed []string
	for i, c := range cards {
		harmless.Fprintf(s.told, "[%d/%d] %s (%s)\n", i+1, len(cards), c.Name, c.Library)
		if c.NotRun != "" {
			harmless.Fprintf(s.told, "not run here: %s\n", c.NotRun)
			continue
		}
		if err := s.examine(ctx, c); err != nil {
			harmless.Fprintf(s.errs, "lockchaos: %s: %v\n", c.Name, err)
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
func (s surveyRun) examine(ctx context.Context, c survey.Card) error {
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
	r := survey.Result{Name: c.Name, Day: time.Now().UTC().Format(time.DateOnly)}
	for seed := 1; seed <= s.exams && ctx.Err() == nil; seed++ {
		out := filepath.Join(s.out, c.Name, "seed-"+strconv.Itoa(seed))
		words := append([]string{"exam", "--lock-cmd", c.Adapter(), "--seed", strconv.Itoa(seed), "--out", out}, where...)
		if s.short {
			words = append(words, "--short")
		}
		if len(s.attacks) > 0 {
			words = append(words, "--attack", strings.Join(s.attacks, ","))
		}
		if code := exitCode(s.again(ctx, words)); code >= exit.Failed || code < exit.OK {
			return fmt.Errorf("exam %d of %d failed with exit status %d", seed, s.exams, code)
		}
		folder := filepath.Join(out, runs.LatestLink)
		_, suite, err := ours().JudgeRun(folder)
		if err != nil {
			return err
		}
		r.Add(suite, folder)
		if err := r.Save(s.dir); err != nil { // after each, so that nothing is lost if it is interrupted
			return err
		}
	}
	return ctx.Err()
}

// tryAdapter tries the adapter, and again where its service did not start in time. What the check finds wrong may be the library's.
func (s surveyRun) tryAdapter(ctx context.Context, words []string) (err error) {
	for range 1 + runs.DefaultRetries {
		if err = s.again(ctx, words); exitCode(err) == exit.OK || exitCode(err) == exit.Violated || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

// again runs lockchaos itself, so that each exam is what its user would see, and one that fails fails alone.
func (s surveyRun) again(ctx context.Context, words []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find lockchaos itself: %w", err)
	}
	return s.command(ctx, "", self, words...)
}

// command runs a program to its end, and shows what it prints.
func (s surveyRun) command(ctx context.Context, dir, name string, words ...string) error {
	cmd := exec.CommandContext(ctx, name, words...)
	cmd.Dir, cmd.Cancel = dir, func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	out, errs := redact.NewWriter(s.told), redact.NewWriter(s.errs)
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
