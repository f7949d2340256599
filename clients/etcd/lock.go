package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/endpoint/etcdurl"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Lease is the lock etcd-lease.
var Lease = clients.Kind{
	Name:    "etcd-lease",
	About:   "etcd's own lock: a session with a lease and a queue of keys; the token is the create revision of the lock's key",
	Service: "etcd",
	Claims: clients.Claims{Validity: "session", Identity: "unique", Tolerates: "minority", Token: "fencing", Confirms: []string{"held"},
		Permits: 1, Fair: true, WakesOne: true},
	LostGrace: lostGrace,
	Renews:    true,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return open(c)
	},
}

// lostGrace is how soon the library notices that its lease has ended: see the
// package's documentation.
func lostGrace(ttl time.Duration) time.Duration {
	return max(2*time.Second, ttl/3+time.Second)
}

// prefix is where all locks live.
const prefix = "lockchaos/"

// grace is how long after its context a call waits for the library to clean up.
const grace = 250 * time.Millisecond

// retryPause is the pause after an attempt that the service answered with an error.
const retryPause = 20 * time.Millisecond

type lock struct {
	client  *clientv3.Client
	seconds int64 // TTL that is asked for
	lost    chan clients.Loss
	opened  func(clients.Session)

	mu       sync.Mutex
	session  *session          // the newest
	sessions map[*session]bool // that have not ended, as far as is known

	// background are tasks that end with the client's context at the latest.
	background sync.WaitGroup
}

// open makes the client. It connects in the background.
func open(c clients.Config) (*lock, error) {
	if len(c.Nodes) == 0 {
		return nil, errors.New("an etcd lock needs the address of at least one member; none was configured")
	}
	if c.TTL <= 0 {
		return nil, fmt.Errorf("etcd at %s: a TTL of %v; configure one second or more", strings.Join(c.Nodes, ","),
			c.TTL)
	}
	config, err := etcdurl.Config(c.Nodes)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	config.DialOptions = append(config.DialOptions, grpc.WithChainUnaryInterceptor(stampTxn),
		grpc.WithChainStreamInterceptor(gateKeepAlives(c.Renewals)))
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", strings.Join(c.Nodes, ","), err)
	}
	return &lock{client: client, seconds: int64((c.TTL + time.Second - 1) / time.Second), lost: make(chan clients.Loss, 16),
		opened:   c.Open,
		sessions: map[*session]bool{}}, nil
}

// stampTxn notes when the transaction that enters the queue was sent, and when
// it was answered: the waiter was in the queue by then. (The client's library
// may send it again, if it certainly did not arrive.)
func stampTxn(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	stamps, ok := ctx.Value(stampKey{}).(*stamps)
	if !ok || method != txnMethod {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	stamps.sent.CompareAndSwap(0, monotime.Now())
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil {
		stamps.answered.Store(monotime.Now())
	}
	return err
}

// Acquire waits in the queue until ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, l.attempt)
}

// acquire makes attempts until ctx is done.
func (l *lock) acquire(ctx context.Context, key string,
	attempt func(context.Context, string) (*hold, entry, error)) (clients.Grant, error) {
	g, err := clients.Attempts(ctx, key, retryPause, func() (clients.Grant, error) {
		h, in, err := attempt(ctx, key)
		if err != nil {
			return clients.Grant{}, err
		}
		return clients.Grant{Key: key, Token: h.token, Attempt: in.asked, First: in.asked, Enqueued: in.enqueued,
			Session: int64(h.session.Lease()), Secret: h}, nil
	})
	if err != nil {
		err = fmt.Errorf("acquire %q from etcd at %s: %w", key, l.nodes(), err)
	}
	return g, err
}

// entry is what is known of how a waiter came into the queue: when it asked for its place, and when
// it surely had it, 0 if that is not known. Opening a session comes before, and can be no grant.
type entry struct{ asked, enqueued int64 }

// attempt enters the queue once, and waits there.
func (l *lock) attempt(ctx context.Context, key string) (h *hold, in entry, err error) {
	s, err := l.openSession(ctx)
	if err != nil {
		return nil, in, err
	}
	// Escaped: the library takes whatever lies under the prefix for a waiter of
	// this lock, so "a" would wait for "a/b".
	m := concurrency.NewMutex(s.Session, prefix+url.PathEscape(key))
	stamps := new(stamps)
	err, done := l.bounded(ctx, func() error { return m.Lock(context.WithValue(ctx, stampKey{}, stamps)) })
	switch {
	case !done:
		l.giveUp(s)
		return nil, in, fmt.Errorf("%w: %w", clients.ErrOpen, err)
	case err != nil && cleanedUp(m):
		if ctx.Err() != nil {
			return nil, in, clients.ErrBusy
		}
		return nil, in, err
	case errors.Is(err, concurrency.ErrSessionExpired):
		l.giveUp(s) // our key went with the lease
		return nil, in, err
	case err != nil:
		l.giveUp(s)
		return nil, in, fmt.Errorf("%w: %w", clients.ErrOpen, err)
	}
	h = &hold{lock: l, session: s, mutex: m, key: key, path: m.Key(), revision: revision(m)}
	if h.revision == 0 {
		l.giveUp(s)
		return nil, in, fmt.Errorf("the library does not tell the create revision of %s: %w", h.path, clients.ErrOpen)
	}
	h.token = h.revision
	if !s.add(h) {
		l.giveUp(s)
		return nil, in, fmt.Errorf("the session ended with the grant: %w", clients.ErrOpen)
	}
	return h, entry{stamps.sent.Load(), stamps.answered.Load()}, nil
}

// bounded runs a call of the library that may ignore its context. done is false when it was
// left behind; it then ends with the client, and must not be given anything that is used again.
func (l *lock) bounded(ctx context.Context, call func() error) (err error, done bool) {
	result := make(chan error, 1)
	l.background.Go(func() { result <- call() })
	select {
	case err := <-result:
		return err, true
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-result:
		return err, true
	case <-late.C:
		return ctx.Err(), false
	}
}

// cleanedUp reports whether a Lock that failed has deleted its key: the library
// then forgets the key's name.
func cleanedUp(m *concurrency.Mutex) bool { return m.Key() == "\x00" }

// revision returns the create revision of the lock's own key, 0 when the library does not tell.
func revision(m *concurrency.Mutex) int64 {
	owner := m.IsOwner()
	if c, ok := owner.GetCompare().GetTargetUnion().(*etcdserverpb.Compare_CreateRevision); ok {
		return c.CreateRevision
	}
	return 0
}

// Release deletes the key. The library answers ok even if it was not there.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	return l.release(ctx, g, func(h *hold) error {
		err := h.mutex.Unlock(ctx)
		if errors.Is(err, concurrency.ErrLockReleased) {
			return clients.ErrNotHeld
		}
		return err
	})
}

// release gives a hold back. If that is not answered, its session is given up.
func (l *lock) release(ctx context.Context, g clients.Grant, free func(*hold) error) error {
	h, ok := g.Secret.(*hold)
	if !ok || h.lock != l {
		return fmt.Errorf("release %q: the grant is not one of this client's: %w", g.Key, clients.ErrNotHeld)
	}
	err := ctx.Err() // over already: nothing is sent
	if err == nil {
		err = free(h)
		h.session.remove(h)
		if err != nil && !clients.Definite(err) {
			l.giveUp(h.session)
		}
	}
	if err != nil {
		return fmt.Errorf("release %q at etcd %s: %w", g.Key, l.nodes(), err)
	}
	return nil
}

// Held asks the session and then the service, which answers as of now (a linearizable read).
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	h, ok := g.Secret.(*hold)
	if !ok || h.lock != l {
		return fmt.Errorf("%q: the grant is not one of this client's: %w", g.Key, clients.ErrNotHeld)
	}
	if h.session.ended() {
		return fmt.Errorf("%q: its session has ended: %w", g.Key, clients.ErrNotHeld)
	}
	reply, err := l.client.Get(ctx, h.path)
	if err != nil {
		return fmt.Errorf("ask etcd at %s who holds %q: %w", l.nodes(), g.Key, err)
	}
	if len(reply.Kvs) == 0 || reply.Kvs[0].CreateRevision != h.revision {
		return fmt.Errorf("%q: its key has gone from etcd: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}

// Lost tells of grants whose session ended.
func (l *lock) Lost() <-chan clients.Loss { return l.lost }

// GrantedTTL returns the TTL of the present session.
func (l *lock) GrantedTTL() time.Duration {
	if s := l.current(); s != nil {
		return s.ttl
	}
	return 0
}

// Close revokes the lease, and with it deletes every key, and closes the connections.
func (l *lock) Close(ctx context.Context) error {
	var errs []error
	for _, s := range l.alive() {
		s.end() // what the client gives up itself is not lost
		s.Orphan()
		if err := l.revoke(ctx, s); err != nil {
			errs = append(errs, fmt.Errorf("revoke the lease at etcd %s (it expires by itself in %v): %w", l.nodes(),
				s.ttl, err))
		}
	}
	if err := l.client.Close(); err != nil {
		errs = append(errs, fmt.Errorf("close the connections to etcd at %s: %w", l.nodes(), err))
	}
	l.background.Wait()
	return errors.Join(errs...)
}

func (l *lock) nodes() string { return strings.Join(l.client.Endpoints(), ",") }
