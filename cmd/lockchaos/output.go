package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
)

// The forms of what is printed.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatGitHub = "github"
)

func formats() []string { return []string{formatText, formatJSON, formatGitHub} }

// summaryVar names the file that GitHub shows as the summary of a job's step.
const summaryVar = "GITHUB_STEP_SUMMARY"

// workspaceVars name the folder that a CI system has checked out: paths in annotations begin there.
var workspaceVars = []string{"GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"}

// outputFlags say in which form a run is told.
type outputFlags struct {
	format         string
	json           bool
	quiet, verbose bool
}

func (f *outputFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "format", formatText, `"text"; "json", one object a line (docs/schema/progress.json); "github", text with annotations and, in $`+summaryVar+`, a job summary`)
	flags.BoolVar(&f.json, "json", false, "the same as --format json")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing while it runs, and at the end only what needs attention (and a gate's ruling)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print each phase of each scenario, and each property's outcome")
}

// check completes the flags and refuses what makes no sense.
func (f *outputFlags) check() error {
	if f.json {
		if f.format != formatText && f.format != formatJSON {
			return exit.Misuse(fmt.Errorf("--json is --format json: give no --format %s beside it", f.format))
		}
		f.format = formatJSON
	}
	known := false
	for _, name := range formats() {
		known = known || name == f.format
	}
	if !known {
		return exit.Misuse(fmt.Errorf("unknown --format %q%s (there are %s)", f.format, suggest(f.format, formats()), join(formats())))
	}
	if f.quiet && f.verbose {
		return exit.Misuse(errors.New("--quiet or --verbose, not both"))
	}
	return nil
}

// open makes the screen that the flags ask for.
func (f *outputFlags) open(cmd *cobra.Command) (*screen, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	s := newScreen(cmd.OutOrStdout())
	s.format, s.quiet, s.verbose = f.format, f.quiet, f.verbose
	switch f.format {
	case formatJSON:
		s.events = newEventWriter(s.out)
		s.toNobody()
	case formatGitHub:
		s.live = false                                 // a log
		if err := s.final.StopCommands(); err != nil { // what programs under test have printed will be among the lines
			return nil, fmt.Errorf("write to the standard output: %w", err)
		}
	}
	if f.quiet && f.format != formatJSON {
		s.toNobody()
	}
	return s, nil
}

// toNobody lets the lines about what is going on vanish.
func (s *screen) toNobody() { s.out, s.live, s.color = io.Discard, false, false }

// conclude tells what a run came to, in the form that was asked for. Text writes it for people, and returns the exit status as an error; the
// status is then told in the other forms. Dir is the run's folder.
func (s *screen) conclude(dir string, suite reports.Suite, text func(io.Writer) error) error {
	out := io.Writer(s.final)
	if s.format == formatJSON || s.quiet {
		out = io.Discard
	}
	err := text(out)
	switch {
	case s.format == formatJSON:
		s.events.finished(dir, suite, exit.Of(err))
	case s.quiet:
		s.attention(dir, suite)
	}
	if s.format != formatGitHub {
		return err
	}
	s.annotated = true
	return errors.Join(err, s.github(suite))
}

// annotate writes an annotation of an error that ended a command before it concluded anything: an adapter that died as it introduced itself, a wrong
// name. It returns the error.
func (s *screen) annotate(err error) error {
	if s.format != formatGitHub || s.annotated || err == nil {
		return err
	}
	s.annotated = true
	remark := reports.Remark{Level: reports.Error, Rule: reports.RuleFailed, Text: redact.Text(err.Error())}
	return errors.Join(err, s.final.Commands(func(w io.Writer) error {
		return reports.WriteAnnotations(w, reports.Suite{Remarks: []reports.Remark{remark}})
	}))
}

// attention is what --quiet leaves of a conclusion: the findings that are no notes, a gate's ruling, and where the report is.
func (s *screen) attention(dir string, suite reports.Suite) {
	said := false
	for _, f := range suite.Findings() {
		if f.Level != reports.Note {
			said = true
			harmless.Fprintf(s.final, "%s: %s: %s: %s\n", f.Level, f.Scenario, f.Rule, harmless.Block(f.Sentence(), "  "))
		}
	}
	if s.ruling != "" {
		harmless.Fprintln(s.final, s.ruling)
	}
	if said {
		harmless.Fprintf(s.final, "report: %s\n", reports.There(filepath.Join(dir, reports.IndexFile)))
	}
}

// github writes the annotations, and adds the summary to that of the job.
func (s *screen) github(suite reports.Suite) error {
	if err := s.final.Commands(func(w io.Writer) error { return reports.WriteAnnotations(w, suite) }); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	file := os.Getenv(summaryVar)
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("add to the job summary ($%s): %w", summaryVar, err)
	}
	if err := errors.Join(reports.WriteSummary(f, suite), f.Close()); err != nil {
		return fmt.Errorf("add to the job summary ($%s): %w", summaryVar, err)
	}
	return nil
}

// repositoryPath is a file's path as a CI system knows it: from the root of what it has checked out, with slashes.
func repositoryPath(file string) string {
	if file == "" {
		return ""
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	roots := []string{}
	for _, name := range workspaceVars {
		roots = append(roots, os.Getenv(name))
	}
	here, _ := os.Getwd()
	for _, root := range append(roots, here) {
		if root == "" {
			continue
		}
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(file)
}
