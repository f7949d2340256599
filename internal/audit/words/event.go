package words

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/times"
)

// Event is what one line of an audit log tells: when, who, what, of which lock, with which token.
type Event struct {
	times.Stamp
	Token      history.Token
	Line       int32
	Key, Owner int32 // numbers of Names
	Means      Meaning
	Ending     Ending
	Fine       bool // its time is written with a fraction of a second
}

// errNoText: two names that differ in such bytes look alike, and JSON makes one of them.
var errNoText = errors.New("bytes that are no text in UTF-8: convert the log first, such as with iconv -f latin1 -t utf-8")

// Reader understands the lines of an audit log.
type Reader struct {
	Stamps times.Reader
	words  Vocabulary
	names  int  // that are remembered, but for those of a block
	Whole  bool // each record is a whole hold
	// fileOf is the client of a line; nil: a column names it.
	fileOf  func(line int) string
	unended func(line int) bool
	Columns *Columns // found once for all that read the log
}

// Options says how lines are to be understood.
type Options struct {
	Times times.Options
	// Map names the columns of a log by field, Events and Results what its words mean.
	Map             map[string]string
	Events, Results map[string][]string
	// FileOf is the name of the file that a line stands in.
	FileOf func(line int) string
	// Unended reports whether a file ends within a line, and another file follows; nil: none does.
	Unended func(line int) bool
	// Exclusive: a client can't have a lock twice.
	Exclusive bool
	// Permits is how many clients may have it at once; 0: one.
	Permits int
	// Told: acquires say that they were granted, so one that says nothing was not.
	Told bool
	// Settled: these are lines of a log whose columns were chosen, so nothing is asked about how
	// acquires ended.
	Settled bool
	// Names is how many names a worker remembers.
	Names int
}

// Unended reports whether a file of a log of several ends within a line.
func (r *Reader) Unended(line int) bool { return r.unended != nil && r.unended(line) }

// NewReader returns a reader for which only the columns are to be found.
func NewReader(o Options) (r Reader, err error) {
	if r.Stamps, err = times.NewReader(o.Times); err != nil {
		return r, err
	}
	r.names, r.unended = o.Names, o.Unended
	_, r.Whole = o.Map[wholeHold]
	if client := o.Map[Fields[FieldClient]]; client == FileColumn || strings.HasPrefix(client, FileColumn+"+") {
		if r.fileOf = o.FileOf; r.fileOf == nil {
			return r, errors.New("client=@file is the file of a line: judge several files as one log (--together)")
		}
	}
	if r.words, err = NewVocabulary(o.Events, o.Results); err != nil {
		return r, err
	}
	r.Columns = &Columns{whole: r.Whole, stamps: r.Stamps, words: r.words, exclusive: o.Exclusive,
		permits: max(o.Permits, 1), told: o.Told, settled: o.Settled}
	r.Columns.Named, err = explicit(o.Map)
	return r, err
}

// WholeHolds says that each record is a whole hold, with times of a format.
func (r *Reader) WholeHolds(timeFormat string) (err error) {
	if r.Stamps, err = times.NewReader(times.Options{Format: timeFormat}); err == nil {
		r.Whole, r.Columns.whole, r.Columns.stamps = true, true, r.Stamps
	}
	return err
}

// DefaultKey is the name of the key where a history has but one lock.
const DefaultKey = "lock"

// Positive is the token with a number in a format where 0 is none.
func Positive(number int64) history.Token {
	if number <= 0 || number == math.MaxInt64 {
		return 0
	}
	return history.TokenOf(number)
}

// Understand reads a line, but for its key and client; of an ignored one, only that it is ignored.
// With an error it returns the field that is wrong.
func (r *Reader) Understand(text *[FieldCount]string) (e Event, wrong Field, err error) {
	switch e.Means = r.words.of(text[FieldEvent]); e.Means {
	case Ignore:
		return e, 0, nil
	case unknown:
		return e, FieldEvent, &UnknownWord{Word: text[FieldEvent]}
	case shared:
		return e, FieldEvent, ErrShared
	}
	if err := r.judges(text[fieldMode]); err != nil && slices.Contains(ofLock, e.Means) {
		return e, fieldMode, err
	}
	var ofEnd bool
	if e.Stamp, ofEnd, err = r.Stamps.Interval(text[FieldTime], text[FieldEnd]); err != nil {
		return e, timeField(ofEnd), err
	}
	if token := text[FieldToken]; token != "" && token != "-" {
		number, err := strconv.ParseInt(token, 10, 64)
		if err != nil || number < 0 || number == math.MaxInt64 {
			return e, FieldToken, errors.New("a fencing token is a whole number, 0 or more")
		}
		e.Token = history.TokenOf(number)
	}
	switch e.Ending = r.words.ended(text[fieldResult], text[FieldError]); e.Ending {
	case EndedSomehow:
		return e, fieldResult, &UnknownResult{Word: text[fieldResult]}
	case EndedNotYet:
		if e.Means = e.Means.begun(); e.Means != Release && e.Means != Renew {
			e.Ending = EndedOK
		}
		return e, 0, nil
	}
	e.Means = e.Means.inRecord(text[fieldResult] != "" || e.Ending != EndedOK, r.Columns.told)
	return e, 0, nil
}

// timeField is the field of a line's time, or of its end.
func timeField(end bool) Field {
	if end {
		return FieldEnd
	}
	return FieldTime
}
