// Package oracle judges the holds of a history a second time, by a method that shares nothing with the sweep of package checker:
// it reduces every key to the begins and ends of its holds and asks Porcupine, a linearizability checker, whether some order
// of them is one that a lock could have gone through.
//
// # The reduction
//
// A hold is what DESIGN §6 calls one: from the end of an acquire to the start of the last act under it; a grant without an act has no hold and
// takes no part (on a plain mutex). It becomes two operations of the model:
//
//   - begin, somewhere within the acquire: from the earliest instant at which the grant may have been made to the acquire's end;
//   - end, at the start of the last act or later: up to the end of a release that was answered ok, else for ever.
//
// So each hold can shrink to exactly its own span and no further, and a history is linearizable iff no instant lies in conflicting
// holds. What is open stays open: an acquire of unknown fate is a begin that may or may not have happened, at any time after its
// start, with an end that may or may not come; a release of unknown fate, or none, leaves an end that may come at any time after the last act or
// never. The model is nondeterministic there. It never forces an open operation to happen: that would turn a lost reply into a violation.
//
// A failed acquire constrains nothing, since an acquire may fail spuriously.
//
// # What it is for
//
// It is exact and exponential: an oracle for small histories in tests, and a second opinion on a short piece of a large one. Porcupine
// takes intervals to be closed, which is also the sweep's reading of equal stamps: they decide nothing.
package oracle

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
)

// Hold is one hold, or possible hold, of a key.
type Hold struct {
	Grant  int64
	Client int32
	Token  int64
	// Earliest and Acquired bound the instant of the grant (ns).
	Earliest, Acquired int64
	// Last is the start of the last act; Released the end of the release that was answered ok, math.MaxInt64 if there is none.
	Last, Released int64
	// Acts is how many acts there were.
	Acts int
	// Maybe: nobody knows whether the grant was made.
	Maybe bool
}

// Holds reduces a history to the holds of each key, in the order of the keys and of the acquires' invocations.
func Holds(h *history.History) [][]Hold {
	keys := make([][]Hold, len(h.Keys))
	type place struct {
		key   history.KeyID
		index int
	}
	grants, invoked := map[int64]place{}, map[int64]*history.Event{}
	ledgered := map[int64]bool{}
	for i := range h.Events {
		if e := &h.Events[i]; e.Type == history.Ledger {
			ledgered[e.Op] = true
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Type {
		case history.Invoke:
			invoked[e.Op] = e
			if e.Kind == history.Acquire {
				keys[e.Key] = append(keys[e.Key], Hold{Grant: e.Op, Client: e.Client, Earliest: e.Time, Acquired: math.MaxInt64, Released: math.MaxInt64, Maybe: true})
				grants[e.Op] = place{e.Key, len(keys[e.Key]) - 1}
				continue
			}
			if at, ok := grants[e.Grant]; ok && ledgered[e.Op] && isAct(e.Kind) {
				keys[at.key][at.index].act(e.Time)
			}
		case history.OK, history.Fail, history.Info:
			at, ok := grants[e.Grant]
			if inv := invoked[e.Op]; ok && inv != nil {
				keys[at.key][at.index].complete(h.Header.Claims, inv, e)
			}
		}
	}
	return keys
}

func isAct(k history.Kind) bool { return k == history.Read || k == history.Write || k == history.Renew }

func (d *Hold) act(start int64) {
	d.Acts++
	d.Last = max(d.Last, start)
}

// complete adds what the completion of an op under the hold tells.
func (d *Hold) complete(claims history.Claims, inv, e *history.Event) {
	start, end := e.Start, e.End
	if e.Type != history.Info {
		start, end = firstKnown(start, inv.Time), firstKnown(end, e.Time)
	}
	switch {
	case e.Kind == history.Acquire && e.Type == history.OK:
		d.Maybe, d.Token, d.Acquired = false, e.Token, end
		d.Earliest = start
		if e.First != 0 {
			d.Earliest = min(max(e.First, inv.Time), end)
		}
	case e.Kind == history.Acquire && e.Type == history.Fail:
		d.Maybe, d.Acquired = false, 0 // it did not happen
	case e.Declined:
	case isAct(e.Kind) && start != 0:
		d.act(start)
	case e.Kind == history.Release && e.Type == history.OK:
		d.Released = end
		if claims.ConfirmsOp(history.Release) {
			d.act(start)
		}
	}
}

func firstKnown(a, b int64) int64 {
	if a != 0 {
		return a
	}
	return b
}

// input is one operation of the model.
type input struct {
	hold  int // index, from 1
	token int64
	begin bool
	maybe bool // it may or may not happen
}

// operations are the reduced begins and ends. Grants that never acted take part only if idle is set.
func operations(holds []Hold, idle bool) []porcupine.Operation {
	var ops []porcupine.Operation
	for i, d := range holds {
		if d.Acquired == 0 || !d.Maybe && d.Acts == 0 && !idle {
			continue
		}
		begin := porcupine.Operation{ClientId: int(d.Client), Call: d.Earliest, Return: d.Acquired, Input: input{hold: i + 1, token: d.Token, begin: true, maybe: d.Maybe}}
		end := porcupine.Operation{ClientId: int(d.Client), Call: max(d.Last, d.Earliest), Return: d.Released,
			Input: input{hold: i + 1, maybe: d.Maybe || d.Released == math.MaxInt64}}
		if !d.Maybe {
			end.Call = max(d.Last, d.Acquired)
			if d.Acts == 0 {
				end.Call = d.Earliest // it may have been over before its client knew of it
			}
		}
		if end.Return < end.Call {
			end.Return = math.MaxInt64
		}
		ops = append(ops, begin, end)
	}
	return ops
}

// state is who holds the key, sorted, and the greatest fencing token given out.
type state struct {
	holders string // the holds' indices as runes
	token   int64
}

// model is a lock with so many permits; fenced: every grant's token is greater than all before.
func model(permits int, fenced bool) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, _ any) []any { return step(s.(state), in.(input), permits, fenced) },
	}
	return m.ToModel()
}

func step(s state, in input, permits int, fenced bool) []any {
	var next []any
	if in.maybe {
		next = append(next, s)
	}
	holders := []rune(s.holders)
	at := slices.Index(holders, rune(in.hold))
	switch {
	case in.begin && len(holders) < permits && (!fenced || in.maybe || in.token > s.token):
		holders = append(holders, rune(in.hold))
		slices.Sort(holders)
		if !in.maybe {
			s.token = max(s.token, in.token)
		}
		next = append(next, state{string(holders), s.token})
	case !in.begin && at >= 0:
		next = append(next, state{string(slices.Delete(holders, at, at+1)), s.token})
	}
	return next
}

// Linearizable tells whether the holds of one key are those of a lock with so many permits. Unknown means that the time did not suffice.
func Linearizable(holds []Hold, permits int, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model(permits, false), operations(holds, false), limit)
}

// LinearizableFenced tells whether the holds of one key are those of an exclusive lock whose tokens rise with every grant. Here a
// grant without an act counts too: it took a place in the order of the tokens.
func LinearizableFenced(holds []Hold, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model(1, true), operations(holds, true), limit)
}
