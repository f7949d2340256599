// Package oracle judges the holds of a history a second time, by a method that
// shares nothing with the sweep of package checker: it reduces every key to the
// begins and ends of its holds and asks Porcupine, a linearizability checker,
// whether some order of them is one that a lock could have gone through.
//
// # The reduction
//
// A hold is what DESIGN §6 calls one: from the end of an acquire to the start
// of the last act under it; a grant without an act has no hold and takes no
// part (on a plain mutex). It becomes two operations of the model:
//
//   - begin, somewhere within the acquire: from the earliest instant at which
//     the grant may have been made to the acquire's end;
//   - end, at the start of the last act or later: up to the end of a release
//     that was answered ok, else for ever.
//
// So each hold can shrink to exactly its own span and no further, and a history is
// linearizable iff no instant lies in conflicting holds. What is open stays open: an acquire
// of unknown fate is a begin that may or may not have happened, at any time after its start,
// with an end that may or may not come; a release of unknown fate, or none, leaves an end
// that may come at any time after the last act or never. The model is nondeterministic there.
// It never forces an open operation to happen: that would turn a lost reply into a violation.
//
// A failed acquire constrains nothing, since an acquire may fail spuriously.
//
// Each nested grant of a reentrant owner is a hold of its own, and an owner
// does not exclude itself; owners.go has what its releases of unknown fate do.
//
// # The models
//
// Lock says which lock the holds must be those of: a mutex, a semaphore, a
// reentrant, a reader-writer or a fenced one. Register is the model of the
// protected resource: a register with versions and a fence.
//
// # What it is for
//
// It is exact and exponential: an oracle for small histories in tests, and a
// second opinion on a short piece of a large one. Porcupine takes intervals to be
// closed, which is also the sweep's reading of equal stamps: they decide nothing.
package oracle

import (
	"cmp"
	"math"

	"github.com/lockchaos/lockchaos/history"
)

// Hold is one hold, or possible hold, of a key.
type Hold struct {
	Grant  int64
	Client int32
	// Token orders the grants.
	Token history.Token
	// Earliest and Acquired bound the instant of the grant (ns).
	Earliest, Acquired int64
	// Last is the start of the last act; Released the end of the release that
	// was answered ok, math.MaxInt64 if there is none.
	Last, Released int64
	// Acts is how many acts there were.
	Acts int
	// Mode is set on a reader-writer lock.
	Mode history.Mode
	// Takes is how many permits of a semaphore it has; 0: one.
	Takes int
	// Maybe: nobody knows whether the grant was made.
	Maybe bool
}

// Holds reduces a history to the holds of each key, in the order of the keys
// and of the acquires' invocations.
func Holds(h *history.History) [][]Hold {
	r := &reduction{claims: h.Header.Claims, keys: make([][]Hold, len(h.Keys)), at: map[int64]place{},
		invoked: map[int64]*history.Event{}, ledgered: map[int64]bool{}, idle: map[int64]bool{}}
	if h.Header.Claims.Reentrant && !h.Header.Translated {
		r.owners = owners{}
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.Type == history.Ledger {
			r.ledgered[e.Op] = true
		}
	}
	for i := range h.Events {
		switch e := &h.Events[i]; e.Type {
		case history.Invoke:
			r.invoke(e)
		case history.OK, history.Fail, history.Info:
			r.complete(e)
		}
	}
	return r.keys
}

// reduction is what Holds knows while it reads a history.
type reduction struct {
	claims   history.Claims
	keys     [][]Hold
	at       map[int64]place // where the hold of each acquire is
	invoked  map[int64]*history.Event
	ledgered map[int64]bool // ops that the store's ledger has
	owners   owners         // of a reentrant lock
	idle     map[int64]bool // acts that show nothing, since their owners may have had nothing left
}

// place is where a hold is.
type place struct {
	key   history.KeyID
	index int
}

// hold returns the hold of an acquire, nil if there is none.
func (r *reduction) hold(acquire int64) *Hold {
	at, ok := r.at[acquire]
	if !ok {
		return nil
	}
	return &r.keys[at.key][at.index]
}

func (r *reduction) invoke(e *history.Event) {
	r.invoked[e.Op] = e
	switch e.Kind {
	case history.Acquire:
		r.owners.asks(e)
		r.at[e.Op] = place{e.Key, len(r.keys[e.Key])}
		r.keys[e.Key] = append(r.keys[e.Key], Hold{Grant: e.Op, Client: e.Client, Mode: e.Mode,
			Takes: int(max(e.Permits, 1)), Earliest: e.Time, Acquired: math.MaxInt64, Released: math.MaxInt64,
			Maybe: true})
	case history.Release:
		r.owners.releases(e)
	case history.Read, history.Write, history.Renew:
		if r.owners.uncertain(e) {
			r.idle[e.Op] = true
		} else if d := r.hold(e.Grant); d != nil && r.ledgered[e.Op] {
			d.act(e.Time)
		}
	}
}

func (r *reduction) complete(e *history.Event) {
	inv, d := r.invoked[e.Op], r.hold(e.Grant)
	if inv == nil || d == nil {
		return
	}
	start, end := between(inv, e)
	if e.Declined || e.NotHeld && start != 0 {
		r.owners.knowsLoss(e)
	}
	switch e.Kind {
	case history.Acquire:
		d.acquire(inv, e, start, end)
		if e.Type == history.OK {
			r.owners.granted(e)
		}
	case history.Release:
		r.release(d, e, start, end)
	case history.Read, history.Write, history.Renew:
		if !e.Declined && start != 0 && !r.idle[e.Op] {
			d.act(start)
		}
	}
}

// between is when an op began and ended, as far as its completion tells.
func between(inv, e *history.Event) (start, end int64) {
	if e.Type == history.Info {
		return e.Start, e.End
	}
	return cmp.Or(e.Start, inv.Time), cmp.Or(e.End, e.Time)
}

func (r *reduction) release(d *Hold, e *history.Event, start, end int64) {
	newest := r.hold(r.owners.released(e))
	if e.Type != history.OK || newest == nil {
		return
	}
	d.Released = end
	if r.claims.ConfirmsOp(history.Release) {
		newest.act(start)
	}
}

func (d *Hold) act(start int64) {
	d.Acts++
	d.Last = max(d.Last, start)
}

// acquire adds what the completion of its acquire tells.
func (d *Hold) acquire(inv, e *history.Event, start, end int64) {
	switch e.Type {
	case history.OK:
		d.Maybe, d.Token, d.Acquired, d.Earliest = false, e.Token, end, start
		if e.First != 0 {
			d.Earliest = min(max(e.First, inv.Time), end)
		}
	case history.Fail:
		d.Maybe, d.Acquired = false, 0 // it did not happen
	}
}
