package kubernetes

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/lease"
	"github.com/lockchaos/lockchaos/monotime"
)

// Lease is the lock kubernetes-lease.
var Lease = elected("kubernetes-lease", "client-go's leader election on a Lease, which is renewed in the background and released when the elector is cancelled; kept from giving another's lease back, and from taking a lost one anew", "",
	func(*elector) {})

// Elector is the control kubernetes-elector: kubernetes-lease with client-go to the letter.
var Elector = elected("kubernetes-elector", "kubernetes-lease as client-go has it: a leader that was frozen past its lease gives back the lease of whoever leads by then", checker.StolenRelease,
	func(l *elector) { l.plain = true })

// BrokenCancel is the control broken-kubernetes-cancel: kubernetes-lease whose elector runs under the context of the call that asked for the lock. With its end the
// lease is released while the work goes on, which the documentation of ReleaseOnCancel warns of (https://github.com/kubernetes/client-go/issues/728).
var BrokenCancel = elected("broken-kubernetes-cancel", "kubernetes-lease whose elector is cancelled, and so gives the lease back, when the call ends that asked for it; the work goes on", checker.MutualExclusion,
	func(l *elector) { l.brief = true })

func elected(called, about, control string, with func(*elector)) clients.Kind {
	return clients.Kind{
		Name: called, About: about, Service: "kubernetes", Control: control, OnWire: onWire, Renews: true,
		Claims: clients.Claims{Validity: "session", Token: "fencing", Confirms: []string{"release", "held"}, Permits: 1},
		// A leader whose lease was taken away sees that at its next renewal, and tries for the renew deadline to get it back. That is four fifths of the TTL.
		LostGrace: func(ttl time.Duration) time.Duration { return ttl * 3 / 2 },
		Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
			s, err := connect(c)
			if err != nil {
				return nil, err
			}
			l := &elector{server: s, config: c, losses: make(chan clients.Loss, 16)}
			l.alive, l.end = context.WithCancel(context.Background())
			l.campaigns, l.stop = context.WithCancel(l.alive)
			with(l)
			return l, nil
		},
	}
}

// elector is a client that stands for election.
type elector struct {
	*server
	config clients.Config
	plain  bool // client-go is left alone
	brief  bool // an elector runs for as long as the call that it was made for
	losses chan clients.Loss

	campaigns  context.Context // electors run until it ends
	stop       context.CancelFunc
	alive      context.Context // requests are made until it ends
	end        context.CancelFunc
	background sync.WaitGroup
}

// term is the secret of a grant: one elector, from its campaign to its end. Each has a name of its own, as the processes have that stand for election in the field.
type term struct {
	lock   *elector
	record *record
	cancel context.CancelFunc
	leads  chan struct{} // closed when it leads
	ended  chan struct{} // closed when client-go has let go of it

	mu     sync.Mutex
	served bool // the application has the grant, and has not given it back
}

// within bounds a request of client-go's, which has no end of its own when it releases.
func (l *elector) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.alive, cancel)
	return ctx, func() { stop(); cancel() }
}

// over tells why nothing is to be asked any more.
func (l *elector) over(ctx context.Context) error {
	if l.campaigns.Err() != nil {
		return lease.ErrClosed
	}
	return ctx.Err()
}

// campaign begins a term.
func (l *elector) campaign(ctx context.Context, key string) (*term, error) {
	t := &term{lock: l, leads: make(chan struct{}), ended: make(chan struct{})}
	t.record = &record{lock: l, given: errKept, LeaseLock: &resourcelock.LeaseLock{
		LeaseMeta: meta.ObjectMeta{Namespace: namespace, Name: object(key)}, Client: l.leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("client-%d_%s", l.config.Client, rand.Text())},
	}}
	run, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: t.record, LeaseDuration: l.ttl, RenewDeadline: l.renewDeadline(), RetryPeriod: l.retryPeriod(), ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(t.leads) },
			OnStoppedLeading: func() { close(t.ended) },
		},
	})
	if err != nil {
		return nil, err
	}
	parent := l.campaigns
	if l.brief {
		parent = ctx
	}
	ctx, t.cancel = context.WithCancel(parent)
	l.background.Go(func() {
		defer t.cancel()
		run.Run(ctx)
		if t.over() && !l.brief {
			clients.Tell(l.losses, clients.Loss{Key: key, Token: t.record.token, Why: "client-go has stopped leading"}, l.alive.Done(), l.background.Go)
		}
	})
	return t, nil
}

// serve hands the grant to the application, unless the term has ended already.
func (t *term) serve() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.ended:
		return false
	default:
	}
	t.served = true
	return true
}

// over ends the application's hold, and tells whether it had one.
func (t *term) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	served := t.served
	t.served = false
	return served
}

// await waits until client-go has let go of the term, or for some time after ctx has ended.
func (t *term) await(ctx context.Context) error {
	late, cancel := clients.WithGrace(ctx, 2*t.lock.grace())
	defer cancel()
	select {
	case <-t.ended:
		return nil
	case <-late.Done():
		return ctx.Err()
	}
}

// Acquire stands for election until ctx is done.
func (l *elector) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g := clients.Grant{Key: key}
	err := l.over(ctx)
	for err == nil {
		var t *term
		if t, err = l.campaign(ctx, key); err != nil {
			break
		}
		select {
		case <-t.leads:
			if g := t.record.grant(key, t); monotime.Since(g.Attempt) < l.ttl && t.serve() {
				return g, nil
			}
		case <-t.ended:
		case <-ctx.Done():
		}
		// It is given up, or was told so late that it leads that its lease may be over.
		t.cancel()
		waited := t.await(ctx)
		first, why := t.record.left(context.Cause(ctx))
		if g.First == 0 {
			g.First = first
		}
		if err = l.over(ctx); err != nil && waited == nil && g.First == 0 {
			err = why
		}
	}
	if g.First != 0 {
		err = fmt.Errorf("%w: %w", lease.ErrOpen, err)
	}
	return g, fmt.Errorf("acquire %q from %v: %w", key, l, err)
}

// Release cancels the elector, which gives the lease back.
func (l *elector) Release(ctx context.Context, g clients.Grant) error {
	if err := l.release(ctx, g); err != nil {
		return fmt.Errorf("release %q at %v: %w", g.Key, l, err)
	}
	return nil
}

func (l *elector) release(ctx context.Context, g clients.Grant) error {
	if err := l.over(ctx); err != nil {
		return err // nothing is sent
	}
	t, ok := g.Secret.(*term)
	if !ok || t.lock != l || !t.over() {
		return fmt.Errorf("the grant is none of this client's, or is over: %w", clients.ErrNotHeld)
	}
	t.cancel()
	if err := t.await(ctx); err != nil {
		return fmt.Errorf("%w: %w", lease.ErrOpen, err)
	}
	return t.record.back()
}

// Held asks the API server whose the lease is.
func (l *elector) Held(ctx context.Context, g clients.Grant) error {
	t, ok := g.Secret.(*term)
	if !ok || t.lock != l {
		return fmt.Errorf("%q: the grant is none of this client's: %w", g.Key, clients.ErrNotHeld)
	}
	r, version, err := objects{l.server}.Read(ctx, g.Key)
	if err == nil && (version == "" || r.Owner != t.record.Identity() || r.Fence+1 != g.Token) {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("ask %v who holds %q: %w", l, g.Key, err)
	}
	return nil
}

// Lost tells of leases that could not be renewed.
func (l *elector) Lost() <-chan clients.Loss { return l.losses }

// Close cancels the client's electors, which give their leases back, and closes the connections.
func (l *elector) Close(ctx context.Context) error {
	l.stop()
	all := make(chan struct{})
	go func() { l.background.Wait(); close(all) }()
	select {
	case <-all:
	case <-ctx.Done():
	}
	l.end()
	<-all
	return l.server.Close()
}
