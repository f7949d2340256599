package audit

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// LineSummary is what one line of an endless log says, as far as a watcher needs it to decide which
// lines may still matter.
type LineSummary struct {
	Key, Client string
	At, End     int64 // ns since 1970; End is At where the line does not tell it
	Latest      int64 // when it ended at the latest, if its stamps were cut
	Token       history.Token
	// Ignored: the line is not about the lock.
	Ignored bool
	// Asks: the client waits for an answer. Answers: its wait is over. Holds:
	// it may hold the key now. Ends: it holds the key no more. Acts: it did
	// something under a grant. Renews: its lease was renewed.
	Asks, Answers, Holds, Ends, Acts, Renews bool
}

// Parser understands an endless log line by line: CSV, JSON lines or lines of
// text, one record a line.
type Parser struct {
	events  *gatherer
	lines   *formats.ByLine
	format  formats.Format
	options Options
	named   bool // some line named a lock
}

// NewParser finds the columns of a log of which the first lines are known: for CSV the heading, and
// what follows it. The error is that of Read, such as *Ambiguous. What it chose stays as it is.
func NewParser(name string, head []byte, format formats.Format, o Options) (*Parser, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l := newLog(name, o.room(), o.reading())
	p := &Parser{events: newGatherer(l, o), format: format, options: o}
	var err error
	if p.lines, err = l.OpenLines(head, format); err != nil {
		return nil, err
	}
	clock := times.NewClock(&l.Lines.Stamps, o.Joined, o.Date == "")
	p.events.clock = &clock
	p.options.Map = maps.Clone(o.Map)
	if p.options.Map == nil {
		p.options.Map = map[string]string{}
	}
	if format != formats.JSON { // a member may come late
		for f, name := range words.Fields {
			p.options.Map[name] = cmp.Or(l.Lines.Columns.Column(words.Field(f)), words.NoColumn)
		}
	}
	return p, nil
}

// Heading is the line of names that a log in CSV begins with; empty in other formats.
func (p *Parser) Heading() string { return p.lines.Heading }

// Granted reports whether some line said "granted", so that "acquire" means that it was asked.
func (p *Parser) Granted() bool { return p.events.granted }

// SetGranted says that some line before these said "granted".
func (p *Parser) SetGranted(granted bool) { p.events.granted = p.events.granted || granted }

// TellsGrants reports whether some acquire said that it was granted, so that one that says nothing
// was not.
func (p *Parser) TellsGrants() bool { return p.lines.Worker().Columns.TellsGrants() }

// SetTellsGrants says that some acquire before these lines said that it was granted.
func (p *Parser) SetTellsGrants(told bool) { p.lines.Worker().Columns.SetTellsGrants(told) }

// Line understands one line. An error is a *history.SyntaxError with its number.
func (p *Parser) Line(text []byte, number int) (t LineSummary, err error) {
	t.Ignored = true
	if len(bytes.TrimSpace(text)) == 0 {
		return t, nil
	}
	got := p.lines.Line(text, number)
	if _, placed := errors.AsType[*history.SyntaxError](got.Err); got.Err != nil && !placed {
		got.Err = &history.SyntaxError{File: p.events.log.Name, Line: number, Near: remarks.Excerpt(string(text)),
			Err: got.Err}
	}
	switch {
	case got.Err != nil:
	case got.Found.Torn != nil:
		got.Err = got.Found.Torn
	case got.Found.Telling.N > 0:
		got.Err = &history.SyntaxError{File: p.events.log.Name, Line: number, Near: remarks.Excerpt(string(text)),
			Err: errTelling}
	case p.format == formats.CSV && got.Found.Skipped > 0: // between rows of a table nothing else is expected
		got.Err = &history.SyntaxError{File: p.events.log.Name, Line: number, Near: remarks.Excerpt(string(text)),
			Err: errNoRecord}
	}
	if got.Err == nil && len(got.Events) > 1 {
		got.Err = &history.SyntaxError{File: p.events.log.Name, Line: number, Near: remarks.Excerpt(string(text)),
			Err: errors.New("several records on one line")}
	}
	if got.Err != nil || len(got.Events) == 0 {
		return t, got.Err
	}
	e := &got.Events[0]
	if err := p.events.clock.CheckZone(p.events.log.Name, got.Bare, got.Zoned); err != nil {
		p.lines.Worker().Stamps.Zone = nil
		return t, err
	}
	p.events.clock.Follow(&e.Stamp, e.Line, &got.Seen)
	p.SetTellsGrants(got.Told)
	if p.SetGranted(got.Granted); p.options.Tokens == "none" {
		e.Token = 0
	}
	p.named = p.named || got.Found.Nameless.N == 0
	key, client := p.lines.Worker().Named(e)
	t = summaryOf(e, key, client, p.events.granted)
	grain := p.lines.Worker().Stamps.Coarsest
	grain.Add(t.At)
	if grain.Add(t.End); e.Fine {
		grain = times.Exact
	}
	t.Latest = t.End + grain.Cut()
	return t, nil
}

// summaryOf is what an event means for who holds the key.
func summaryOf(e *words.Event, key, client string, granted bool) LineSummary {
	t := LineSummary{Key: key, Client: client, At: e.At, End: max(e.At, e.End), Token: e.Token}
	switch e.Means {
	case words.Request:
		t.Asks = true
	case words.Acquire, words.Grant:
		failed := e.Ending == words.EndedFail || e.Ending == words.EndedRefused
		t.Asks = e.Means == words.Acquire && granted && e.Ending == words.EndedOK
		t.Answers, t.Holds = !t.Asks, !t.Asks && !failed
	case words.Busy:
		t.Answers = true
	case words.Release:
		t.Ends, t.Acts = e.Ending != words.EndedUnknown && e.Ending != words.EndedNotYet, true
	case words.NotHeld, words.Lost:
		t.Ends, t.Acts = true, true
	default:
		t.Acts, t.Renews = true, e.Means == words.Renew && e.Ending == words.EndedOK
	}
	return t
}

// Translate reads lines that the parser took before as a history of their own. The lines
// are in the order in which they came, numbers says which ones of the log they are, from 1, and
// the first is of a time (ns since 1970).
// Others that were to be read were not understood. ErrNothing: they hold no acquire. ErrNoGrant:
// they hold none, and act under a lock.
func (p *Parser) Translate(lines [][]byte, numbers []int, first int64, missing Missing) (*Source, error) {
	all := make([]io.Reader, 0, 2*len(lines)+1)
	all = append(all, strings.NewReader(p.lines.Heading))
	for _, line := range lines {
		all = append(all, bytes.NewReader(line), strings.NewReader("\n"))
	}
	o := p.options
	o.asked, o.told, o.named, o.missing, o.settled = p.events.granted, p.TellsGrants(), p.named, missing, true
	o.numbers = numbers
	if p.lines.Heading != "" {
		o.numbers = append([]int{0}, numbers...)
		for i := range o.missing.Before {
			o.missing.Before[i]++
		}
	}
	if p.lines.Worker().Stamps.Cycle.Returns() {
		o.Date = time.Unix(0, first).UTC().Format(time.DateOnly)
	}
	s, err := Read(io.MultiReader(all...), p.events.log.Name, p.format, o)
	switch {
	case errors.Is(err, errNoGrant):
		return nil, ErrNoGrant
	case errors.Is(err, errNoAcquire):
		return nil, ErrNothing
	}
	return s, err
}

var (
	errTelling  = errors.New("no event that is known, and it seems to tell of a lock")
	errNoRecord = errors.New("no record of the table")
)

// ErrNothing: lines of a log in which nobody asks for a lock. ErrNoGrant: some act under it.
var (
	ErrNothing = errors.New("no line asks for a lock")
	ErrNoGrant = errors.New("lines act under a lock, and no line asks for it")
)
