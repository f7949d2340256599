package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/audit"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
)

// foreignFlags are the flags of check that say how to read a history that lockchaos did not write.
type foreignFlags struct {
	format    string
	columns   map[string]string
	events    map[string]string
	pattern   string
	skip      bool
	times     string
	clock     time.Duration
	permits   int
	reentrant bool
	tokens    string
	ttl       string
}

func (f *foreignFlags) add(flags *pflag.FlagSet) {
	names := make([]string, 0, len(audit.Formats))
	for _, format := range audit.Formats {
		names = append(names, string(format))
	}
	flags.StringVar(&f.format, "format", string(audit.Auto), "format of the histories: "+strings.Join(names, ", "))
	flags.StringToStringVar(&f.columns, "map", nil, "columns of a log that is to be read otherwise than guessed, as field=column, or field=- for none; fields: "+strings.Join(audit.Fields, ", "))
	flags.StringToStringVar(&f.events, "events", nil, "words of a log's event column, as meaning=word|word; meanings: "+strings.Join(audit.Meanings, ", "))
	flags.StringVar(&f.pattern, "pattern", "", "regular expression for a log in lines of text; its named groups are the columns")
	flags.BoolVar(&f.skip, "skip-unmatched", false, "leave out the lines that --pattern does not match, and count them")
	flags.StringVar(&f.times, "time-format", "auto", "times of a log: auto, rfc3339, unix, unix-ms, unix-us, unix-ns, or a layout of Go")
	flags.DurationVar(&f.clock, "clock-error", 0, "how far a stamp may lie from the instant that it tells, where clients have clocks of their own")
	flags.IntVar(&f.permits, "permits", 1, "how many may hold a key at once (a semaphore)")
	flags.BoolVar(&f.reentrant, "reentrant", false, "an owner may acquire again what it holds")
	flags.StringVar(&f.tokens, "tokens", "fencing", "what tokens mean: fencing (they rise with every grant), version or none")
	flags.StringVar(&f.ttl, "ttl", "", "how long a grant is good: a duration, released (until it is released) or unknown (default: released for Jepsen and Porcupine, unknown for logs)")
}

// options makes options of the flags.
func (f *foreignFlags) options() (audit.Options, error) {
	o := audit.Options{Map: f.columns, TimeFormat: f.times, ClockError: f.clock, Permits: f.permits, Reentrant: f.reentrant, Tokens: f.tokens,
		Pattern: f.pattern, SkipUnmatched: f.skip}
	if err := f.text(); err != nil {
		return o, err
	}
	if f.permits < 1 {
		return o, fmt.Errorf("--permits %d: a lock has at least 1", f.permits)
	}
	if !slices.Contains(audit.Formats, audit.Format(f.format)) {
		return o, fmt.Errorf("unknown --format %q: %v", f.format, audit.Formats)
	}
	if len(f.events) > 0 {
		o.Events = map[string][]string{}
	}
	for meaning, words := range f.events {
		o.Events[meaning] = strings.Split(words, "|")
	}
	switch f.ttl {
	case "":
	case "released":
		o.Validity = &audit.Validity{Released: true}
	case "unknown":
		o.Validity = &audit.Validity{}
	default:
		ttl, err := time.ParseDuration(f.ttl)
		if err != nil || ttl <= 0 {
			return o, fmt.Errorf("--ttl %q: a duration such as 30s, released or unknown", f.ttl)
		}
		o.Validity = &audit.Validity{TTL: ttl}
	}
	return o, nil
}

// text sees to it that a pattern and the format for it go together.
func (f *foreignFlags) text() error {
	format := audit.Format(f.format)
	switch {
	case f.pattern == "" && f.skip:
		return errors.New("--skip-unmatched is about the lines that --pattern does not match, and there is no --pattern")
	case f.pattern == "" && format == audit.Text:
		return errors.New("--format text needs --pattern, which says what the lines of text hold")
	case f.pattern == "":
		return nil
	case format != audit.Auto && format != audit.Text:
		return fmt.Errorf("--pattern is for lines of text, and --format %s is not", f.format)
	}
	if _, err := audit.Pattern(f.pattern); err != nil {
		return fmt.Errorf("--pattern: %w", err)
	}
	return nil
}

// judgedFile is a history that was judged, and how to tell of it in the words of its file.
type judgedFile struct {
	whole   history.History // without its events, unless they were to be kept
	verdict checker.Verdict
	source  *audit.Source // nil for a history of lockchaos
}

// kept is what a run's own report keeps of its violations: the figures are the same.
var kept = checker.Options{Keep: reports.KeptViolations, KeepDefects: true}

// judge streams a history of any format through the judge; keep keeps its events.
func (f *foreignFlags) judge(in io.Reader, name string, keep bool) (judgedFile, error) {
	options, err := f.options()
	if err != nil {
		return judgedFile{}, err
	}
	buffered, err := history.Decompressed(bufio.NewReaderSize(in, audit.DetectBytes), name)
	if err != nil {
		return judgedFile{}, err
	}
	head, err := buffered.Peek(audit.DetectBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return judgedFile{}, fmt.Errorf("read %s: %w", name, err)
	}
	format := audit.Format(f.format)
	if f.pattern != "" {
		format = audit.Text
	}
	if format == audit.Auto {
		if format, err = audit.Detect(head, strings.TrimSuffix(name, history.Compressed), len(f.columns) > 0); err != nil {
			line, _, _ := strings.Cut(string(head[:min(len(head), 60)]), "\n")
			return judgedFile{}, &history.SyntaxError{File: name, Line: 1, Near: line, Err: err}
		}
	}
	if format == audit.Native {
		return judgeNative(buffered, name, keep)
	}
	s, err := audit.Read(buffered, name, format, options)
	if err != nil {
		return judgedFile{}, err
	}
	j := judgedFile{whole: history.History{Header: s.Header, Keys: s.Keys}, source: s}
	judge := checker.New(s.Header, s.Keys, kept)
	for {
		var e history.Event
		if err := s.Read(&e); errors.Is(err, io.EOF) {
			j.verdict = reports.Retold(&j.whole.Header, judge.Finish(false))
			return j, nil
		} else if err != nil {
			return judgedFile{}, err
		}
		judge.Add(&e)
		if keep {
			j.whole.Events = append(j.whole.Events, e)
		}
	}
}

// judgeNative judges a history of lockchaos.
func judgeNative(in io.Reader, name string, keep bool) (judgedFile, error) {
	r, err := history.NewReader(in, name)
	if err != nil {
		return judgedFile{}, err
	}
	j := judgedFile{whole: history.History{Header: r.Header, Keys: r.Keys}}
	judge := checker.New(r.Header, r.Keys, kept)
	err = r.Each(func(events []history.Event) error {
		for i := range events {
			judge.Add(&events[i])
		}
		if keep {
			j.whole.Events = append(j.whole.Events, events...)
		}
		return nil
	})
	if err != nil {
		return judgedFile{}, err
	}
	j.whole.Truncated = r.Truncated()
	j.verdict = reports.Retold(&j.whole.Header, judge.Finish(r.Truncated()))
	return j, nil
}

// onLines names the lines of a log that prove a violation.
func (j *judgedFile) onLines(ops []int64) string {
	if j.source == nil {
		return ""
	}
	var lines []int
	for _, op := range ops {
		if first, last := j.source.Lines(op); first > 0 {
			lines = append(lines, first, last)
		}
	}
	slices.Sort(lines)
	var numbers []string
	for _, n := range slices.Compact(lines) {
		numbers = append(numbers, strconv.Itoa(n))
	}
	if len(numbers) == 0 {
		return ""
	}
	return fmt.Sprintf(" (lines %s)", strings.Join(numbers, ", "))
}

// mapFlag writes a mapping of columns as it is typed.
func mapFlag(pairs []string) string { return listFlag("--map", pairs) }

// listFlag writes a flag with a list of pairs as a shell takes it.
func listFlag(flag string, pairs []string) string {
	var text strings.Builder
	list := csv.NewWriter(&text) // which is how the flag is read
	_ = list.Write(pairs)        // into memory
	list.Flush()
	return flag + " " + reports.Quoted(strings.TrimSuffix(text.String(), "\n"))
}

// howToRead adds to an error about a log the command that answers it.
func howToRead(err error, cmd *cobra.Command, file string) error {
	var asks *audit.Ambiguous
	var word *audit.UnknownWord
	var missing *audit.Missing
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w\nsay which column is which, such as: %s", err, typed(cmd, "map", mapFlag(missing.Map), file))
	case errors.As(err, &asks):
		return fmt.Errorf("%w\nsay which column is which, such as: %s", err, typed(cmd, "map", mapFlag(asks.Map), file))
	case errors.As(err, &word):
		return fmt.Errorf("%w\nfor a word that grants the lock: %s; for one that is not about it: %s", err, listFlag("--events", []string{"grant=" + word.Word}), listFlag("--events", []string{"ignore=" + word.Word}))
	case errors.Is(err, audit.ErrUnknownFormat):
		return fmt.Errorf("%w\nfor a log in lines of text say what a line holds, such as: %s\nfor a table with a heading say which column is which, such as: %s", err,
			typed(cmd, "pattern", "--pattern '"+examplePattern+"'", file), typed(cmd, "map", mapFlag([]string{"time=when", "client=pod", "event=what"}), file))
	}
	return err
}

// examplePattern reads lines that begin with a time, a client and an event.
const examplePattern = `^(?P<time>\S+) (?P<client>\S+) (?P<event>\S+)`

// typed is the command with the flags that it was given, but for one that is to be given anew.
func typed(cmd *cobra.Command, anew, flag, file string) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == anew:
		case f.Value.Type() == "stringToString":
			words = append(words, "--"+f.Name+" "+reports.Quoted(strings.Trim(f.Value.String(), "[]")))
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			words = append(words, "--"+f.Name+" "+reports.Shell(f.Value.String()))
		}
	})
	if flag != "" {
		words = append(words, flag)
	}
	return strings.Join(append(words, reports.Shell(file)), " ")
}
