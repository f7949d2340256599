package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// An audit log tells one thing a line: when, who, what, of which lock, with which
// token. A line is an instant, unless the log also has the end. An acquire that
// is asked on one line and granted on another lasts from the one to the other. So does a release or
// a renewal of which one line says that it begins.

// gatherer gathers the events of a log, and makes ops of them once all are there.
type gatherer struct {
	log         *log
	events      *spill.Sorter[words.Event]
	first, last int64 // their times
	// the instant of the first one, so that none is 0 or less, whatever the
	// clocks: a history means by 0 that it does not know
	begin   int64
	zeros   []bool // whether a key has tokens that are 0
	counted []bool // whether a key has others
	granted bool   // some line says "granted", so "acquire" means that it was asked
	options Options
	seen    times.Seen // by the times of the whole log
	grains  grains
	way     times.Direction
	clock   *times.Clock // nil: nothing was gathered
	// asked are the acquires that wait for their answers, and begun the other ops that began.
	asked map[ownerKey]int32
	begun map[begunOp]int32
}

func newGatherer(l *log, o Options) *gatherer {
	g := &gatherer{log: l, granted: o.asked, options: o, first: never, last: math.MinInt64,
		begin: 1 + int64(o.ClockError)}
	room := l.room
	// a log may be in any order; what is made of its lines is nearly in order
	room.Run *= 8
	// else in the order of the file
	g.events = spill.NewSorter(room, func(a, b words.Event) int { return cmp.Compare(a.At, b.At) })
	return g
}

// take takes over what is said of a piece of the log.
func (g *gatherer) take(p *words.BlockResult) error {
	if g.clock == nil {
		clock := times.NewClock(&g.log.Lines.Stamps, g.options.Joined, g.options.Date == "")
		g.clock = &clock
	}
	if err := g.clock.CheckZone(g.log.Name, p.Bare, p.Zoned); err != nil {
		return err
	}
	for i := range p.Events {
		e := &p.Events[i]
		g.clock.Follow(&e.Stamp, e.Line, &p.Seen)
		g.add(e)
	}
	g.granted = g.granted || p.Granted
	g.seen.Add(p.Seen)
	return nil
}

func (g *gatherer) add(e *words.Event) {
	g.way.Add(e.At)
	g.first, g.last = min(g.first, e.At), max(g.last, e.At)
	for len(g.zeros) < len(g.log.Keys.List) {
		g.zeros, g.counted = append(g.zeros, false), append(g.counted, false)
	}
	g.zeros[e.Key] = g.zeros[e.Key] || e.Token == history.TokenOf(0)
	g.counted[e.Key] = g.counted[e.Key] || e.Token > history.TokenOf(0)
	g.grains.add(e, g.log.Lines.Stamps.Coarsest)
	g.events.Add(*e)
}

// ops turns the lines, in order of time, into ops.
func (g *gatherer) ops() error {
	defer g.events.Close()
	g.noteNoughts()
	if g.clock == nil {
		return nil
	}
	g.clock.Tell(&g.log.Remarks, g.seen.Cycle)
	if g.way.NewestFirst() {
		g.log.Assume("The newest line comes first, so lines of one time are read from the last one to the first.")
	}
	g.log.jumbled = g.way.Turns()
	if g.first > g.last {
		return nil
	}
	if length := g.last - g.first; length < 0 || length > history.MaxLength {
		return fmt.Errorf("%s: its times are %w: see --time-format", g.log.Name, errFarApart)
	}
	g.log.told = spill.NewSorter(g.log.room, endpoint.compare)
	g.log.zero, g.log.hasZero, g.log.zoneless = g.first-g.begin, !g.log.Untimed,
		g.seen.Zoneless && !g.log.Lines.Stamps.Local()
	if !g.log.Untimed {
		g.log.grains = g.grains.within(int64(g.options.ClockError))
	}
	if g.seen.Zone != nil {
		g.log.zone = g.seen.Zone
	}
	if g.log.versions = g.options.Tokens == "" && slices.Contains(g.counted, true) && g.versions(); g.log.versions {
		g.log.Assume("The number in %q rises while a client holds its lock. So it is that of a write, and no fencing token (--tokens fencing).", g.log.Columns.Chosen[words.FieldToken])
	}
	in, name := g.inOrder(), g.namer()
	g.asked, g.begun = map[ownerKey]int32{}, map[begunOp]int32{}
	for e := in(); e != nil; e = in() {
		if e.Token == history.TokenOf(0) && !g.counted[e.Key] {
			e.Token = 0
		}
		name(e)
		if err := g.op(e); err != nil {
			return err
		}
	}
	for _, i := range g.asked { // and never answered
		g.log.ops.Trim()
		g.log.told.Add(g.log.ops.See(i).tells(i))
	}
	for at := range g.begun {
		g.unanswered(at)
	}
	return nil
}

// namer returns what names the lock of a line that names none. Where no line does, all are about
// one lock. Where others do, nobody knows that two clients mean the same one.
func (g *gatherer) namer() func(e *words.Event) {
	keys := &g.log.Keys
	nameless, some := keys.Find("")
	if !some {
		return func(*words.Event) {}
	}
	if !g.options.named && len(keys.List) == 1 {
		keys.Rename(nameless, words.DefaultKey)
		return func(*words.Event) {}
	}
	of := map[int32]int32{} // by owner
	return func(e *words.Event) {
		if e.Key != nameless {
			return
		}
		key, known := of[e.Owner]
		if !known {
			name := "unnamed lock of " + g.log.Owners.List[e.Owner]
			if key = nameless; len(of) == 0 {
				keys.Rename(nameless, name)
			} else {
				key = keys.ID(name)
			}
			of[e.Owner] = key
		}
		e.Key = key
	}
}

// inOrder returns what gives the lines of the log in order of time, one by one;
// nil ends them. An event is good until the next call.
func (g *gatherer) inOrder() func() *words.Event {
	in := g.events.InOrder()
	if !g.way.NewestFirst() {
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
func (g *gatherer) op(e *words.Event) error {
	if e.Means == words.Acquire && g.granted && e.Ending == words.EndedOK {
		e.Means = words.Request
	}
	at, zero := ownerKey{e.Key, e.Owner}, g.first-g.begin
	n, open := g.asked[at]
	o := op{Call: formats.Call{Inv: e.At - zero, Ret: max(e.End, e.At) - zero, Key: e.Key, Owner: e.Owner, Token: e.Token,
		Line: e.Line, EndLine: e.Line}, cut: g.log.grains.cut(e.Key, e.Owner)}
	switch e.Means {
	case words.Request:
		if open {
			return nil // it may have been granted since the first time
		}
		o.Kind, o.Ret, o.Token = history.Acquire, never, 0
		n, err := g.log.add(o)
		g.asked[at] = n
		return err
	case words.Acquire, words.Grant, words.Busy:
		if e.Means != words.Busy && e.Ending == words.EndedOK { // what it did under the grant before is over
			g.unanswered(begunOp{at, history.Release})
			g.unanswered(begunOp{at, history.Renew})
		}
		if open {
			delete(g.asked, at)
			asks := g.log.ops.At(n)
			if e.End > e.At && e.Means != words.Busy && e.At > g.first {
				asks.attempt = o.Inv
			}
			answer(e, asks, o.Ret)
			g.log.told.Add(endpointOf(o.Ret, false, 2*g.log.ops.Length, n, false))
			return nil
		}
	case words.Release, words.NotHeld, words.Renew:
		if n, err := g.parted(e, at, &o); n >= 0 || err != nil {
			return err
		}
	}
	answer(e, &o, o.Ret)
	g.log.ledgered = g.log.ledgered || o.Kind == history.Write
	i, err := g.log.add(o)
	o.order = 2*i + 1
	g.log.told.Add(o.tells(i))
	return err
}

// begunOp is a kind of op of an owner on a key.
type begunOp struct {
	ownerKey
	kind history.Kind
}

// parted takes a line of a release or a renewal that says that it begins, or how one ended that
// began on another line. It returns the number of that op; -1: the line tells all of its op.
func (g *gatherer) parted(e *words.Event, at ownerKey, o *op) (n int32, err error) {
	of := begunOp{at, history.Release}
	if e.Means == words.Renew {
		of.kind = history.Renew
	}
	n, open := g.begun[of]
	switch {
	case e.Ending == words.EndedNotYet:
		g.unanswered(of)
		o.Kind, o.Ret = of.kind, never
		n, err = g.log.add(*o)
		g.begun[of] = n
	case open:
		delete(g.begun, of)
		whole := g.log.ops.At(n)
		answer(e, whole, o.Ret)
		whole.Token = cmp.Or(whole.Token, e.Token)
		g.log.told.Add(whole.tells(n))
	default:
		return -1, nil
	}
	return n, err
}

// unanswered has an op of unknown fate that began, if no line said how it ended.
func (g *gatherer) unanswered(of begunOp) {
	n, open := g.begun[of]
	if !open {
		return
	}
	delete(g.begun, of)
	g.log.ops.Trim()
	o := g.log.ops.At(n)
	o.Outcome, o.Ret = history.Info, o.Inv
	g.log.told.Add(o.tells(n))
}

// noteNoughts says that the tokens of a key are taken for none where all of
// them are 0: so a program logs a token that it does not have.
func (g *gatherer) noteNoughts() {
	for key, zero := range g.zeros {
		if zero && !g.counted[key] {
			g.log.Leave("All tokens of a lock are 0, so they are taken for none.")
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
