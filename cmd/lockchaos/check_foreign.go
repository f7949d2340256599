package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/history/foreign"
)

// foreignFlags are the flags of check that say how to read a history that lockchaos did not write.
type foreignFlags struct {
	format    string
	columns   map[string]string
	events    map[string]string
	times     string
	clock     time.Duration
	permits   int
	reentrant bool
	tokens    string
	ttl       string
}

func (f *foreignFlags) add(flags *pflag.FlagSet) {
	names := make([]string, 0, len(foreign.Formats))
	for _, format := range foreign.Formats {
		names = append(names, string(format))
	}
	flags.StringVar(&f.format, "format", string(foreign.Auto), "format of the histories: "+strings.Join(names, ", "))
	flags.StringToStringVar(&f.columns, "map", nil, "columns of a log, as field=column; fields: "+strings.Join(foreign.Fields, ", "))
	flags.StringToStringVar(&f.events, "events", nil, "words of a log's event column, as meaning=word|word; meanings: "+strings.Join(foreign.Meanings, ", "))
	flags.StringVar(&f.times, "time-format", "auto", "times of a log: auto, rfc3339, unix, unix-ms, unix-us, unix-ns, or a layout of Go")
	flags.DurationVar(&f.clock, "clock-error", 0, "how far a stamp may lie from the instant that it tells, where clients have clocks of their own")
	flags.IntVar(&f.permits, "permits", 1, "how many may hold a key at once (a semaphore)")
	flags.BoolVar(&f.reentrant, "reentrant", false, "an owner may acquire again what it holds")
	flags.StringVar(&f.tokens, "tokens", "fencing", "what tokens mean: fencing (they rise with every grant), version or none")
	flags.StringVar(&f.ttl, "ttl", "", "how long a grant is good: a duration, released (until it is released) or unknown (default: released for Jepsen and Porcupine, unknown for logs)")
}

// options makes options of the flags.
func (f *foreignFlags) options() (foreign.Options, error) {
	o := foreign.Options{Map: f.columns, TimeFormat: f.times, ClockError: f.clock, Permits: f.permits, Reentrant: f.reentrant, Tokens: f.tokens}
	if f.permits < 1 {
		return o, fmt.Errorf("--permits %d: a lock has at least 1", f.permits)
	}
	if !slices.Contains(foreign.Formats, foreign.Format(f.format)) {
		return o, fmt.Errorf("unknown --format %q: %v", f.format, foreign.Formats)
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
		o.Validity = &foreign.Validity{Released: true}
	case "unknown":
		o.Validity = &foreign.Validity{}
	default:
		ttl, err := time.ParseDuration(f.ttl)
		if err != nil || ttl <= 0 {
			return o, fmt.Errorf("--ttl %q: a duration such as 30s, released or unknown", f.ttl)
		}
		o.Validity = &foreign.Validity{TTL: ttl}
	}
	return o, nil
}

// judgedFile is a history that was judged, and how to tell of it in the words of its file.
type judgedFile struct {
	whole   history.History // without its events, unless they were to be kept
	verdict checker.Verdict
	source  *foreign.Source // nil for a history of lockchaos
}

// judge streams a history of any format through the judge; keep keeps its events.
func (f *foreignFlags) judge(in io.Reader, name string, keep bool) (judgedFile, error) {
	options, err := f.options()
	if err != nil {
		return judgedFile{}, err
	}
	buffered, err := history.Decompressed(bufio.NewReaderSize(in, foreign.DetectBytes), name)
	if err != nil {
		return judgedFile{}, err
	}
	head, err := buffered.Peek(foreign.DetectBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return judgedFile{}, fmt.Errorf("read %s: %w", name, err)
	}
	format := foreign.Format(f.format)
	if format == foreign.Auto {
		if format, err = foreign.Detect(head, strings.TrimSuffix(name, history.Compressed), len(f.columns) > 0); err != nil {
			line, _, _ := strings.Cut(string(head[:min(len(head), 60)]), "\n")
			return judgedFile{}, &history.SyntaxError{File: name, Line: 1, Near: line, Err: err}
		}
	}
	if format == foreign.Native {
		return judgeNative(buffered, name, keep)
	}
	s, err := foreign.Read(buffered, name, format, options)
	if err != nil {
		return judgedFile{}, err
	}
	j := judgedFile{whole: history.History{Header: s.Header, Keys: s.Keys}, source: s}
	judge := checker.New(s.Header, s.Keys, checker.Options{})
	for {
		var e history.Event
		if err := s.Read(&e); errors.Is(err, io.EOF) {
			j.verdict = judge.Finish(false)
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
	judge := checker.New(r.Header, r.Keys, checker.Options{})
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
	j.verdict = judge.Finish(r.Truncated())
	return j, nil
}

var clientNumber = regexp.MustCompile(`\bclient (\d+)\b`)

// tell is a violation's text with the clients' names of a foreign history, and the lines that prove it.
func (j *judgedFile) tell(v *checker.Violation) string {
	if j.source == nil {
		return v.Text
	}
	text := clientNumber.ReplaceAllStringFunc(v.Text, func(found string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(found, "client "))
		if name := j.source.Client(v.Key, int32(n)); name != "" {
			return printable(name)
		}
		return found
	})
	var lines []int
	for _, op := range v.Ops {
		first, last := j.source.Lines(op)
		lines = append(lines, first, last)
	}
	slices.Sort(lines)
	var numbers []string
	for _, n := range slices.Compact(lines) {
		numbers = append(numbers, strconv.Itoa(n))
	}
	if len(numbers) == 0 {
		return text
	}
	return fmt.Sprintf("%s (lines %s)", text, strings.Join(numbers, ", "))
}

// preamble says what a foreign history was taken for.
func (j *judgedFile) preamble(w io.Writer) {
	if j.source == nil {
		return
	}
	for _, text := range j.source.Assumed {
		harmless.Fprintf(w, "  assumed: %s\n", printable(text))
	}
	for _, text := range j.source.Left {
		harmless.Fprintf(w, "  note: %s\n", printable(text))
	}
	if !j.whole.Header.Started.IsZero() {
		harmless.Fprintf(w, "  0.000 s is %s\n", j.whole.Header.Started.Round(time.Microsecond).Format(time.RFC3339Nano))
	}
}
