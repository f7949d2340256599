package etcd

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/lockchaos/lockchaos/clients"
)

// ReadWrite is the lock etcd-rw: a reader-writer lock. Readers and writers stand in one queue of
// keys with a lease each, as those of etcd-lease. A reader holds when no writer's key was created
// before its own, a writer when no key at all was. So neither can starve: who comes later waits.
//
// It is ZooKeeper's recipe for shared locks
// (https://zookeeper.apache.org/doc/current/recipes.html), on etcd. A waiter
// watches one key, the last one that it waits for, and then reads the queue
// again: whether its own key is still there, and whether an earlier one is left.
var ReadWrite = clients.Kind{
	Name:      "etcd-rw",
	About:     "readers and writers in one queue of keys with a lease: a reader waits for the writers before it, a writer for everyone",
	Service:   "etcd",
	Claims:    ReadWriteClaims,
	LostGrace: lostGrace,
	Renews:    true,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return OpenReadWrite(c, inTurn)
	},
}

// ReadWriteClaims are those of etcd-rw, and of locks that break it and do not say so.
var ReadWriteClaims = clients.Claims{Validity: "session", Tolerates: "minority", Token: "fencing",
	Confirms: []string{"release", "held"}, Permits: 1, Fair: true,
	ReadWrite: true}

// Place is a place in the queue of a reader-writer lock.
type Place struct {
	// Revision is the one that created its key: the order of the queue.
	Revision int64
	Reader   bool
}

// inTurn reports whether a waiter waits for another place: one before its own,
// unless both are readers.
func inTurn(own, other Place) bool {
	return other.Revision < own.Revision && !(own.Reader && other.Reader)
}

// readWrite is a reader-writer lock. waits reports whether the place own waits
// until the place other is free.
type readWrite struct {
	*semaphore
	waits func(own, other Place) bool
}

// OpenReadWrite opens a reader-writer lock on a queue; waits reports whether
// the place own waits until the place other is free.
func OpenReadWrite(c clients.Config, waits func(own, other Place) bool) (clients.Lock, error) {
	l, err := open(c)
	if err != nil {
		return nil, err
	}
	return &readWrite{semaphore: &semaphore{lock: l, queue: queue{dir: prefix + "rw/", permits: 1}}, waits: waits}, nil
}

// The kinds of key in the queue.
const (
	readers = "read/"
	writers = "write/"
)

// Acquire waits in the queue as a writer until ctx is done.
func (l *readWrite) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquireAs(ctx, key, writers)
}

// AcquireRead waits in the queue as a reader until ctx is done.
func (l *readWrite) AcquireRead(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquireAs(ctx, key, readers)
}

func (l *readWrite) acquireAs(ctx context.Context, key, kind string) (clients.Grant, error) {
	return l.acquire(ctx, key, func(ctx context.Context, key string) (*hold, entry, error) {
		s, err := l.openSession(ctx)
		if err != nil {
			return nil, entry{}, err
		}
		dir := l.dir + url.PathEscape(key) + "/"
		h := &hold{lock: l.lock, session: s, key: key, path: fmt.Sprintf("%s%s%x", dir, kind, s.Lease())}
		granted, in, err := l.take(ctx, h, func() error {
			h.token = h.revision
			return l.await(ctx, dir, h)
		})
		return granted, in, err
	})
}

// await returns nil when the service, asked as of now, has our key and none that we wait for.
func (l *readWrite) await(ctx context.Context, dir string, h *hold) error {
	for {
		asked := time.Now()
		reply, err := l.client.Get(ctx, dir, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		own := Place{Revision: h.revision, Reader: strings.HasPrefix(h.path, dir+readers)}
		ours, last, lastKey := false, int64(0), ""
		for _, kv := range reply.Kvs {
			place := Place{Revision: kv.CreateRevision, Reader: strings.HasPrefix(string(kv.Key), dir+readers)}
			switch {
			case place.Revision == own.Revision:
				ours = true
			case l.waits(own, place) && place.Revision > last:
				last, lastKey = place.Revision, string(kv.Key)
			}
		}
		switch {
		case !ours:
			return concurrency.ErrSessionExpired
		case last != 0:
			err = l.gone(ctx, h, lastKey, reply.Header.Revision+1)
		case time.Since(asked) < h.session.ttl/2:
			return nil
		} // a client that was frozen since asks again: the answer may be older than its lease
		if err != nil {
			return err
		}
	}
}

// gone returns nil when the key has been deleted since the revision, or when
// the watch ended and the queue must be read again.
func (l *readWrite) gone(ctx context.Context, h *hold, key string, since int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := l.client.Watch(clientv3.WithRequireLeader(ctx), key, clientv3.WithRev(since), clientv3.WithFilterPut())
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.session.Done():
			return concurrency.ErrSessionExpired
		case reply, ok := <-events:
			switch {
			case !ok || reply.Err() != nil:
				_ = clients.Wait(ctx, retryPause)
				return ctx.Err()
			case len(reply.Events) > 0:
				return nil
			}
		}
	}
}
