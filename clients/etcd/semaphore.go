package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// permits is how many may hold a key of the semaphore at once.
const permits = 2

// Semaphore is the lock semaphore-etcd: etcd-lease's queue of keys with a lease
// each, of which not the first but the first two hold the lock. A waiter reads
// once which keys were created before its own, watches the prefix for keys that
// go, and holds a permit when fewer than two of those are left.
//
// It claims no fencing token: the create revision orders the permits, but the
// older of two holders is no stale one.
var Semaphore = clients.Kind{
	Name:    "semaphore-etcd",
	About:   "two permits: keys with a lease in a queue, the two of the lowest create revision hold",
	Service: "etcd",
	Claims: clients.Claims{Validity: "session", Tolerates: "minority", Token: "none",
		Confirms: []string{"release", "held"}, Permits: permits},
	LostGrace: lostGrace,
	Renews:    true,
	Open:      clients.With(openQueue, queue{dir: prefix + "semaphore/", permits: permits}),
}

// queue is a queue of keys in a directory, of which the first ones hold.
type queue struct {
	dir     string
	permits int
	// blind: a waiter does not look whether its own key is still there (see WaiterBlind).
	blind bool
	// stays: a waiter that gives up leaves its key in the queue (see QueueStayer).
	stays bool
	// careless: a waiter that gives up tries once to take its key out of the
	// queue (see QueueCareless).
	careless bool
}

func openQueue(c clients.Config, q queue) (clients.Lock, error) {
	l, err := open(c)
	if err != nil {
		return nil, err
	}
	return &semaphore{lock: l, queue: q}, nil
}

// semaphore is the lock that a queue makes.
type semaphore struct {
	*lock
	queue
	// attempts numbers the keys of a session that may have several.
	attempts atomic.Int64
}

// Acquire waits in the queue until ctx is done.
func (l *semaphore) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, l.attempt)
}

func (l *semaphore) attempt(ctx context.Context, key string) (h *hold, in entry, err error) {
	s, err := l.openSession(ctx)
	if err != nil {
		return nil, in, err
	}
	dir := l.dir + url.PathEscape(key) + "/"
	h = &hold{lock: l.lock, session: s, key: key, path: fmt.Sprintf("%s%x", dir, s.Lease())}
	if l.stays || l.careless {
		h.path += fmt.Sprintf("-%d", l.attempts.Add(1))
	}
	return l.take(ctx, h, func() error { return l.await(ctx, dir, h) })
}

// take puts the key of the hold into the queue, and awaits its turn there.
func (l *semaphore) take(ctx context.Context, h *hold, await func() error) (_ *hold, in entry, err error) {
	s := h.session
	in.asked = monotime.Now()
	entered, err := l.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(h.path), "=", 0)).
		Then(clientv3.OpPut(h.path, "", clientv3.WithLease(s.Lease()))).Commit()
	if err != nil {
		l.giveUp(s)
		return nil, in, fmt.Errorf("%w: %w", clients.ErrOpen, err)
	}
	if !entered.Succeeded {
		return nil, in, errors.New("this client stands in the queue already")
	}
	in.enqueued = monotime.Now()
	h.revision = entered.Header.Revision
	if err := await(); err != nil {
		return nil, in, l.leave(ctx, h, err)
	}
	switch {
	case s.add(h):
	case l.blind:
		l.tell([]*hold{h}, "the session ended before the grant")
	default:
		l.giveUp(s)
		return nil, in, fmt.Errorf("the session ended with the grant: %w", clients.ErrOpen)
	}
	return h, in, nil
}

// await returns nil when fewer keys than there are permits stand before ours.
func (l *semaphore) await(ctx context.Context, dir string, h *hold) error {
	for {
		reply, err := l.client.Get(ctx, dir, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		ahead, ours := map[string]bool{}, false
		for _, kv := range reply.Kvs {
			ours = ours || kv.CreateRevision == h.revision
			if kv.CreateRevision < h.revision {
				ahead[string(kv.Key)] = true
			}
		}
		if !ours && !l.blind {
			return concurrency.ErrSessionExpired
		}
		if len(ahead) < l.permits {
			return nil
		}
		granted, err := l.watch(ctx, dir, reply.Header.Revision+1, h, ahead)
		if err != nil {
			return err
		}
		if granted && l.blind {
			return nil
		}
		if granted {
			return l.stands(ctx, h)
		}
	}
}

// watch takes keys that go from those ahead. granted false without an error:
// the watch ended, and the keys must be read again.
func (l *semaphore) watch(ctx context.Context, dir string, from int64, h *hold, ahead map[string]bool) (granted bool,
	err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := h.session.Done()
	if l.blind {
		over = nil
	}
	gone := l.client.Watch(clientv3.WithRequireLeader(ctx), dir, clientv3.WithPrefix(), clientv3.WithRev(from),
		clientv3.WithFilterPut())
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-over:
			return false, concurrency.ErrSessionExpired
		case reply, ok := <-gone:
			if !ok || reply.Err() != nil {
				_ = clients.Wait(ctx, retryPause)
				return false, ctx.Err()
			}
			for _, e := range reply.Events {
				if e.Type != mvccpb.Event_DELETE {
					continue
				}
				if delete(ahead, string(e.Kv.Key)); string(e.Kv.Key) == h.path && !l.blind {
					return false, concurrency.ErrSessionExpired
				}
			}
			if len(ahead) < l.permits {
				return true, nil
			}
		}
	}
}

// stands asks, as of now, whether our key is still there. What the watch told may be old: a
// client that was frozen reads first that others went, though its own lease expired after them.
func (l *semaphore) stands(ctx context.Context, h *hold) error {
	reply, err := l.client.Get(ctx, h.path)
	if err != nil {
		return err
	}
	if len(reply.Kvs) == 0 || reply.Kvs[0].CreateRevision != h.revision {
		return concurrency.ErrSessionExpired
	}
	return nil
}

// leave takes our key out of the queue, and says what became of the wait: busy
// if the caller ran out of time and nothing is left.
func (l *semaphore) leave(ctx context.Context, h *hold, failed error) error {
	if l.stays && ctx.Err() != nil {
		return clients.ErrBusy
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if _, err := l.client.Delete(clean, h.path); err != nil && l.careless && ctx.Err() != nil {
		return clients.ErrBusy
	} else if err != nil {
		l.giveUp(h.session)
		return fmt.Errorf("%w: %w", clients.ErrOpen, errors.Join(failed, err))
	}
	if errors.Is(failed, concurrency.ErrSessionExpired) {
		l.giveUp(h.session)
	}
	if ctx.Err() != nil {
		return clients.ErrBusy
	}
	return failed
}

// Release deletes our key, which is answered ok whether it was there or not.
func (l *semaphore) Release(ctx context.Context, g clients.Grant) error {
	return l.release(ctx, g, func(h *hold) error {
		if h.session.ended() {
			return clients.ErrNotHeld
		}
		reply, err := l.client.Delete(ctx, h.path)
		if err == nil && reply.Deleted == 0 {
			return clients.ErrNotHeld
		}
		return err
	})
}
