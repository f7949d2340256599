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
		// Not the pod's name alone: a container that was started again must not find its own name.
		LockConfig: resourcelock.ResourceLockConfig{Identity: pod + "_" + rand.Text()},
	}
	for ctx.Err() == nil {
		if err := o.candidate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// candidate waits to be the leader, and leads until it is told that it does no more. Many operators end then, and are started again; this one goes on.
func (o *operator) candidate(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.leases.begin()
	tell(time.Now(), "acquiring", nil, 0, nil)
	over := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: o.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, Name: leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer close(over)
				o.lead(leading)
				cancel() // the fence may have told it before client-go does
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
	}
	return nil
}

// lead reconciles, again and again, while it takes itself for the leader.
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

// reconcile pays one order. What it has begun it ends: a payment that was cut off would have an unknown outcome. The grant is that of its beginning,
// so that a leader who lost the lease meanwhile, and got it again, does not act on what it had seen before.
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
