package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	api "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// grant is one term as the leader. client-go says that a term began, and not which.
type grant struct {
	// token is greater than those of all earlier grants: the Lease's resourceVersion when the term
	// began. leaseTransitions is not enough. It begins again at zero when somebody deletes the
	// Lease, and it stays when an elector finds its own name in it. Kubernetes promises since 1.35
	// that resourceVersions of one type rise. Earlier servers number them in the same way.
	token int64
	term  term
}

// term is what stays the same while a Lease is renewed.
type term struct {
	lease       types.UID
	transitions int32
}

// leases are a client of the API for the elector. It reports which writes are grants, and which are
// renewals.
type leases struct {
	typed.LeasesGetter
	mu  sync.Mutex
	now *grant // nil: not the leader
}

func (l *leases) Leases(namespace string) typed.LeaseInterface {
	return writes{l.LeasesGetter.Leases(namespace), l}
}

// begin forgets the last term. Call it before each elector.
func (l *leases) begin() { l.set(nil) }

func (l *leases) set(g *grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = g
}

// grant returns the term in which this replica is the leader, as far as it knows; nil: none.
func (l *leases) grant() *grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// writes are the elector's requests that write.
type writes struct {
	typed.LeaseInterface
	leases *leases
}

func (w writes) Create(ctx context.Context, lease *api.Lease, o meta.CreateOptions) (*api.Lease, error) {
	began := time.Now()
	got, err := w.LeaseInterface.Create(ctx, lease, o)
	return got, w.leases.wrote(began, got, err)
}

func (w writes) Update(ctx context.Context, lease *api.Lease, o meta.UpdateOptions) (*api.Lease, error) {
	began := time.Now()
	got, err := w.LeaseInterface.Update(ctx, lease, o)
	return got, w.leases.wrote(began, got, err)
}

// wrote follows a write of the elector, which has this replica's name in it. A write in
// another term is a new grant: others may have led meanwhile, and client-go does not say so.
func (l *leases) wrote(began time.Time, got *api.Lease, err error) error {
	g := l.grant()
	if err != nil {
		if g != nil && !undone(err) {
			tell(began, "renewed", g, 0, err)
		}
		return err
	}
	t := term{lease: got.UID}
	if n := got.Spec.LeaseTransitions; n != nil {
		t.transitions = *n
	}
	if g != nil && g.term == t {
		tell(began, "renewed", g, 0, nil)
		return nil
	}
	token, err := strconv.ParseInt(got.ResourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("the Lease's resourceVersion is no fencing token: %w", err)
	}
	if g != nil {
		tell(began, "lost", g, 0, nil)
	}
	g = &grant{token, t}
	tell(began, "acquired", g, 0, nil)
	l.set(g)
	return nil
}

// undone reports whether the API server has said that it did not write. That is no loss yet: the
// elector reads the Lease, and tries again.
func undone(err error) bool {
	return errors.IsConflict(err) || errors.IsAlreadyExists(err) || errors.IsNotFound(err)
}
