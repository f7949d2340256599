package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	leaseDuration = 4 * time.Second
	renewDeadline = 3 * time.Second
	retryPeriod   = 500 * time.Millisecond

	bank = 200 * time.Millisecond // how long it takes to pay
)

// operator is one replica.
type operator struct {
	leases *leases
	books  books
	lock   resourcelock.Interface
}

func operate(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	// A request that hangs must leave time for another one before the deadline.
	config.Timeout = renewDeadline / 2
	client, err := v1.NewForConfig(config)
	if err != nil {
		return err
	}
	o := &operator{leases: &leases{LeasesGetter: client}, books: books{"http://ledger:8080"}}
	o.lock = &resourcelock.LeaseLock{
		LeaseMeta: meta.ObjectMeta{Name: leaseName, Namespace: os.Getenv("NAMESPACE")},
		Client:    o.leases,
		// Not the pod's name alone: a container that was started again must not
		// find its own name in the Lease, and go on with its former self's.
		LockConfig: resourcelock.ResourceLockConfig{Identity: pod + "_" + rand.Text()},
	}
	for ctx.Err() == nil {
		if err := o.candidate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// candidate waits to be the leader, and leads until client-go or the ledger says that it does no
// more. Most operators exit then, and are started again: this one with EXIT=on. Else it goes on.
func (o *operator) candidate(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.leases.begin()
	tell(time.Now(), "acquiring", nil, 0, nil)
	over := make(chan struct{})
	// Without ReleaseOnCancel, by which a leader that was frozen can end its successor's lease.
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: o.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Name: leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer close(over)
				o.lead(leading)
				cancel() // the ledger may say it before client-go does
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	if o.leases.grant() != nil {
		<-over
		if os.Getenv("EXIT") == "on" {
			return errors.New("leader election lost")
		}
	}
	return nil
}

// lead reconciles again and again, until it knows that it is not the leader.
func (o *operator) lead(leading context.Context) {
	for leading.Err() == nil {
		err := o.reconcile(o.leases.grant())
		if errors.Is(err, errStale) {
			break
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "k8s-app: reconcile:", err)
			time.Sleep(retryPeriod)
		}
	}
	tell(time.Now(), "lost", o.leases.grant(), 0, nil)
}

// reconcile pays one order. It goes on when the lease ends meanwhile: a payment that was cut off
// would have an unknown outcome. It bears the token of its beginning throughout. So a leader that
// lost the lease and got it again does not act on what it saw before.
func (o *operator) reconcile(g *grant) error {
	began := time.Now()
	order, err := o.books.next(context.Background(), g)
	tell(began, "read", g, order, err)
	if err != nil {
		return err
	}
	time.Sleep(bank)
	began = time.Now()
	err = o.books.pay(context.Background(), g, order)
	tell(began, "write", g, order, err)
	return err
}
