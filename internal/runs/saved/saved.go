// Package saved judges histories that lie in files, whatever wrote them: lockchaos, another tool,
// or the log of an application (package audit). It prints the verdict, and makes a report of it.
package saved

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/terminal"
)

// Reading says how a history is read.
type Reading struct {
	// Format is that of the history; Auto: it is recognised. With a Pattern it is lines of text.
	Format formats.Format
	// Options are for histories of others.
	audit.Options
	// Keep: the events are kept in memory.
	Keep bool
}

// Judged is a history with its verdict, to be closed.
type Judged struct {
	// History is without its events, unless they were to be kept.
	History history.History
	Verdict checker.Verdict

	source *audit.Source // nil for a history of lockchaos
}

// kept is what a run's own report keeps of its violations: the figures are the same.
var kept = checker.Options{Keep: reports.KeptViolations, KeepDefects: true}

// Judge judges a file, or the standard input, which is called "-". What is wrong in the history is
// a *history.SyntaxError, or an error of package audit that says what has to be known of a log.
func (r Reading) Judge(file string, stdin io.Reader) (*Judged, error) {
	if file == "-" {
		growPipe(stdin)
		return r.judge(stdin, "standard input")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("no history there: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		r.FileDate = info.ModTime().UTC().Format(time.DateOnly)
	}
	return r.judge(f, file)
}

// explainedLines is how many lines Explain explains.
const explainedLines = 10

// Explain says how the first lines of a log are understood, and nothing else.
func (r Reading) Explain(file string, stdin io.Reader) ([]audit.Explained, error) {
	in, name := stdin, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("no log there: %w", err)
		}
		defer f.Close()
		in, name = f, file
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			r.FileDate = info.ModTime().UTC().Format(time.DateOnly)
		}
	}
	head, format, err := r.recognised(in, name)
	if err != nil {
		return nil, err
	}
	if format != formats.CSV && format != formats.JSON && format != formats.Text {
		return nil, fmt.Errorf("%s is of the format %s, and only logs are explained line by line", name, format)
	}
	text, err := head.Peek(formats.DetectBytes)
	if len(text) == formats.DetectBytes {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	} else if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return audit.Explain(name, text, format, r.Options, explainedLines)
}

// recognised is a history with its format.
func (r Reading) recognised(in io.Reader, name string) (*bufio.Reader, formats.Format, error) {
	buffered, err := history.Decompressed(bufio.NewReaderSize(in, formats.DetectBytes), name)
	if err != nil {
		return nil, "", err
	}
	buffered = bufio.NewReaderSize(formats.Decoded(buffered), formats.DetectBytes)
	head, err := buffered.Peek(formats.DetectBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, "", fmt.Errorf("read %s: %w", name, err)
	}
	if r.Pattern != "" {
		return buffered, formats.Text, nil
	}
	if r.Format != formats.Auto {
		return buffered, r.Format, nil
	}
	if r.Span != "" {
		return buffered, formats.Spans, nil
	}
	format, err := formats.Detect(head, strings.TrimSuffix(name, history.Compressed), len(r.Map) > 0)
	if err != nil {
		line, _, _ := strings.Cut(string(head[:min(len(head), 60)]), "\n")
		return nil, "", &history.SyntaxError{File: name, Line: 1, Near: line, Err: err}
	}
	return buffered, format, nil
}

// judge streams a history through the judge.
func (r Reading) judge(in io.Reader, name string) (*Judged, error) {
	buffered, format, err := r.recognised(in, name)
	if err != nil {
		return nil, err
	}
	if format == formats.Native {
		return r.native(buffered, name)
	}
	s, err := audit.Read(buffered, name, format, r.Options)
	if err != nil {
		return nil, err
	}
	return Translated(s, kept, r.Keep)
}

// Close removes the temporary files of the history. After it, Print names no lines.
func (j *Judged) Close() {
	if j.source != nil {
		j.source.Close()
	}
}

// Translated judges a history of another tool, and closes it if that fails.
// With keep its events stay in memory, for a report.
func Translated(s *audit.Source, o checker.Options, keep bool) (*Judged, error) {
	j := &Judged{History: history.History{Header: s.Header, Keys: s.Keys}, source: s}
	judge := checker.New(s.Header, s.Keys, o)
	if err := s.Each(j.take(judge, keep)); err != nil {
		s.Close()
		return nil, err
	}
	j.Verdict = judge.Finish(false)
	j.Verdict.Stats.Timings = slices.DeleteFunc(j.Verdict.Stats.Timings, func(t checker.Timing) bool {
		kind, ofOps := timed[t.What]
		return ofOps && !s.Lasting(kind) // it is the clocks' error
	})
	return j, nil
}

// timed are the ops that a timing is of.
var timed = map[string]history.Kind{checker.TimeWait: history.Acquire, checker.TimeRenew: history.Renew,
	checker.TimeRelease: history.Release,
	checker.TimeRead:    history.Read, checker.TimeWrite: history.Write}

// take gives events to a judge, and keeps them if they are to be kept.
func (j *Judged) take(judge *checker.Sweep, keep bool) func([]history.Event) error {
	return func(events []history.Event) error {
		for i := range events {
			judge.Add(&events[i])
		}
		if keep {
			j.History.Events = append(j.History.Events, events...)
		}
		return nil
	}
}

// native judges a history of lockchaos.
func (r Reading) native(in io.Reader, name string) (*Judged, error) {
	from, err := history.NewReader(in, name)
	if err != nil {
		return nil, err
	}
	j := &Judged{History: history.History{Header: from.Header, Keys: from.Keys}}
	judge := checker.New(from.Header, from.Keys, kept)
	err = from.Each(j.take(judge, r.Keep))
	j.History.Truncated = from.Truncated()
	j.Verdict = judge.Finish(from.Truncated())
	return j, err
}

// Print writes the verdict as text.
func (j *Judged) Print(w io.Writer, file string) {
	terminal.Verdict(w, file, j.scenario(), func(op int64) (steps []terminal.Step) {
		for _, s := range j.source.Steps(op) {
			steps = append(steps, terminal.Step(s))
		}
		return steps
	})
}

// scenario is the history as reports take it.
func (j *Judged) scenario() reports.Scenario {
	h := &j.History.Header
	sc := reports.Scenario{Name: h.Scenario, Lock: h.Lock, Service: h.Service, Fault: h.Fault, Store: "unfenced",
		Seed: h.Seed, StandIns: h.StandIns,
		History: &j.History, Verdict: j.Verdict, Met: j.Verdict.Outcome == checker.Pass, Alone: true}
	if h.Store.Fenced {
		sc.Store = "fenced"
	}
	if j.source != nil {
		sc.Notes, sc.Lines = j.reading(), j.source.Lines
	}
	return sc
}

// reading says in lines how a foreign history was read, and how to say otherwise.
func (j *Judged) reading() (lines []string) {
	if guessed, mapping, unread := j.source.Columns(); len(guessed) > 0 {
		line := "columns guessed: " + strings.Join(guessed, ", ")
		if len(unread) > 0 {
			line += "; not read: " + strings.Join(unread, ", ")
		}
		lines = append(lines, line+"; to say otherwise: "+ListFlag("--map", mapping))
	}
	for _, text := range j.source.Assumed {
		lines = append(lines, "assumed: "+text)
	}
	for _, text := range j.source.Left {
		lines = append(lines, "note: "+text)
	}
	return lines
}

// ListFlag writes a flag with a list of pairs as a shell takes it.
func ListFlag(flag string, pairs []string) string {
	var text strings.Builder
	list := csv.NewWriter(&text) // which is how the flag is read
	_ = list.Write(pairs)        // into memory
	list.Flush()
	return flag + " " + reports.Quoted(strings.TrimSuffix(text.String(), "\n"))
}
