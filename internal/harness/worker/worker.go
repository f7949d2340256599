// Package worker is what runs in a client's own process: it holds the lock,
// writes to the store, and carries out the commands of the harness one at a time.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/store"
)

// New returns a worker that tells its events on out. now is the clock of
// stamps, and dial connects to the store.
func New(out io.Writer, kinds []clients.Kind, now func() int64,
	dial func(ctx context.Context, addr string) (Store, error)) *Worker {
	return &Worker{out: out, kinds: kinds, now: now, dial: dial, grants: map[string]believedGrant{},
		early: map[string]earlyLoss{}}
}

// Store is what a worker needs of the store.
type Store interface {
	Read(ctx context.Context, r store.Request) (store.Entry, error)
	Write(ctx context.Context, r store.Request) (store.Entry, error)
	Close() error
}

// Worker is the application: a lock, a store, and what it believes to hold.
type Worker struct {
	kinds []clients.Kind
	open  wire.Opening
	lock  clients.Lock
	// writes is how the lock wants the store to be written to (clients.Kind.Writes).
	writes string
	store  Store
	now    func() int64
	dial   func(ctx context.Context, addr string) (Store, error)
	// renewals is where the lock's own renewals pass; beats counts the heartbeats.
	renewals clients.Gate
	beats    atomic.Int64
	// giveUp ends the acquire that is under way; nil: none is.
	giveUp atomic.Pointer[context.CancelFunc]

	mu     sync.Mutex // guards what follows: lost-events come at any time
	grants map[string]believedGrant
	early  map[string]earlyLoss

	sending sync.Mutex
	out     io.Writer
	line    []byte // of the last reply; its memory is used again
}

// believedGrant is a grant that the application believes in.
type believedGrant struct {
	grant clients.Grant
	op    int64
	lost  bool
	// record is what the application last read or wrote under this grant, if it did.
	record record
}

func (w *Worker) send(r wire.Reply) error {
	// what a library says of its connection may hold a password, and all of it is recorded
	r.Error = redact.Text(r.Error)
	w.sending.Lock()
	defer w.sending.Unlock()
	w.line = r.AppendLine(w.line[:0])
	_, err := w.out.Write(w.line)
	return err
}

// timed stamps a library call and turns its error into a result.
func (w *Worker) timed(call func() error) wire.Reply {
	r := wire.Reply{Start: w.now()}
	err := call()
	r.End = w.now()
	switch {
	case err == nil:
		r.Result = wire.ResultOK
		return r
	case clients.Definite(err), store.Definite(err):
		r.Result = wire.ResultFail
		r.Busy = errors.Is(err, clients.ErrBusy)
		r.NotHeld = errors.Is(err, clients.ErrNotHeld)
	default:
		r.Result = wire.ResultInfo
	}
	r.Error, r.Broken = err.Error(), errors.Is(err, adapter.ErrBroken)
	return r
}

// otherLease says that the service grants much longer leases than the run is
// about: a client that is frozen for longer than its TTL would still hold the
// lock, and whatever came of it would say nothing.
func (w *Worker) otherLease() error {
	leaser, ok := w.lock.(clients.Leaser)
	if !ok || !w.open.Lent {
		return nil
	}
	granted, ttl := leaser.GrantedTTL(), w.open.TTL
	if granted <= ttl+ttl/4 {
		return nil
	}
	return fmt.Errorf("the service grants sessions of %v where the TTL is %v, so nothing would be shown: give --scale real, or lower its least session timeout "+
		"(ZooKeeper: minSessionTimeout, twice the tickTime if it is not set; etcd: its election timeout and a half)",
		granted, ttl)
}
