package audit

import (
	"io"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
)

// emitter tells the ops as events, in order.
type emitter struct {
	log       *log
	err       int64
	endpoints *spill.Sorter[endpoint]
	in        *spill.Cursor[endpoint] // nil: nothing has been told yet
	ahead     *endpoint               // nil: all have been told
	queues    []queue
	links     *spill.List[int32]
	pending   []int32
	seq       int64
	stores    map[int32]bool // answered writes that wait for others to come first in the ledger
	told      int64          // events so far
	last      int64
	state     int
}

// What is left to tell when the endpoints have all been told.
const (
	emitting = iota
	marking
	ending_
)

// newEmitter puts the events in order: by time; at one instant what was answered then
// comes before what was asked, for equal stamps decide nothing, and an op of no length
// is asked and answered at once. It returns how many entries the ledger has, too.
func newEmitter(t *tracer) (*emitter, int) {
	e := &emitter{log: t.log, err: int64(t.options.ClockError), endpoints: spill.NewSorter(t.log.room, endpoint.compare),
		stores: map[int32]bool{}}
	tell := func(i int32) {
		o := t.log.ops.See(i)
		if o.Kind == history.Write && o.Outcome == history.OK && o.grant != 0 {
			t.wrote(o)
		}
		e.order(i, o)
	}
	ledgers := newLedgers(t, tell)
	for i := range t.log.ops.Each(0, t.log.ops.Length) {
		o := t.log.ops.See(i)
		t.latest = max(t.latest, o.latest())
		if i < t.lines && o.Ret > o.Inv && o.Ret != never {
			t.log.lasting[o.Kind] = true
		}
		switch {
		case t.log.entered(o):
			ledgers.write(i, o)
			continue
		case o.Kind == history.Read:
			t.log.ops.At(i).reads()
		}
		tell(i)
	}
	ledgers.end()
	e.queues, e.links = ledgers.queues, ledgers.links
	return e, ledgers.entries
}

// order puts the events of an op in order.
func (e *emitter) order(i int32, o *op) {
	if o.untold || o.grant == 0 && o.lane == 0 {
		return
	}
	asked, answered := e.invokedAt(o), e.late(o, o.Ret)
	if o.Outcome != history.Lost && !o.late {
		e.endpoints.Add(endpointOf(asked, true, o.order, i, false))
	}
	if o.Outcome != history.TypeNone {
		e.endpoints.Add(endpointOf(answered, asked >= answered, o.order, i, true))
	}
}

// invokedAt is when the invocation of an op is told. Of an acquire as early as it may have
// been, and of all else as late: whatever is forgotten when nobody waits for a grant
// was then over before anything that is still to come, for every reading of the stamps.
func (e *emitter) invokedAt(o *op) int64 {
	if o.Kind == history.Acquire {
		return e.early(o.Inv)
	}
	return e.late(o, o.Inv)
}

// late is an instant of an op as late as it may have been.
func (e *emitter) late(o *op, t int64) int64 { return t + e.err + o.cut.Cut() }

// next fills in the next event.
func (e *emitter) next(out *history.Event) error {
	e.log.ops.Trim()
	e.links.Trim()
	if e.in == nil {
		e.in = e.endpoints.InOrder()
		e.ahead = e.in.Next()
	}
	for len(e.pending) == 0 && e.ahead != nil {
		i := e.ahead.op()
		o := e.log.ops.See(i)
		if !o.late {
			break
		}
		e.ahead = e.in.Next()
		e.stored(i, o)
	}
	switch {
	case len(e.pending) > 0:
		e.entry(out)
	case e.ahead != nil:
		e.endpoint(out)
		e.ahead = e.in.Next()
	case e.state == emitting:
		e.state = marking
		*out = history.Event{Type: history.Watermark, Time: e.last, Start: e.last + 1}
	case e.state == marking:
		e.state = ending_
		*out = history.Event{Type: history.End, Time: e.last, Seq: e.told}
	default:
		return io.EOF
	}
	e.told++
	e.last = max(e.last, out.Time)
	return nil
}

// endpoint tells the next invocation or answer.
func (e *emitter) endpoint(out *history.Event) {
	m := *e.ahead
	i := m.op()
	o := e.log.ops.See(i)
	client := e.log.client(o)
	*out = history.Event{Type: history.Invoke, Kind: o.Kind, Time: m.at, Op: int64(i) + 1, Grant: int64(o.grant),
		Key:    history.KeyID(o.Key),
		Client: client, Process: client}
	if o.Kind == history.Acquire {
		out.Grant = out.Op
	}
	if !m.answer() {
		return
	}
	out.Type = o.Outcome
	out.Busy, out.NotHeld, out.Refused = o.Busy, o.NotHeld, o.Refused
	switch o.Outcome {
	case history.Lost:
		out.Op, out.Kind = 0, history.KindNone
		out.Start = e.early(o.begin())
		return
	case history.Info: // a client without an answer may not have begun
		// which takes the promise away, and is no act
		if o.start != 0 || o.Kind == history.Release {
			out.Start = e.early(o.begin())
		}
	default:
		out.Start, out.End = e.early(o.begin()), o.finish()+e.err
	}
	if o.Kind == history.Acquire && o.Outcome == history.OK || o.Kind == history.Write {
		out.Token = e.log.ops.See(int32(out.Grant - 1)).Token
	}
	if o.mute {
		out.Token = 0
	}
	if o.attempt != 0 && o.Kind == history.Acquire && o.Outcome == history.OK {
		// those before were told that another had it
		out.Attempt, out.First = e.early(o.attempt), e.early(o.attempt)
	}
	if o.Kind == history.Write {
		e.stored(i, o)
	}
}

// early is an instant as early as it may have been.
func (e *emitter) early(t int64) int64 { return max(t-e.err, 1) }

// stored queues the ledger's entries that are due, now that a write has been answered.
func (e *emitter) stored(i int32, o *op) {
	if !e.log.entered(o) {
		return
	}
	e.stores[i] = true
	for q := &e.queues[o.Key]; q.next != 0 && e.stores[q.next-1]; {
		i := q.next - 1
		delete(e.stores, i)
		e.pending = append(e.pending, i)
		q.next = *e.links.See(i)
	}
}

// entry tells an entry of the ledger.
func (e *emitter) entry(out *history.Event) {
	i := e.pending[0]
	if e.pending = e.pending[1:]; len(e.pending) == 0 {
		e.pending = nil
	}
	o := e.log.ops.See(i)
	q := &e.queues[o.Key]
	e.seq++
	*out = history.Event{Type: history.Ledger, Kind: history.Write, Time: o.Inv, Op: int64(i) + 1,
		Grant: int64(o.grant), Key: history.KeyID(o.Key),
		Client: e.log.client(o), Seq: e.seq, Refused: o.Refused}
	out.Token = e.log.ops.See(o.grant - 1).Token
	if !o.Refused {
		out.Replaced = q.version
		q.version++
		out.Version = q.version
	}
}
