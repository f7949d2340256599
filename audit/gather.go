package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/audit/forms"
	"github.com/lockchaos/lockchaos/audit/spill"
	"github.com/lockchaos/lockchaos/audit/times"
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// An audit log tells one thing a line: when, who, what, of which lock, with which token. A line is an instant, unless the log also has
// the end. An acquire that is asked on one line and granted on another lasts from the one to the other.

// gatherer gathers the events of a log, and makes ops of them once all are there.
type gatherer struct {
	log         *log
	entries     *spill.Sorter[words.Event]
	first, last int64  // their times
	begin       int64  // the instant of the first one, so that none is 0 or less, whatever the clocks: a history means by 0 that it does not know
	zeros       []bool // whether a key has tokens that are 0
	counted     []bool // whether a key has others
	granted     bool   // some line says "granted", so "acquire" means that it was asked
	options     Options
	seen        times.Seen // by the times of the whole log
	way         times.Way
	clock       *times.Clock // nil: nothing was gathered
}

func newGatherer(l *log, o Options) *gatherer {
	g := &gatherer{log: l, granted: o.asked, options: o, first: never, last: math.MinInt64, begin: 1 + int64(o.ClockError)}
	room := l.room
	room.Run *= 8                                                                                    // a log may be in any order; what is made of its lines is nearly in order
	g.entries = spill.NewSorter(room, func(a, b words.Event) int { return cmp.Compare(a.At, b.At) }) // else in the order of the file
	return g
}

// take takes over what a block says.
func (r *gatherer) take(p *words.Said) error {
	if r.clock == nil {
		clock := times.NewClock(&r.log.Lines.Stamps, r.options.Joined, r.options.Date == "")
		r.clock = &clock
	}
	if err := r.clock.CheckZone(r.log.Name, p.Bare, p.Zoned); err != nil {
		return err
	}
	for i := range p.Events {
		e := &p.Events[i]
		r.clock.Follow(&e.Stamp, e.Line, &p.Seen)
		r.add(e)
	}
	r.granted = r.granted || p.Granted
	r.seen.Add(p.Seen)
	return nil
}

func (r *gatherer) add(e *words.Event) {
	r.way.Add(e.At)
	r.first, r.last = min(r.first, e.At), max(r.last, e.At)
	for len(r.zeros) < len(r.log.Keys.List) {
		r.zeros, r.counted = append(r.zeros, false), append(r.counted, false)
	}
	r.zeros[e.Key] = r.zeros[e.Key] || e.Token == words.Ticket(0)
	r.counted[e.Key] = r.counted[e.Key] || e.Token > words.Ticket(0)
	r.entries.Add(*e)
}

// ops turns the lines, in order of time, into ops.
func (r *gatherer) ops() error {
	defer r.entries.Close()
	r.noteNoughts()
	if r.clock == nil {
		return nil
	}
	r.clock.Tell(&r.log.Remarks, r.seen.Cycle)
	if r.way.NewestFirst() {
		r.log.Assume("The newest line comes first, so lines of one time are read from the last one to the first.")
	}
	if r.first > r.last {
		return nil
	}
	if r.last-r.first < 0 || r.last-r.first > math.MaxInt64/8 {
		return fmt.Errorf("%s: its times are more than %d years apart: see --time-format", r.log.Name, math.MaxInt64/8/int64(365*24*3600*1e9))
	}
	r.log.told = spill.NewSorter(r.log.room, moment.compare)
	r.log.zero, r.log.hasZero, r.log.grain, r.log.zoneless = r.first-r.begin, true, r.seen.Grain, r.seen.Zoneless && !r.log.Lines.Stamps.Local()
	if r.seen.Zone != nil {
		r.log.zone = r.seen.Zone
	}
	if r.log.versions = r.options.Tokens == "" && slices.Contains(r.counted, true) && r.versions(); r.log.versions {
		r.log.Assume("The number in %q rises while a client holds its lock. So it is that of a write, and no fencing token (--tokens fencing).", r.log.Columns.Chosen[words.FieldToken])
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
func (r *gatherer) inOrder() func() *words.Event {
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
func (r *gatherer) op(e *words.Event, asked map[place]int32) error {
	if e.Means == words.Acquire && r.granted && e.Ending == words.EndedOK {
		e.Means = words.Request
	}
	at, zero := place{e.Key, e.Owner}, r.first-r.begin
	n, open := asked[at]
	o := op{Call: forms.Call{Inv: e.At - zero, Ret: max(e.End, e.At) - zero, Key: e.Key, Owner: e.Owner, Token: e.Token, Line: e.Line, EndLine: e.Line}}
	switch e.Means {
	case words.Request:
		if open {
			return nil // it may have been granted since the first time
		}
		o.Kind, o.Ret, o.Token = history.Acquire, never, 0
		n, err := r.log.add(o)
		asked[at] = n
		return err
	case words.Acquire, words.Grant, words.Busy:
		if open {
			delete(asked, at)
			asks := r.log.ops.At(n)
			if e.End > e.At && e.Means != words.Busy && e.At > r.first {
				asks.attempt = o.Inv
			}
			answer(e, asks, o.Ret)
			r.log.told.Add(momentOf(o.Ret, false, 2*r.log.ops.Length, n, false))
			return nil
		}
	}
	answer(e, &o, o.Ret)
	r.log.ledgered = r.log.ledgered || o.Kind == history.Write
	i, err := r.log.add(o)
	o.order = 2*i + 1
	r.log.told.Add(o.tells(i))
	return err
}

// noteNoughts says that the tokens of a key are taken for none where all of them are 0: so a program logs a token that it does not have.
func (r *gatherer) noteNoughts() {
	for key, zero := range r.zeros {
		if zero && !r.counted[key] {
			r.log.Leave("All tokens of a lock are 0, so they are taken for none.")
			return
		}
	}
}

// answer says what a line means for an op that ended at ret.
func answer(e *words.Event, o *op, ret int64) {
	o.Ret, o.EndLine = ret, e.Line
	o.Outcome = e.Ending.Outcome()
	failed := o.Outcome == history.Fail
	switch e.Means {
	case words.Acquire, words.Grant, words.Request:
		o.Kind, o.Busy = history.Acquire, failed
		if o.Outcome == history.OK {
			o.Token = e.Token
		}
	case words.Busy:
		o.Kind, o.Outcome, o.Busy = history.Acquire, history.Fail, true
	case words.Release:
		o.Kind, o.NotHeld = history.Release, failed
	case words.NotHeld:
		o.Kind, o.Outcome, o.NotHeld = history.Release, history.Fail, true
	case words.Renew:
		o.Kind, o.NotHeld = history.Renew, failed
	case words.Lost:
		o.Outcome = history.Lost
	case words.Read:
		o.Kind = history.Read
	case words.Write:
		o.Kind, o.Refused = history.Write, e.Ending == words.EndedRefused
	case words.Refused:
		o.Kind, o.Outcome, o.Refused = history.Write, history.Fail, true
	}
}
