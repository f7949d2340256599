package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// LockAPI is the lock etcd-lock-api: the Lock and Unlock requests of the server's
// own lock service (etcd API reference, "concurrency API reference", service Lock),
// as clients in languages without a lock of their own use it. The server runs the
// Mutex of etcd-lease for its client, with a lease that the client brings.
//
// The answer to Lock is the name of the lock's key and a header, whose revision may be
// of much later: the token is the create revision of that key, asked for with one more
// read. A Lock request that is cancelled leaves its key to the server to clean up,
// which nobody tells of; so each acquire brings a lease of its own, and a cancelled
// one revokes it: whatever the server does then, it can't be with that lease.
var LockAPI = clients.Kind{
	Name:    "etcd-lock-api",
	About:   "the Lock request of etcd's server, with a lease that the client keeps alive; the token is the create revision of the lock's key",
	Service: "etcd",
	// It queues as etcd-lease does, but Fair is not claimed: only the server
	// knows when a waiter entered the queue.
	Claims: clients.Claims{Validity: "session", Tolerates: "minority", Token: "fencing", Confirms: []string{"held"},
		Permits: 1, WakesOne: true},
	LostGrace: lostGrace,
	Renews:    true,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(c)
		if err != nil {
			return nil, err
		}
		return &lockAPI{l, v3lockpb.NewLockClient(l.client.ActiveConnection())}, nil
	},
}

type lockAPI struct {
	*lock
	rpc v3lockpb.LockClient
}

// apiPrefix keeps its locks apart from those of etcd-lease.
const apiPrefix = prefix + "api/"

// Acquire waits at the server until ctx is done.
func (l *lockAPI) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, l.attempt)
}

func (l *lockAPI) attempt(ctx context.Context, key string) (h *hold, in entry, err error) {
	s, err := l.newSession(ctx)
	if err != nil {
		return nil, in, err
	}
	in.asked = monotime.Now()
	reply, err := l.rpc.Lock(ctx, &v3lockpb.LockRequest{Name: []byte(apiPrefix + url.PathEscape(key)),
		Lease: int64(s.Lease())})
	if err != nil {
		return nil, in, l.withdraw(ctx, s, err)
	}
	h = &hold{lock: l.lock, session: s, key: key, path: string(reply.Key)}
	if h.revision, err = l.createRevision(ctx, h.path); err != nil {
		return nil, in, l.withdraw(ctx, s, err)
	}
	h.token = h.revision
	if !s.add(h) {
		l.giveUp(s)
		return nil, in, fmt.Errorf("the session ended with the grant: %w", clients.ErrOpen)
	}
	return h, in, nil
}

// withdraw takes an acquire back by revoking its lease, and says what became of
// it: busy if the caller ran out of time and nothing is left.
func (l *lockAPI) withdraw(ctx context.Context, s *session, failed error) error {
	s.end()
	s.Orphan()
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := l.revoke(clean, s); err != nil {
		l.giveUp(s)
		return fmt.Errorf("%w: %w", clients.ErrOpen, errors.Join(failed, err))
	}
	if ctx.Err() != nil {
		return clients.ErrBusy
	}
	return failed
}

func (l *lock) createRevision(ctx context.Context, path string) (int64, error) {
	reply, err := l.client.Get(ctx, path)
	if err == nil && len(reply.Kvs) == 0 {
		err = errors.New("it is not there")
	}
	if err != nil {
		return 0, fmt.Errorf("ask for the create revision of %s: %w", path, err)
	}
	return reply.Kvs[0].CreateRevision, nil
}

// Release sends Unlock, which is answered ok whether the key was there or not,
// and then gives the lease back.
func (l *lockAPI) Release(ctx context.Context, g clients.Grant) error {
	return l.release(ctx, g, func(h *hold) error {
		if h.session.ended() {
			return clients.ErrNotHeld
		}
		_, err := l.rpc.Unlock(ctx, &v3lockpb.UnlockRequest{Key: []byte(h.path)})
		if err == nil {
			h.session.end()
			h.session.Orphan()
			l.background.Go(func() {
				// nothing is held by it, and nobody keeps it alive
				_ = l.revoke(l.client.Ctx(), h.session)
			})
		}
		return err
	})
}
