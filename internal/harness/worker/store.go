package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/store"
)

// record is a key's record as the application knows it.
type record struct {
	known          bool
	version, value int64
}

// request is what the application sends to the store: as it is, or in the way
// that the lock (or the lack of one) demands.
func (w *Worker) request(c wire.Command, h believedGrant) store.Request {
	r := store.Request{Key: c.Key, Op: c.ID, Grant: c.Grant, Client: w.open.Client, Token: h.grant.Token,
		Value: c.Value}
	if c.Op == "read" {
		return r
	}
	switch w.writes {
	case store.WriteIfVersion:
		if h.record.known { // who writes without having read builds on nothing
			r.Mode, r.Base = store.WriteIfVersion, h.record.version
		}
	case store.WriteAdd:
		r.Mode, r.Value = store.WriteAdd, c.Value-h.record.value
	case "guarded":
		if l, ok := w.lock.(clients.Guarder); ok {
			r.Guard = l.Guard(h.grant)
		}
	}
	return r
}

// keepRecord keeps what a read or an accepted write showed of the record. Where the store added,
// the application goes on from what it believes to have written: the next sum is counted from
// there.
func (w *Worker) keepRecord(c wire.Command, e store.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, ok := w.grants[c.Key]
	if !ok || h.op != c.Grant {
		return
	}
	h.record = record{known: true, version: e.Version, value: e.Value}
	if e.Write {
		h.record.value = c.Value
	}
	w.grants[c.Key] = h
}

// whyNot says in a reader's words why the store did not write; "" when it did, or never answered.
func whyNot(e *store.Entry) string {
	switch {
	case e.Refused && e.Guard != "":
		return fmt.Sprintf("refused: the lock's own key, or row, is not that of token %d any more, or says that it is done", e.Token)
	case e.Refused && e.Token == e.Fence:
		return fmt.Sprintf("refused: token %d came to the store with another grant before", e.Token)
	case e.Refused:
		return fmt.Sprintf("refused: token %d is older than %d, which the store has seen", e.Token, e.Fence)
	case e.Conflict:
		return fmt.Sprintf("conflict: the record is no longer at version %d, which was read", e.Base)
	}
	return ""
}

// transactor is a store whose reads and writes can be parts of transactions.
type transactor interface {
	Isolate(level string)
	Commit(ctx context.Context) error
}

// isolate has all reads and writes be parts of transactions, if the run asks for it.
func (w *Worker) isolate() error {
	if w.open.Isolation == "" {
		return nil
	}
	t, ok := w.store.(transactor)
	if !ok {
		return errors.New("open the store: this one has no transactions")
	}
	t.Isolate(w.open.Isolation)
	return nil
}

// commit ends the transaction that the client has at the store, whether or not it still has the
// lock under which it began.
func (w *Worker) commit(ctx context.Context) wire.Reply {
	t, ok := w.store.(transactor)
	if !ok {
		return wire.Reply{Result: wire.ResultFail, Error: "this store has no transactions"}
	}
	return w.timed(func() error { return t.Commit(ctx) })
}
