package audit

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lockchaos/lockchaos/audit/forms"
	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/spill"
	"github.com/lockchaos/lockchaos/audit/times"
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
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
	// SkipUnmatched leaves out lines that Pattern does not match, and counts them; without it the first one is an error.
	SkipUnmatched bool
	// Events says which words of the event column mean what (Meanings), by meaning; they come before the usual ones.
	Events map[string][]string
	// Results says which words of a result mean what (Results), by meaning; they come before the usual ones.
	Results map[string][]string
	// TimeFormat is "auto", "rfc3339", "unix", "unix-ms", "unix-us", "unix-ns", or a layout of package time.
	TimeFormat string
	// Timezone is the zone of times that have none, as the time zone database names it, such as "Europe/Berlin". Zones are the offsets of zones by the
	// names that a log has for them, such as "+01:00".
	Timezone string
	Zones    map[string]string
	// Date is the day of the first line (2006-01-02), for times without a year or date. FileDate is the same where nobody says it: the file's own.
	Date, FileDate string
	// Span is the name of the spans of a trace that are holds of a lock.
	Span string
	// Polled: samples of who holds a lock were taken now and then, and are not all changes.
	Polled bool
	// Joined: the log is of several files, one after the other, so times may go back where one begins. FileOf is the name of the file that a line stands in. It
	// may be called for lines that have been read, by several goroutines.
	Joined bool
	FileOf func(line int) string `json:"-"`
	// ClockError is how far a stamp may lie from the instant that it tells, either way.
	ClockError time.Duration
	// Permits is how many may hold a key at once; 0 means 1.
	Permits int
	// Reentrant: an owner may acquire again what it holds.
	Reentrant bool
	// Delayed: faults may have stopped clients between an event and its line. So the news of a loss does not show that its client held
	// until then, and an acquire is the attempt that succeeded.
	Delayed bool
	// Tokens is what a token means: "fencing", "version" (it may be the number of a write) or "none". Empty is fencing, unless a log shows that its numbers
	// are those of writes.
	Tokens string
	// Clients are names that have numbers: on every key the first is client 1, and so on. Others are numbered on each key from the next one.
	Clients []string
	// Validity is nil where the format's own is meant: until released for Jepsen and Porcupine, not known for logs.
	Validity *Validity

	asked bool       // a line that is not among these says "granted", so "acquire" means that it was asked
	block int        // bytes of a block (cutter); 0: as many as usual
	keep  spill.Room // how much of the log is kept in memory; nothing: as much as usual
}

func (o Options) room() spill.Room {
	if o.keep.Page == 0 {
		return spill.UsualRoom
	}
	return o.keep
}

// reading says how a file is to be read.
func (o Options) reading() forms.Options {
	return forms.Options{Pattern: o.Pattern, SkipUnmatched: o.SkipUnmatched, Span: o.Span, Polled: o.Polled, Block: o.block,
		Options: words.Options{Map: o.Map, Events: o.Events, Results: o.Results, FileOf: o.FileOf, Exclusive: !o.Reentrant && o.Permits <= 1, Names: o.room().Names,
			Times: times.Options{Format: o.TimeFormat, Timezone: o.Timezone, Zones: o.Zones, Date: o.Date, FileDate: o.FileDate}}}
}

// Source is a foreign history, translated. It is read like a history.Reader, and to be closed.
type Source struct {
	Header history.Header
	Keys   []string
	// Assumed says in full sentences what was taken for granted, Left what was left out.
	Assumed, Left []string
	// Open has lines that leave it open who held a lock, so that the answer is no pass: of each kind the first.
	Open []remarks.Open
	// Doubt says why a lock may have had two holders, for all that the history tells, those lines included; empty: it had not.
	Doubt string

	log *log
	out *emitter
}

// Read reads a whole history of a format other than Native and Auto, and translates it. Name is for error messages; errors in the history
// are a *history.SyntaxError.
func Read(in io.Reader, name string, format forms.Format, o Options) (s *Source, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l := newLog(name, o.room(), o.reading())
	defer func() {
		if err != nil {
			l.room.Close()
		}
	}()
	defer spill.Caught(&err)
	events := newGatherer(l, o)
	l.Take = events.take
	if err := l.File.Read(in, format); err != nil {
		return nil, err
	}
	if err := events.ops(); err != nil {
		return nil, err
	}
	return translate(l, o.completed(l.Released))
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

// Read fills in the next event; io.EOF at the end.
func (s *Source) Read(e *history.Event) (err error) {
	defer spill.Caught(&err)
	return s.out.next(e)
}

// Each reads the rest of the history and calls do with its events, in order, many at a time. They are good until do returns. The next ones are
// read meanwhile, so do must not call the source. The first error, of do or of the history, ends it.
func (s *Source) Each(do func([]history.Event) error) error {
	var end error
	some := func(events []history.Event) []history.Event {
		for events = events[:0]; len(events) < 512 && end == nil; {
			events = append(events, history.Event{})
			if end = s.Read(&events[len(events)-1]); end != nil {
				events = events[:len(events)-1]
			}
		}
		return events
	}
	next := []history.Event{}
	for events := some(nil); len(events) > 0; events, next = next, events {
		read := spill.Aside(func() { next = some(next) })
		err := func() error {
			defer spill.Join(read)
			return do(events)
		}()
		if err != nil {
			return err
		}
	}
	if errors.Is(end, io.EOF) {
		return nil
	}
	return end
}

// Close removes what of the history lies in temporary files. After it nothing more can be asked.
func (s *Source) Close() { s.log.room.Close() }

// op is an op that stands in the file; nil for one that was added for what is known all the same, and where a temporary file can't be read.
func (s *Source) op(id int64) (o *op) {
	var unread error
	defer spill.Caught(&unread)
	if id < 1 || id > int64(min(s.log.read, s.log.ops.Length)) {
		return nil
	}
	one := s.log.ops.Copy(int32(id - 1))
	return &one
}

// Lasting reports whether some line tells how long an op of a kind took.
func (s *Source) Lasting(kind history.Kind) bool { return s.log.lasting[kind] }

// Lines returns the lines of the file on which an op of the translated history stands: its first and its last; 0 where it does not.
func (s *Source) Lines(id int64) (first, last int) {
	o := s.op(id)
	if o == nil {
		return 0, 0
	}
	return int(o.Line), int(o.EndLine)
}

// Columns says how the columns of a log were read: what was guessed and the whole mapping, each as field=column, and the columns
// that were not read.
func (s *Source) Columns() (guessed, mapping, unread []string) {
	g := s.log.Columns
	if g == nil {
		return nil, nil, nil
	}
	for f, name := range words.Fields {
		if column := g.Column(words.Field(f)); column != "" && column != words.NoColumn && g.Named[f] == "" {
			guessed = append(guessed, name+"="+column)
		}
	}
	return guessed, g.Mapping(), g.Unread
}

// Client returns the name that a client has in the file. Clients are numbered on each key from 1.
func (s *Source) Client(key string, client int32) string {
	k, ok := s.log.Keys.Find(key)
	if !ok || client < 1 || int(client) > len(s.log.clients[k]) {
		return ""
	}
	return s.log.clients[k][client-1]
}
