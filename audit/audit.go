package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/audit/spill"
	"github.com/lockchaos/lockchaos/audit/times"
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// An audit log tells one thing a line: when, who, what, of which lock, with which token. A line is an instant, unless the log also has
// the end. An acquire that is asked on one line and granted on another lasts from the one to the other.

type auditReader struct {
	log         *log
	rows        rows
	columns     *words.Columns
	found       words.Found
	entries     *spill.Sorter[words.Event]
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

func newAuditReader(l *log, lines words.Reader, o Options) *auditReader {
	r := &auditReader{log: l, granted: o.asked, tokens: o.Tokens, clock: times.NewClock(&lines.Stamps, o.Joined, o.Date == ""), stamps: lines.Stamps, columns: lines.Columns, first: never, last: math.MinInt64, begin: 1 + int64(o.ClockError)}
	room := l.room
	room.Run *= 8                                                                                    // a log may be in any order; what is made of its lines is nearly in order
	r.entries = spill.NewSorter(room, func(a, b words.Event) int { return cmp.Compare(a.At, b.At) }) // else in the order of the file
	return r
}

// startAudit begins to read a log by the columns that the user names.
func startAudit(l *log, o Options) (*auditReader, words.Reader, error) {
	lines, err := words.NewReader(o.lines())
	if err != nil {
		return nil, lines, err
	}
	return newAuditReader(l, lines, o), lines, nil
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
	if r.found.Strange != nil && r.first > r.last {
		return r.found.Strange // no line says what is known
	}
	if err := tellColumns(r.columns, l, r.rows, &r.found); err != nil {
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
		r.log.Assume("The number in %q rises while a client holds its lock. So it is that of a write, and no fencing token (--tokens fencing).", r.columns.Chosen[words.FieldToken])
	}
	asked, in := map[place]int32{}, r.inOrder()
	for e := in(); e != nil; e = in() {
		if e.Token == words.Ticket(0) && !r.counted[e.Key] {
			e.Token = 0
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
func (r *auditReader) inOrder() func() *words.Event {
	in := r.entries.InOrder()
	if !r.way.NewestFirst() {
		return in.Next
	}
	var alike []words.Event // of one time, the last one first
	next := in.Next()
	return func() *words.Event {
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
func (r *auditReader) op(e *words.Event, asked map[place]int32) error {
	if e.Means == words.Acquire && r.granted && e.Ending == words.EndedOK {
		e.Means = words.Request
	}
	at, zero := place{e.Key, e.Owner}, r.first-r.begin
	n, open := asked[at]
	o := op{inv: e.At - zero, ret: max(e.End, e.At) - zero, key: e.Key, owner: e.Owner, token: e.Token, line: e.Line, endLine: e.Line}
	switch e.Means {
	case words.Request:
		if open {
			return nil // it may have been granted since the first time
		}
		o.kind, o.ret, o.token = history.Acquire, never, 0
		n, err := r.log.add(o)
		asked[at] = n
		return err
	case words.Acquire, words.Grant, words.Busy:
		if open {
			delete(asked, at)
			asks := r.log.ops.At(n)
			if e.End > e.At && e.Means != words.Busy && e.At > r.first {
				asks.attempt = o.inv
			}
			answer(e, asks, o.ret)
			r.log.told.Add(momentOf(o.ret, false, 2*r.log.ops.Length, n, false))
			return nil
		}
	}
	answer(e, &o, o.ret)
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
func answer(e *words.Event, o *op, ret int64) {
	o.ret, o.endLine = ret, e.Line
	o.outcome = e.Ending.Outcome()
	failed := o.outcome == history.Fail
	switch e.Means {
	case words.Acquire, words.Grant, words.Request:
		o.kind, o.busy = history.Acquire, failed
		if o.outcome == history.OK {
			o.token = e.Token
		}
	case words.Busy:
		o.kind, o.outcome, o.busy = history.Acquire, history.Fail, true
	case words.Release:
		o.kind, o.notHeld = history.Release, failed
	case words.NotHeld:
		o.kind, o.outcome, o.notHeld = history.Release, history.Fail, true
	case words.Renew:
		o.kind, o.notHeld = history.Renew, failed
	case words.Lost:
		o.outcome = history.Lost
	case words.Read:
		o.kind = history.Read
	case words.Write:
		o.kind, o.refused = history.Write, e.Ending == words.EndedRefused
	case words.Refused:
		o.kind, o.outcome, o.refused = history.Write, history.Fail, true
	}
}
