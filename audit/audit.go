package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/spill"
	"github.com/lockchaos/lockchaos/audit/times"
	"github.com/lockchaos/lockchaos/history"
)

// An audit log tells one thing a line: when, who, what, of which lock, with which token. A line is an instant, unless the log also has
// the end. An acquire that is asked on one line and granted on another lasts from the one to the other.

// entry is one line of an audit log.
type entry struct {
	times.Stamp
	token      int64
	line       int32
	key, owner int32
	means      meaning
	ending     ending
}

// errNoText: two names that differ in such bytes look alike, and JSON makes one of them.
var errNoText = errors.New("bytes that are no text in UTF-8: convert the log first, such as with iconv -f latin1 -t utf-8")

// lineReader understands the lines of an audit log.
type lineReader struct {
	stamps times.Reader
	words  vocabulary
	names  int  // that are remembered, but for those of a block
	whole  bool // each record is a whole hold
	// fileOf is the client of a line; nil: a column names it.
	fileOf func(line int) string
}

func newLineReader(o Options) (r lineReader, err error) {
	if r.stamps, err = times.NewReader(times.Options{Format: o.TimeFormat, Timezone: o.Timezone, Zones: o.Zones, Date: o.Date, FileDate: o.FileDate}); err != nil {
		return r, err
	}
	r.names = o.room().Names
	_, r.whole = o.Map[wholeHold]
	if client := o.Map[Fields[fieldClient]]; client == fileColumn || strings.HasPrefix(client, fileColumn+"+") {
		if r.fileOf = o.FileOf; r.fileOf == nil {
			return r, errors.New("client=@file is the file of a line: judge several files as one log (--together)")
		}
	}
	r.words, err = newVocabulary(o)
	return r, err
}

type auditReader struct {
	log         *log
	rows        rows
	columns     *guesser
	found       found
	entries     *spill.Sorter[entry]
	first, last int64        // their times
	begin       int64        // the instant of the first one, so that none is 0 or less, whatever the clocks: a history means by 0 that it does not know
	zeros       []bool       // whether a key has tokens that are 0
	counted     []bool       // whether a key has others
	granted     bool         // some line says "granted", so "acquire" means that it was asked
	stamps      times.Reader // its grain and zone are those of the whole log
	tokens      string       // Options.Tokens
	way         times.Way
	clock       times.Clock
}

func newAuditReader(l *log, lines lineReader, o Options) *auditReader {
	r := &auditReader{log: l, granted: o.asked, tokens: o.Tokens, clock: times.NewClock(&lines.stamps, o.Joined, o.Date == ""), stamps: lines.stamps, columns: &guesser{whole: lines.whole, stamps: lines.stamps, words: lines.words, exclusive: !o.Reentrant && o.Permits <= 1}, first: never, last: math.MinInt64, begin: 1 + int64(o.ClockError)}
	room := l.room
	room.Run *= 8                                                                              // a log may be in any order; what is made of its lines is nearly in order
	r.entries = spill.NewSorter(room, func(a, b entry) int { return cmp.Compare(a.At, b.At) }) // else in the order of the file
	return r
}

// startAudit begins to read a log by the columns that the user names.
func startAudit(l *log, o Options) (*auditReader, lineReader, error) {
	lines, err := newLineReader(o)
	if err != nil {
		return nil, lines, err
	}
	r := newAuditReader(l, lines, o)
	r.columns.named, err = explicit(o.Map)
	return r, lines, err
}

func readAudit(l *log, in *bufio.Reader, format Format, o Options) error {
	l.what = "audit log"
	r, lines, err := startAudit(l, o)
	if err != nil {
		return err
	}
	blocks, err := r.open(in, format, o)
	if err != nil {
		return err
	}
	if err := r.read(blocks, lines); err != nil {
		return err
	}
	if r.found.strange != nil && r.first > r.last {
		return r.found.strange // no line says what is known
	}
	if err := r.columns.tell(l, r.rows, &r.found); err != nil {
		return err
	}
	return r.ops()
}

// open finds the columns of a log of any form.
func (r *auditReader) open(in *bufio.Reader, format Format, o Options) (blocks *cutter, err error) {
	file := r.log.file
	head, _ := in.Peek(in.Size())
	head = bytes.Clone(head)
	blocks = newCutter(in, file, o, nil)
	switch format {
	case CSV:
		blocks.border = lastRecord
		r.rows, err = newCSV(blocks, head, r.columns)
	case Text:
		r.rows, err = newPattern(file, head, o.Pattern, o.SkipUnmatched, r.columns)
	default:
		r.rows, err = newJSON(file, head, r.columns)
	}
	if err == nil {
		blocks.border = r.rows.border
	}
	return blocks, err
}

// row understands a row with all that may be wrong with it.
func (w *worker) row(line int, starts *[fieldCount]int) error {
	one := row{line: line, columns: *starts}
	for f, text := range w.fields {
		one.text[f] = string(text)
	}
	return w.add(&one)
}

// add reads one line.
func (w *worker) add(one *row) error {
	wrong := func(f field, err error) error {
		near := one.text[f]
		if near == "" {
			near = strings.Join(slices.DeleteFunc(slices.Clone(one.text[:]), func(s string) bool { return s == "" }), " ")
		}
		return &history.SyntaxError{File: w.file, Line: one.line, Column: one.columns[f], Near: remarks.Excerpt(near), Err: err}
	}
	if w.fileOf != nil {
		one.text[fieldClient] = w.fileOf(one.line)
	}
	if w.whole {
		return w.hold(one, wrong)
	}
	word := one.text[fieldEvent]
	switch w.words.of(word) {
	case ignore:
		return nil
	case unknown:
		var err error = &UnknownWord{Word: word}
		if word == "" {
			err = w.columns.missing(fieldEvent)
		}
		if w.leaves(one, wrong(fieldEvent, err)) {
			return nil
		}
	}
	for f, text := range one.text {
		if strings.ContainsRune(text, utf8.RuneError) {
			return wrong(field(f), errNoText)
		}
	}
	for _, f := range [...]field{fieldTime, fieldEvent, fieldClient} {
		if one.text[f] == "" {
			return wrong(f, w.columns.missing(f))
		}
	}
	e, f, err := w.understand(&one.text)
	switch {
	case e.means == ignore:
		return nil
	case err != nil:
		return wrong(f, err)
	}
	e.line = int32(min(one.line, math.MaxInt32))
	e.key, e.owner = w.keys.id(cmp.Or(one.text[fieldKey], defaultKey)), w.owners.id(string(w.client([]byte(one.text[fieldClient]), []byte(one.text[fieldPart]))))
	w.say(&e)
	return nil
}

// understand reads a line, but for its key and client; of an ignored one, only that it is ignored.
// With an error it returns the field that is wrong.
func (r *lineReader) understand(text *[fieldCount]string) (e entry, wrong field, err error) {
	switch e.means = r.words.of(text[fieldEvent]); e.means {
	case ignore:
		return e, 0, nil
	case unknown:
		return e, fieldEvent, &UnknownWord{Word: text[fieldEvent]}
	case shared:
		return e, fieldEvent, errShared
	}
	var ofEnd bool
	if e.Stamp, ofEnd, err = r.stamps.Interval(text[fieldTime], text[fieldEnd]); err != nil {
		return e, timeField(ofEnd), err
	}
	if token := text[fieldToken]; token != "" && token != "-" {
		number, err := strconv.ParseInt(token, 10, 64)
		if err != nil || number < 0 || number == math.MaxInt64 {
			return e, fieldToken, errors.New("a fencing token is a whole number, 0 or more")
		}
		e.token = ticket(number)
	}
	if e.ending = r.words.ending(text[fieldResult]); e.ending == endedSomehow {
		return e, fieldResult, &UnknownResult{Word: text[fieldResult]}
	}
	return e, 0, nil
}

// timeField is the field of a line's time, or of its end.
func timeField(end bool) field {
	if end {
		return fieldEnd
	}
	return fieldTime
}

// ops turns the lines, in order of time, into ops.
func (r *auditReader) ops() error {
	defer r.entries.Close()
	r.noteNoughts()
	r.clock.Tell(&r.log.Remarks, r.stamps.Cycle)
	if r.way.NewestFirst() {
		r.log.Assume("The newest line comes first, so lines of one time are read from the last one to the first.")
	}
	if r.first > r.last {
		return nil
	}
	if r.last-r.first < 0 || r.last-r.first > math.MaxInt64/8 {
		return fmt.Errorf("%s: its times are more than %d years apart: see --time-format", r.log.file, math.MaxInt64/8/int64(365*24*3600*1e9))
	}
	r.log.told = spill.NewSorter(r.log.room, moment.compare)
	r.log.zero, r.log.hasZero, r.log.grain, r.log.zoneless = r.first-r.begin, true, r.stamps.Grain, r.stamps.Zoneless && !r.stamps.Local()
	if r.stamps.Zone != nil {
		r.log.zone = r.stamps.Zone
	}
	if r.log.versions = r.tokens == "" && slices.Contains(r.counted, true) && r.versions(); r.log.versions {
		r.log.Assume("The number in %q rises while a client holds its lock. So it is that of a write, and no fencing token (--tokens fencing).", r.columns.chosen[fieldToken])
	}
	asked, in := map[place]int32{}, r.inOrder()
	for e := in(); e != nil; e = in() {
		if e.token == ticket(0) && !r.counted[e.key] {
			e.token = 0
		}
		if err := r.op(e, asked); err != nil {
			return err
		}
	}
	for _, i := range asked { // and never answered
		r.log.ops.Trim()
		r.log.told.Add(r.log.ops.See(i).tells(i))
	}
	return nil
}

// inOrder returns what gives the lines of the log in order of time, one by one; nil ends them. An entry is good until the next call.
func (r *auditReader) inOrder() func() *entry {
	in := r.entries.InOrder()
	if !r.way.NewestFirst() {
		return in.Next
	}
	var alike []entry // of one time, the last one first
	next := in.Next()
	return func() *entry {
		if len(alike) == 0 {
			for next != nil && (len(alike) == 0 || next.At == alike[0].At) {
				alike = append(alike, *next)
				next = in.Next()
			}
			if len(alike) == 0 {
				return nil
			}
		}
		e := alike[len(alike)-1]
		alike = alike[:len(alike)-1]
		return &e
	}
}

// op turns a line into an op, or into the answer of an acquire that its client has asked for.
func (r *auditReader) op(e *entry, asked map[place]int32) error {
	if e.means == acquire && r.granted && e.ending == endedOK {
		e.means = request
	}
	at, zero := place{e.key, e.owner}, r.first-r.begin
	n, open := asked[at]
	o := op{inv: e.At - zero, ret: max(e.End, e.At) - zero, key: e.key, owner: e.owner, token: e.token, line: e.line, endLine: e.line}
	switch e.means {
	case request:
		if open {
			return nil // it may have been granted since the first time
		}
		o.kind, o.ret, o.token = history.Acquire, never, 0
		n, err := r.log.add(o)
		asked[at] = n
		return err
	case acquire, grant, busy:
		if open {
			delete(asked, at)
			asks := r.log.ops.At(n)
			if e.End > e.At && e.means != busy && e.At > r.first {
				asks.attempt = o.inv
			}
			e.answer(asks, o.ret)
			r.log.told.Add(momentOf(o.ret, false, 2*r.log.ops.Length, n, false))
			return nil
		}
	}
	e.answer(&o, o.ret)
	r.log.ledgered = r.log.ledgered || o.kind == history.Write
	i, err := r.log.add(o)
	o.order = 2*i + 1
	r.log.told.Add(o.tells(i))
	return err
}

// noteNoughts says that the tokens of a key are taken for none where all of them are 0: so a program logs a token that it does not have.
func (r *auditReader) noteNoughts() {
	for key, zero := range r.zeros {
		if zero && !r.counted[key] {
			r.log.Leave("All tokens of a lock are 0, so they are taken for none.")
			return
		}
	}
}

// answer says what a line means for an op that ended at ret.
func (e *entry) answer(o *op, ret int64) {
	o.ret, o.endLine = ret, e.line
	o.outcome = outcomes[e.ending]
	failed := o.outcome == history.Fail
	switch e.means {
	case acquire, grant, request:
		o.kind, o.busy = history.Acquire, failed
		if o.outcome == history.OK {
			o.token = e.token
		}
	case busy:
		o.kind, o.outcome, o.busy = history.Acquire, history.Fail, true
	case release:
		o.kind, o.notHeld = history.Release, failed
	case notHeld:
		o.kind, o.outcome, o.notHeld = history.Release, history.Fail, true
	case renew:
		o.kind, o.notHeld = history.Renew, failed
	case lost:
		o.outcome = history.Lost
	case read:
		o.kind = history.Read
	case write:
		o.kind, o.refused = history.Write, e.ending == endedRefused
	case refused:
		o.kind, o.outcome, o.refused = history.Write, history.Fail, true
	}
}
