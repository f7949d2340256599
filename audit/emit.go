package audit

import (
	"io"

	"github.com/lockchaos/lockchaos/history"
)

// emitter tells the ops as events, in order.
type emitter struct {
	log     *log
	err     int64
	moments []moment
	at      int
	queues  []queue
	done    []bool // the writes that have been answered, while there is a ledger
	pending []int32
	seq     int64
	told    int64 // events so far
	last    int64
	state   int
}

// What is left to tell when the moments have all been told.
const (
	telling = iota
	marking
	ending_
	silent
)

// newEmitter puts the events in order: by time; at one instant what was answered then comes before what was asked, for equal stamps
// decide nothing, and an op of no length is asked and answered at once.
func newEmitter(t *tracer, queues []queue) *emitter {
	e := &emitter{log: t.log, err: int64(t.options.ClockError), queues: queues, done: make([]bool, len(t.log.ops))}
	e.moments = make([]moment, 0, 2*len(t.log.ops))
	for i := range t.log.ops {
		o := &t.log.ops[i]
		if o.client == 0 {
			continue
		}
		asked, answered := e.asked(o), o.ret+e.err
		if o.outcome != history.Lost && !o.late {
			e.moments = append(e.moments, momentOf(asked, true, o.order, int32(i), false))
		}
		if o.outcome != history.TypeNone {
			e.moments = append(e.moments, momentOf(answered, asked >= answered, o.order, int32(i), true))
		}
	}
	inOrderOfTime(e.moments)
	return e
}

// asked is when the invocation of an op is told. Of an acquire as early as it may have been, and of all else as late: whatever is forgotten when
// nobody waits for a grant was then over before anything that is still to come, for every reading of the stamps.
func (e *emitter) asked(o *op) int64 {
	if o.kind == history.Acquire {
		return e.early(o.inv)
	}
	return o.inv + e.err
}

// next fills in the next event.
func (e *emitter) next(out *history.Event) error {
	for len(e.pending) == 0 && e.at < len(e.moments) && e.log.ops[e.moments[e.at].op()].late {
		i := e.moments[e.at].op()
		e.at++
		e.stored(i, &e.log.ops[i])
	}
	switch {
	case len(e.pending) > 0:
		e.entry(out)
	case e.at < len(e.moments):
		e.moment(out)
	case e.state == telling:
		e.state = marking
		*out = history.Event{Type: history.Watermark, Time: e.last, Start: e.last + 1}
	case e.state == marking:
		e.state = ending_
		*out = history.Event{Type: history.End, Time: e.last, Seq: e.told}
	default:
		e.state = silent
		return io.EOF
	}
	e.told++
	e.last = max(e.last, out.Time)
	return nil
}

// moment tells the next invocation or answer.
func (e *emitter) moment(out *history.Event) {
	m := e.moments[e.at]
	e.at++
	i := m.op()
	o := &e.log.ops[i]
	*out = history.Event{Type: history.Invoke, Kind: o.kind, Time: m.at, Op: int64(i) + 1, Grant: int64(o.grant), Key: history.KeyID(o.key),
		Client: o.client, Process: o.client}
	if o.kind == history.Acquire {
		out.Grant = out.Op
	}
	if !m.answer() {
		return
	}
	out.Type = o.outcome
	out.Busy, out.NotHeld, out.Refused = o.busy, o.notHeld, o.refused
	switch o.outcome {
	case history.Lost:
		out.Op, out.Kind = 0, history.KindNone
		out.Start = e.early(o.begin())
		return
	case history.Info: // whoever has no answer may not have begun
		if o.start != 0 || o.kind == history.Release { // which takes the promise away, and is no act
			out.Start = e.early(o.begin())
		}
	default:
		out.Start, out.End = e.early(o.begin()), o.finish()+e.err
	}
	if o.kind == history.Acquire && o.outcome == history.OK || o.kind == history.Write {
		carry(out, &e.log.ops[out.Grant-1])
	}
	if o.mute {
		out.Token, out.ZeroToken = 0, false
	}
	if o.attempt != 0 && o.kind == history.Acquire && o.outcome == history.OK {
		out.Attempt, out.First = e.early(o.attempt), e.early(o.attempt) // those before were told that another had it
	}
	if o.kind == history.Write {
		e.stored(i, o)
	}
}

// carry gives an event the token of a grant.
func carry(out *history.Event, grant *op) {
	out.Token, out.ZeroToken = grant.number(), grant.token == ticket(0)
}

// early is an instant as early as it may have been.
func (e *emitter) early(t int64) int64 { return max(t-e.err, 1) }

// stored queues the ledger's entries that are due, now that a write has been answered.
func (e *emitter) stored(i int32, o *op) {
	e.done[i] = true
	q := &e.queues[o.key]
	for q.at < len(q.writes) && e.done[q.writes[q.at]] {
		e.pending = append(e.pending, q.writes[q.at])
		q.at++
	}
}

// entry tells an entry of the ledger.
func (e *emitter) entry(out *history.Event) {
	i := e.pending[0]
	if e.pending = e.pending[1:]; len(e.pending) == 0 {
		e.pending = nil
	}
	o := &e.log.ops[i]
	q := &e.queues[o.key]
	e.seq++
	*out = history.Event{Type: history.Ledger, Kind: history.Write, Time: o.inv, Op: int64(i) + 1, Grant: int64(o.grant), Key: history.KeyID(o.key),
		Client: o.client, Seq: e.seq, Refused: o.refused}
	carry(out, &e.log.ops[o.grant-1])
	if !o.refused {
		out.Replaced = q.version
		q.version++
		out.Version = q.version
	}
}
