package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	api "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// grant is a term as the leader, of which client-go tells the application no more than that it began.
type grant struct {
	// token is greater than those of all grants before: the Lease's resourceVersion as it was when the term began. leaseTransitions would do as long as
	// nobody deletes the Lease. Then it begins again at zero; and it stays the same when a replica that gave up finds its own name in the Lease.
	token       int64
	transitions int32
}

// leases writes Leases, and sees which writes of the elector are grants and which renew one.
type leases struct {
	typed.LeasesGetter
	mu  sync.Mutex
	now *grant // nil: not the leader
}

func (l *leases) Leases(namespace string) typed.LeaseInterface {
	return writes{l.LeasesGetter.Leases(namespace), l}
}

// begin forgets the last term: the elector begins anew.
func (l *leases) begin() { l.set(nil) }

func (l *leases) set(g *grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = g
}

// grant is the term that the replica takes to be its own; nil: none.
func (l *leases) grant() *grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// writes are the requests of the elector.
type writes struct {
	typed.LeaseInterface
	leases *leases
}

func (w writes) Create(ctx context.Context, lease *api.Lease, o meta.CreateOptions) (*api.Lease, error) {
	began := time.Now()
	got, err := w.LeaseInterface.Create(ctx, lease, o)
	return got, w.leases.wrote(began, true, got, err)
}

func (w writes) Update(ctx context.Context, lease *api.Lease, o meta.UpdateOptions) (*api.Lease, error) {
	began := time.Now()
	got, err := w.LeaseInterface.Update(ctx, lease, o)
	return got, w.leases.wrote(began, false, got, err)
}

// wrote follows a write. The same holder under another number of transitions, or in a new Lease, has had it anew: others may have led meanwhile, and
// client-go does not tell.
func (l *leases) wrote(began time.Time, created bool, got *api.Lease, err error) error {
	g := l.grant()
	if err != nil {
		if g != nil && !undone(err) {
			tell(began, "renewed", g, 0, err)
		}
		return err
	}
	transitions := int32(0)
	if got.Spec.LeaseTransitions != nil {
		transitions = *got.Spec.LeaseTransitions
	}
	if g != nil && !created && g.transitions == transitions {
		tell(began, "renewed", g, 0, nil)
		return nil
	}
	token, err := strconv.ParseInt(got.ResourceVersion, 10, 64)
	if err != nil {
		return err
	}
	if g != nil {
		tell(began, "lost", g, 0, nil)
	}
	g = &grant{token, transitions}
	tell(began, "acquired", g, 0, nil)
	l.set(g)
	return nil
}

// undone reports whether the API server has said that it did not write. That is no news of a loss: the elector looks, and tries again.
func undone(err error) bool {
	return errors.IsConflict(err) || errors.IsAlreadyExists(err) || errors.IsNotFound(err)
}
