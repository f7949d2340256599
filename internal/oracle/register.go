package oracle

import (
	"cmp"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
)

// Register is the model of the protected resource, one key of it: a register
// whose versions count 0, 1, 2 …, with or without a fence. It judges what the
// store answered, and does not look at its ledger.
//
// A write of unknown fate may happen at any time after it was sent, or never.
// Then the next version may be its.
type Register struct {
	// Fenced: a write passes only with a token above the fence, or with the
	// fence itself if its grant brought it (AcceptsEqual: if any grant did).
	// It raises the fence to its token; FenceReads: so does a read.
	Fenced, FenceReads, AcceptsEqual bool
	// Guarded: a write may be refused for a reason that lies outside of the store.
	Guarded bool
}

// RegisterOf returns the model of the store that a history's header describes.
func RegisterOf(h *history.Header) Register {
	return Register{Fenced: h.Store.Fenced, FenceReads: h.Store.FenceReads, AcceptsEqual: h.Store.AcceptsEqual,
		Guarded: h.Store.Guarded}
}

// String names the model.
func (r Register) String() string {
	switch {
	case r.Guarded:
		return "a register whose writes look at the lock"
	case r.Fenced && r.FenceReads:
		return "a register with a fence that reads raise too"
	case r.Fenced:
		return "a register with a fence that writes raise"
	}
	return "a register"
}

// StoreOp is one read or write of a protected key that reached the store, or may have.
type StoreOp struct {
	Op, Grant int64
	Token     history.Token
	Client    int32
	Write     bool
	// Call and Return bound the instant of the store's decision (ns); Return is
	// math.MaxInt64 if it may still happen.
	Call, Return int64
	// Version is what was read, or created.
	Version int64
	// Refused: by the fence, or the guard. Conflict: the store had another
	// version than the write asked for.
	Refused, Conflict bool
	// Maybe: nobody knows whether it happened. Before: it may have happened in an earlier window.
	Maybe, Before bool
}

// StoreOps returns the reads and writes of each key, in the order of their invocations.
func StoreOps(h *history.History) [][]StoreOp {
	keys := make([][]StoreOp, len(h.Keys))
	tokens, at := map[int64]history.Token{}, map[int64]int{}
	absent := map[int64]bool{}
	for i := range h.Events {
		e := &h.Events[i]
		store := e.Kind == history.Read || e.Kind == history.Write
		switch {
		case e.Kind == history.Acquire && e.Type == history.OK:
			tokens[e.Op] = e.Token
		case store && e.Type == history.Invoke:
			at[e.Op] = len(keys[e.Key])
			keys[e.Key] = append(keys[e.Key], StoreOp{Op: e.Op, Grant: e.Grant, Token: tokens[e.Grant],
				Client: e.Client, Write: e.Kind == history.Write,
				Call: e.Time, Return: math.MaxInt64, Maybe: true})
		case store && e.Type >= history.OK && e.Type <= history.Info:
			if j, ok := at[e.Op]; ok {
				absent[e.Op] = !keys[e.Key][j].complete(e)
			}
		}
	}
	for key, ops := range keys {
		kept := ops[:0]
		for _, o := range ops {
			if !absent[o.Op] {
				kept = append(kept, o)
			}
		}
		keys[key] = kept
	}
	return keys
}

// refused reports whether the op is a write that was not carried out: it changes nothing.
func (o *StoreOp) refused() bool { return o.Write && (o.Refused || o.Conflict) }

// complete adds what the completion tells, and reports whether the op reached
// the store, or may have.
func (o *StoreOp) complete(e *history.Event) bool {
	if e.Start != 0 {
		o.Call = max(o.Call, e.Start)
	}
	if e.Type == history.Info {
		return true
	}
	o.Maybe, o.Return = false, cmp.Or(e.End, e.Time)
	o.Version, o.Refused, o.Conflict = e.Version, e.Refused, e.Conflict
	return e.Type == history.OK || e.Refused || e.Conflict
}

// registerState is the register at one instant.
type registerState struct {
	version, holder int64
	fence           history.Token
}

// Linearizable reports whether the ops of one key are those of the register, from
// the empty one on. Unknown means that the time did not suffice.
func (r Register) Linearizable(ops []StoreOp, limit time.Duration) porcupine.CheckResult {
	return r.after(registerState{}, ops, limit)
}

func (r Register) after(from registerState, ops []StoreOp, limit time.Duration) porcupine.CheckResult {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{from} },
		Step: func(s, in, _ any) []any {
			var next []any
			for _, n := range r.step(s.(registerState), in.(*StoreOp)) {
				next = append(next, n)
			}
			return next
		},
	}
	list := make([]porcupine.Operation, len(ops))
	for i := range ops {
		list[i] = porcupine.Operation{ClientId: int(ops[i].Client), Input: &ops[i], Call: ops[i].Call,
			Return: ops[i].Return}
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), list, limit)
}

// step returns the states that an op may lead to.
func (r Register) step(s registerState, o *StoreOp) []registerState {
	done := s
	if !o.refused() {
		done = r.raised(s, o)
		if o.Write {
			done.version++
		}
	}
	var next []registerState
	if o.Maybe {
		next = append(next, s)
	}
	if (o.Maybe || o.refused() || o.Version == done.version) && r.explains(s, o) {
		next = append(next, done)
	}
	if o.Before && r.Fenced && (o.Write || r.FenceReads) {
		// it happened: its version is counted already, and its token may not be
		next = append(next, r.raised(s, o))
	}
	return next
}

// explains reports whether the fence and the guard let the op come out as it did.
func (r Register) explains(s registerState, o *StoreOp) bool {
	passes := !r.Fenced || o.Token > s.fence || o.Token == s.fence && (o.Grant == s.holder || r.AcceptsEqual)
	return !o.Write || passes && !o.Refused || o.Refused && (r.Guarded || !passes)
}

// raised is the state whose fence the op's token has raised.
func (r Register) raised(s registerState, o *StoreOp) registerState {
	if r.Fenced && (o.Write || r.FenceReads) && o.Token > s.fence {
		s.fence, s.holder = o.Token, o.Grant
	}
	return s
}
