package screen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/ci"
)

// The forms of what is printed.
const (
	Text   = "text"
	JSON   = "json"
	GitHub = "github"
)

// SummaryVar names the file that GitHub shows as the summary of a job's step.
const SummaryVar = "GITHUB_STEP_SUMMARY"

// toNobody lets the lines about what is going on vanish.
func (s *Screen) toNobody() { s.Out, s.Live, s.Color = io.Discard, false, false }

// Summarize tells what a run came to, in the form that was asked for. Text
// writes it for people, and returns the exit status as an error; the status is
// then told in the other forms. Dir is the run's folder.
func (s *Screen) Summarize(dir string, suite reports.Suite, text func(io.Writer) error) error {
	out := io.Writer(s.Final)
	if s.format == JSON || s.quiet {
		out = io.Discard
	}
	err := text(out)
	switch {
	case s.format == JSON:
		s.events.finished(dir, suite, exit.Of(err))
	case s.quiet:
		s.attention(dir, suite)
	}
	if s.format != GitHub {
		return err
	}
	s.annotated = true
	return errors.Join(err, s.github(suite))
}

// Annotate writes an annotation of an error that ended a command before it concluded
// anything: an adapter that died as it introduced itself, a wrong name. It returns the error. In
// --format json an error that says what this machine lacks is an event, so that a test framework
// can skip for it.
func (s *Screen) Annotate(err error) error {
	if s.events != nil && lacks(err) {
		s.events.lacking(harmless.Line(redact.Text(err.Error())))
	}
	if s.format != GitHub || s.annotated || err == nil {
		return err
	}
	s.annotated = true
	remark := reports.Remark{Level: reports.Error, Rule: reports.RuleFailed, Text: redact.Text(err.Error())}
	return errors.Join(err, s.Final.Commands(func(w io.Writer) error {
		return ci.WriteAnnotations(w, reports.Suite{Remarks: []reports.Remark{remark}})
	}))
}

// lacks reports whether an error says what this machine lacks: a program, or a right.
func lacks(err error) bool {
	var lack interface{ Lack() (why, fix string) }
	var refused *hosts.RefusedError
	return errors.As(err, &lack) || errors.As(err, &refused)
}

// attention is what --quiet leaves of a conclusion: the findings that are no
// notes, a gate's ruling, and where the report is.
func (s *Screen) attention(dir string, suite reports.Suite) {
	said := false
	for _, f := range suite.Findings() {
		if f.Level != reports.Note {
			said = true
			harmless.Fprintf(s.Final, "%s: %s: %s: %s\n", f.Level, f.Scenario, f.Rule,
				harmless.Block(f.Sentence(), "  "))
		}
	}
	if s.Ruling != "" {
		harmless.Fprintln(s.Final, s.Ruling)
	}
	if said {
		harmless.Fprintf(s.Final, "report: %s\n", reports.There(filepath.Join(dir, reports.IndexFile)))
	}
}

// github writes the annotations, and adds the summary to that of the job.
func (s *Screen) github(suite reports.Suite) error {
	if err := s.Final.Commands(func(w io.Writer) error { return ci.WriteAnnotations(w, suite) }); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	file := os.Getenv(SummaryVar)
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("add to the job summary ($%s): %w", SummaryVar, err)
	}
	if err := errors.Join(ci.WriteSummary(f, suite), f.Close()); err != nil {
		return fmt.Errorf("add to the job summary ($%s): %w", SummaryVar, err)
	}
	return nil
}
