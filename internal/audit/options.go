package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Validity is what the reader of a history knows about how long a grant is good.
type Validity struct {
	// TTL is the lock's TTL from the start of the acquire or renewal; 0: not known.
	TTL time.Duration
	// Released: a grant is good until it is released, as in Jepsen's models of a mutex.
	Released bool
}

// Options says how to read a history.
type Options struct {
	// Map names the columns of a log by field (Fields); a field that is missing is looked for
	// by name and by what the columns hold, and the column "-" is none.
	Map map[string]string
	// Pattern is a regular expression for logs in lines of text; its named groups are the columns.
	Pattern string
	// SkipUnmatched leaves out lines that Pattern does not match, and counts
	// them; without it the first one is an error.
	SkipUnmatched bool
	// Events says which words of the event column mean what (Meanings), by
	// meaning; they come before the usual ones.
	Events map[string][]string
	// Results says which words of a result mean what (Results), by meaning;
	// they come before the usual ones.
	Results map[string][]string
	// TimeFormat is "auto", "rfc3339", "unix", "unix-ms", "unix-us", "unix-ns",
	// or a layout of package time.
	TimeFormat string
	// Timezone is the zone of times that have none, as the time zone database
	// names it, such as "Europe/Berlin". Zones are the offsets of zones by the
	// names that a log has for them, such as "+01:00".
	Timezone string
	Zones    map[string]string
	// Date is the day of the first line (2006-01-02), for times without a year
	// or date. FileDate is the same where nobody says it: the file's own.
	Date, FileDate string
	// Span is the name of the spans of a trace that are holds of a lock.
	Span string
	// Polled: samples of who holds a lock were taken now and then, and are not all changes.
	Polled bool
	// Joined: the log is of several files, one after the other, so times may go
	// back where one begins. FileOf is the name of the file that a line stands
	// in. It may be called for lines that have been read, by several goroutines.
	Joined bool
	FileOf func(line int) string `json:"-"`
	// Unended reports whether a file ends within a line, and another file
	// follows. It may be called as FileOf may.
	Unended func(line int) bool `json:"-"`
	// ClockError is how far a stamp may lie from the instant that it tells, either way.
	ClockError time.Duration
	// Permits is how many may hold a key at once; 0 means 1.
	Permits int
	// Reentrant: an owner may acquire again what it holds.
	Reentrant bool
	// Delayed: faults may have stopped clients between an event and its line. So the news of a loss
	// does not show that its client held until then, and an acquire is the attempt that succeeded.
	Delayed bool
	// Tokens is what a token means: "fencing", "version" (it may be the number of a write)
	// or "none". Empty is fencing, unless a log shows that its numbers are those of writes.
	Tokens string
	// Clients are names that have numbers: on every key the first is client 1,
	// and so on. Others are numbered on each key from the next one.
	Clients []string
	// Validity is nil where the format's own is meant: until released for
	// Jepsen and Porcupine, not known for logs.
	Validity *Validity

	// a line that is not among these says "granted", so "acquire" means that it was asked
	asked   bool
	told    bool       // such a line is an acquire that says that it was granted: one that says nothing was not
	settled bool       // the columns of the log were chosen before
	numbers []int      // which lines of a log these are, from 1; nil: they are the log
	missing Missing    // lines that are not among these and could not be understood
	named   bool       // a line that is not among these names a lock
	block   int        // bytes of a block (cutter); 0: as many as usual
	keep    spill.Room // how much of the log is kept in memory; nothing: as much as usual
}

// number is that of a line in the log: lines that were kept of one have others there. 0: no line.
func (o Options) number(line int) int {
	switch {
	case o.numbers == nil:
		return line
	case line < 1 || line > len(o.numbers):
		return 0
	}
	return o.numbers[line-1]
}

func (o Options) room() spill.Room {
	if o.keep.Page == 0 {
		return spill.UsualRoom
	}
	return o.keep
}

// reading says how a file is to be read.
func (o Options) reading() formats.Options {
	return formats.Options{Pattern: o.Pattern, SkipUnmatched: o.SkipUnmatched, Span: o.Span, Polled: o.Polled,
		Named: o.named, Block: o.block,
		Options: words.Options{Map: o.Map, Events: o.Events, Results: o.Results, FileOf: o.FileOf, Unended: o.Unended,
			Exclusive: !o.Reentrant && o.Permits <= 1, Permits: o.Permits, Told: o.told, Settled: o.settled, Names: o.room().Names,
			Times: times.Options{Format: o.TimeFormat, Timezone: o.Timezone, Zones: o.Zones, Date: o.Date,
				FileDate: o.FileDate}}}
}

// check refuses options that make no sense.
func (o Options) check() error {
	switch {
	case o.ClockError < 0:
		return fmt.Errorf("a clock error of %s: it is a size, so 0 or more", o.ClockError)
	case o.Permits < 0:
		return fmt.Errorf("%d permits: a lock has at least 1", o.Permits)
	case o.Permits > 1 && o.Reentrant:
		return errors.New("a reentrant lock with more than one permit is not judged: give --permits or --reentrant")
	case o.Tokens != "" && o.Tokens != "fencing" && o.Tokens != "version" && o.Tokens != "none":
		return fmt.Errorf("unknown meaning of tokens %q: fencing, version or none", o.Tokens)
	case o.Validity != nil && o.Validity.TTL < 0:
		return fmt.Errorf("a TTL of %s: it must be positive", o.Validity.TTL)
	}
	return nil
}

// completed fills in what was left to the format.
func (o Options) completed(released bool) Options {
	if o.Permits == 0 {
		o.Permits = 1
	}
	if o.Tokens == "" {
		o.Tokens = "fencing"
	}
	if o.Validity == nil {
		o.Validity = &Validity{Released: released}
	}
	return o
}
