package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/runs/saved"
	"github.com/lockchaos/lockchaos/reports"
)

// foreignFlags are the flags of check that say how to read a history that lockchaos did not write.
type foreignFlags struct {
	saved.Reading
	format string
	events map[string]string
	ended  map[string]string
	ttl    string
}

func (f *foreignFlags) add(flags *pflag.FlagSet) {
	names := make([]string, 0, len(formats.Formats))
	for _, format := range formats.Formats {
		names = append(names, string(format))
	}
	flags.StringVar(&f.format, "format", string(formats.Auto), "format of the histories: "+join(names))
	flags.StringToStringVar(&f.Map, "map", nil,
		"columns of a log that is to be read otherwise than guessed, as field=column, or field=- for none; fields: "+
			strings.Join(words.Fields, ", ")+"; begin instead of time, with end, where each record is a whole hold")
	flags.StringToStringVar(&f.events, "events", nil,
		"words of a log's event column, as meaning=word|word; meanings: "+strings.Join(words.Meanings, ", "))
	flags.StringToStringVar(&f.ended, "results", nil,
		"words of a log's result column, or of the answers of a history, as meaning=word|word; meanings: "+
			strings.Join(words.Results, ", "))
	flags.StringVar(&f.Pattern, "pattern", "",
		"regular expression for a log in lines of text; its named groups are the columns")
	flags.StringVar(&f.Span, "span", "",
		"name of the spans of a trace (OpenTelemetry, Jaeger, Zipkin) that are holds of a lock, such as lock.hold")
	flags.BoolVar(&f.Polled, "polled", false,
		"the samples of who holds a lock were taken now and then, and are not all changes as a watch prints them")
	flags.BoolVar(&f.SkipUnmatched, "skip-unmatched", false,
		"leave out the lines that --pattern does not match, and count them")
	flags.StringVar(&f.TimeFormat, "time-format", "auto",
		"times of a log: auto, rfc3339, unix, unix-ms, unix-us, unix-ns, or a layout of Go")
	flags.StringVar(&f.Timezone, "timezone", "", "zone of a log's times that have none, such as Europe/Berlin or UTC")
	flags.StringToStringVar(&f.Zones, "zone", nil, "zones that a log names, as NAME=+01:00")
	flags.StringVar(&f.Date, "date", "",
		"day of a log's first line, for times without a year or date, such as 2026-11-26 (default: the file's own)")
	flags.DurationVar(&f.ClockError, "clock-error", 0,
		"how far a stamp may lie from the instant that it tells, where clients have clocks of their own")
	flags.IntVar(&f.Permits, "permits", 1, "how many may hold a key at once (a semaphore)")
	flags.BoolVar(&f.Reentrant, "reentrant", false, "an owner may acquire again what it holds")
	flags.StringVar(&f.Tokens, "tokens", "",
		"what tokens mean: fencing (they rise with every grant), version or none (default: fencing, unless a log shows that they rise with every write)")
	flags.StringVar(&f.ttl, "ttl", "", "how long a grant is good: a duration, released (until it is released) or unknown (default: released for Jepsen and Porcupine, unknown for logs)")
}

// reading says how to read a history by the flags; keep: its events are kept.
func (f *foreignFlags) reading(keep bool) (saved.Reading, error) {
	o := f.Reading
	o.Format, o.Keep = formats.Format(f.format), keep
	if err := f.text(); err != nil {
		return o, err
	}
	if f.Permits < 1 {
		return o, fmt.Errorf("--permits %d: a lock has at least 1", f.Permits)
	}
	if !slices.Contains(formats.Formats, formats.Format(f.format)) {
		return o, fmt.Errorf("unknown --format %q: %v", f.format, formats.Formats)
	}
	o.Events, o.Results = wordLists(f.events), wordLists(f.ended)
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

// wordLists are the words that mean something, by what they mean.
func wordLists(flag map[string]string) map[string][]string {
	lists := map[string][]string{}
	for meaning, words := range flag {
		lists[meaning] = strings.Split(words, "|")
	}
	return lists
}

// text sees to it that a pattern and the format for it go together.
func (f *foreignFlags) text() error {
	format := formats.Format(f.format)
	switch {
	case f.Pattern == "" && f.SkipUnmatched:
		return errors.New("--skip-unmatched is about the lines that --pattern does not match, and there is no --pattern")
	case f.Pattern == "" && format == formats.Text:
		return errors.New("--format text needs --pattern, which says what the lines of text hold")
	case f.Pattern == "":
		return nil
	case format != formats.Auto && format != formats.Text:
		return fmt.Errorf("--pattern is for lines of text, and --format %s is not", f.format)
	}
	if _, err := formats.Pattern(f.Pattern); err != nil {
		return fmt.Errorf("--pattern: %w", err)
	}
	return nil
}

// howToRead adds to an error about a log the command that answers it.
func howToRead(err error, cmd *cobra.Command, file string) error {
	var asks *words.Ambiguous
	var word *words.UnknownWord
	var missing *words.Missing
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w\nsay which column is which, such as: %s", err,
			typed(cmd, "map", saved.ListFlag("--map", missing.Map), file))
	case errors.As(err, &asks):
		return fmt.Errorf("%w\nsay which column is which, such as: %s", err,
			typed(cmd, "map", saved.ListFlag("--map", asks.Map), file))
	case errors.As(err, &word):
		return fmt.Errorf("%w\nfor a word that grants the lock: %s; for one that is not about it: %s", err,
			saved.ListFlag("--events", []string{"grant=" + word.Word}),
			saved.ListFlag("--events", []string{"ignore=" + word.Word})+
				", and for all that are not known: --events 'ignore=*'")
	case errors.Is(err, formats.ErrUnknownFormat):
		pattern := examplePattern
		if unknown, ok := errors.AsType[*formats.UnknownFormat](err); ok && unknown.Pattern != "" {
			pattern = unknown.Pattern
		}
		return fmt.Errorf("%w\nfor a log in lines of text say what a line holds, such as: %s\nfor a table with a heading say which column is which, such as: %s", err,
			typed(cmd, "pattern", "--pattern "+reports.Quoted(pattern), file),
			typed(cmd, "map", saved.ListFlag("--map", []string{"time=when", "client=pod", "event=what"}), file))
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
