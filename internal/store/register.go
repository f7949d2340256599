package store

import (
	"fmt"
	"math"
)

// register is the state of one key: all that is needed to decide its next request.
// Every engine decides as it does; those that decide in a server of their own say
// it in that server's language, and the conformance suite holds them to it.
type register struct {
	Version int64 `json:"version"`
	Value   int64 `json:"value"`
	// Fence is the highest token seen, Holder the grant that it came with.
	Fence  int64 `json:"fence"`
	Holder int64 `json:"holder"`
}

// decide carries a request out and completes its entry, but for its place and
// stamp. Entry.outcome then tells how it ended. The error is ErrBadRequest,
// wrapped: the request can't be carried out, and leaves no entry.
func (r *register) decide(e *Entry, f Fencing) error {
	switch {
	case !e.Write:
		if f.Reads && e.Token > r.Fence {
			r.Fence, r.Holder = e.Token, e.Grant
		}
		e.Version, e.Value = r.Version, r.Value
	case f.Writes && r.stops(e, f):
		e.Refused = true
	case e.Mode == WriteIfVersion && e.Base != r.Version:
		e.Conflict = true
	default:
		if err := r.write(e); err != nil {
			return err
		}
		if f.Writes {
			r.Fence, r.Holder = e.Token, e.Grant
		}
	}
	e.Fence = r.Fence
	return nil
}

// stops reports whether the fence refuses a write. Of two grants that bear one token at
// most one is the newest, and nothing tells which: so the one that came first keeps it.
func (r *register) stops(e *Entry, f Fencing) bool {
	return e.Token < r.Fence || e.Token == r.Fence && e.Grant != r.Holder && !f.AcceptsEqual
}

func (r *register) write(e *Entry) error {
	if e.Mode == WriteAdd {
		if e.Value > 0 && r.Value > math.MaxInt64-e.Value || e.Value < 0 && r.Value < math.MinInt64-e.Value {
			return overflow(e)
		}
		e.Value += r.Value
	}
	e.Replaced = r.Version
	r.Version++
	r.Value, e.Version = e.Value, r.Version
	return nil
}

func overflow(e *Entry) error {
	return fmt.Errorf("add %d to %q: the sum does not fit into 64 bits: %w", e.Value, e.Key, ErrBadRequest)
}

// outcome says how a request ended: nil, or ErrRefused or ErrConflict, wrapped.
func (e *Entry) outcome() error {
	switch {
	case e.Refused && e.Guard != "":
		return fmt.Errorf("write to %q under %s of revision %d, which is gone from etcd: %w", e.Key, e.Guard, e.Token,
			ErrRefused)
	case e.Refused && e.Token == e.Fence:
		return fmt.Errorf("write to %q with token %d, which came with another grant before: %w", e.Key, e.Token,
			ErrRefused)
	case e.Refused:
		return fmt.Errorf("write to %q with token %d, the fence stands at %d: %w", e.Key, e.Token, e.Fence, ErrRefused)
	case e.Conflict:
		return fmt.Errorf("write to %q made from version %d: %w", e.Key, e.Base, ErrConflict)
	}
	return nil
}
