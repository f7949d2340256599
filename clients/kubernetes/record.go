package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/lease"
	"github.com/lockchaos/lockchaos/monotime"
)

// Why a write of an elector's is not made.
var (
	// errAnothers: client-go's release reads the Lease and writes over it that nobody holds it, if it was the leader when it last looked. Since
	// v0.34 it takes the version that it has just read, so the condition of the write holds whoever the leader is by then.
	errAnothers = errors.New("the lease has another holder, and is not ours to give back")
	// errAnew: client-go renews by the function that also acquires. So a leader that has lost the lease may take it again, and the
	// application never hears that there was another (https://github.com/kubernetes/kubernetes/issues/44887).
	errAnew = errors.New("the lease was lost, and to take it anew is not to renew it")
)

// record is an elector's Lease: client-go's LeaseLock, which is looked at, and kept from two mistakes of the elector.
type record struct {
	*resourcelock.LeaseLock
	lock *elector

	mu     sync.Mutex
	holder string // when the Lease was last read or written; "": nobody
	known  bool   // it could be read when it was last tried
	busy   bool   // another held it
	open   bool   // a write of ours was not answered
	leads  bool   // a write of ours has taken it
	token  int64  // of that one
	given  error  // what became of giving it back; nil: it was given back
	// attempt is when the write began that took it; first when the first began that may have.
	attempt, first int64
}

// errKept: nothing was done to give the Lease back.
var errKept = errors.New("the lease was not given back")

// Get reads the Lease.
func (r *record) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := r.lock.within(ctx)
	defer cancel()
	read, raw, err := r.LeaseLock.Get(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known = err == nil || errors.Is(outcome(err), clients.ErrNotHeld); r.known {
		r.holder = ""
	}
	if err == nil {
		r.holder = read.HolderIdentity
	}
	r.busy = r.holder != "" && r.holder != r.Identity()
	return read, raw, err
}

// Create makes the Lease.
func (r *record) Create(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	return r.write(ctx, to, r.LeaseLock.Create)
}

// Update writes the Lease, if it is as it was last read or written.
func (r *record) Update(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	return r.write(ctx, to, r.LeaseLock.Update)
}

// write makes a write, unless it is one of the elector's mistakes, and takes note of what becomes of it. One that is given up has some time to be answered, so that less is left open.
func (r *record) write(ctx context.Context, to resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if err := r.may(ctx, to); err != nil {
		return err
	}
	ctx, cancel := clients.WithGrace(ctx, r.lock.grace())
	defer cancel()
	ctx, end := r.lock.within(ctx)
	defer end()
	start := monotime.Now()
	err := write(ctx, to)
	r.note(start, to, outcome(err))
	return err
}

// may reports whether a write is to be made, and waits at the gate before a renewal.
func (r *record) may(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	r.mu.Lock()
	holder, leads, token := r.holder, r.leads, r.token
	r.mu.Unlock()
	gives := to.HolderIdentity == ""
	switch {
	case !r.lock.plain && gives && holder != r.Identity():
		return errAnothers
	case !r.lock.plain && leads && !gives && (holder != r.Identity() || tokenOf(to) != token):
		return errAnew
	case leads && !gives:
		return r.lock.config.Renewals.Pass(ctx)
	}
	return nil
}

// tokenOf is a Lease's number of transitions. It begins with 0, which is no token.
func tokenOf(r resourcelock.LeaderElectionRecord) int64 { return int64(r.LeaderTransitions) + 1 }

// note takes note of a write that has ended.
func (r *record) note(start int64, to resourcelock.LeaderElectionRecord, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := errors.Is(err, lease.ErrOpen)
	if err == nil {
		r.holder = to.HolderIdentity
	}
	if to.HolderIdentity == "" {
		r.given = err
		return
	}
	if r.leads {
		return
	}
	if r.first == 0 && (open || err == nil) {
		r.first = start
	}
	r.open = r.open || open
	if err == nil {
		r.leads, r.token, r.attempt = true, tokenOf(to), start
	}
}

// grant is the grant of the Lease that was taken.
func (r *record) grant(key string, t *term) clients.Grant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return clients.Grant{Key: key, Token: r.token, Attempt: r.attempt, First: r.first, Secret: t}
}

// left is what an acquire that was given up has left: when its first write began that may have been carried out, and why it was not granted.
func (r *record) left(cause error) (first int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.first != 0:
		return r.first, fmt.Errorf("%w: %w", lease.ErrOpen, cause)
	case r.busy:
		return 0, clients.ErrBusy
	}
	return 0, cause
}

// back is what became of giving the Lease back.
func (r *record) back() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(r.given, errKept) && r.known && r.holder != r.Identity() {
		return fmt.Errorf("the lease has another holder, or none: %w", clients.ErrNotHeld)
	}
	return r.given
}
