package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
)

func TestMain(m *testing.M) {
	backendstest.Main(m, etcd.Lease, etcd.LockAPI, etcd.Semaphore, etcd.ReadWrite, etcd.Election, etcd.TokenLease)
}

func TestEtcdConformance(t *testing.T) {
	t.Parallel()
	backendstest.Conform(t, "etcd", time.Second, clienttest.Run, etcd.Lease, etcd.LockAPI, etcd.Semaphore, etcd.ReadWrite,
		etcd.Election)
	backendstest.Conform(t, "etcd", time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
		clienttest.RunControl(t, kind, s, []string{"grants and", "ten clients"},
			[]string{clienttest.KilledHolder, clienttest.FrozenHolder})
	}, etcd.TokenLease)
}

type etcdBench struct {
	*testing.T
	service *backends.Service
	client  *clientv3.Client
}

func newEtcdBench(t *testing.T) etcdBench {
	s := backendstest.Start(t, "etcd")
	c, err := clientv3.New(clientv3.Config{Endpoints: s.Addrs(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return etcdBench{t, s, c}
}

// etcdTTL is of sessions that a busy machine keeps alive.
const etcdTTL = 5 * time.Second

func (b etcdBench) open() clients.Lock {
	b.Helper()
	l, err := etcd.Lease.Open(backendstest.Limit(b), clients.Config{Nodes: b.service.Addrs(), TTL: etcdTTL})
	if err != nil {
		b.Fatal(err)
	}
	// some tests have closed it, or stopped what it would need
	b.Cleanup(func() { _ = l.Close(backendstest.Limit(b)) })
	return l
}

func (b etcdBench) acquire(l clients.Lock, key string) clients.Grant {
	b.Helper()
	g, err := l.Acquire(backendstest.Limit(b), key)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// queue returns the create revisions of the keys in the queue of a lock, in rising order.
func (b etcdBench) queue(key string) []int64 {
	b.Helper()
	reply, err := b.client.Get(backendstest.Limit(b), "lockchaos/"+key+"/", clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		b.Fatal(err)
	}
	var revisions []int64
	for _, kv := range reply.Kvs {
		revisions = append(revisions, kv.CreateRevision)
	}
	return revisions
}

// await waits until the queue has n keys.
func (b etcdBench) await(key string, n int) []int64 {
	b.Helper()
	for ctx := backendstest.Limit(b); ; {
		q := b.queue(key)
		if len(q) == n {
			return q
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			b.Fatalf("the queue of %s has %d keys, not %d", key, len(q), n)
		}
	}
}

// TestEtcdToken: the token is the create revision of the lock's own key, also
// when the revision rose while it waited.
func TestEtcdToken(t *testing.T) {
	t.Parallel()
	b := newEtcdBench(t)
	first, second := b.open(), b.open()
	g := b.acquire(first, "k")
	if q := b.queue("k"); len(q) != 1 || q[0] != g.Token {
		t.Fatalf("token %d, the queue has %v", g.Token, q)
	}
	granted := make(chan clients.Grant, 1)
	go func() {
		g, err := second.Acquire(backendstest.Limit(t), "k")
		if err != nil {
			t.Error(err)
		}
		granted <- g
	}()
	waiting := b.await("k", 2)
	for range 5 { // much else happens in etcd
		if _, err := b.client.Put(backendstest.Limit(t), "else", "where"); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Release(backendstest.Limit(t), g); err != nil {
		t.Fatal(err)
	}
	next := <-granted
	if next.Token != waiting[1] || next.Token <= g.Token || next.Enqueued <= next.Attempt {
		t.Errorf("token %d after %d, the queue had %v; attempt %d, enqueued %d", next.Token, g.Token, waiting, next.Attempt, next.Enqueued)
	}
	if ttl := second.(clients.Leaser).GrantedTTL(); ttl != etcdTTL {
		t.Errorf("granted TTL %v", time.Duration(ttl))
	}
}

// TestEtcdQueueIsLeft: a waiter that gives up leaves the queue at once, not when its session ends.
func TestEtcdQueueIsLeft(t *testing.T) {
	t.Parallel()
	b := newEtcdBench(t)
	holder := b.open()
	b.acquire(holder, "k")
	decided.Run(t, func() {
		waiter := b.open()
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := waiter.Acquire(ctx, "k")
			result <- err
		}()
		b.await("k", 2)
		cancel()
		err := <-result
		if !clients.Definite(err) {
			// Its key was there, and the answer that says so on its way: what
			// it left goes with its session.
			if err := waiter.Close(backendstest.Limit(t)); err != nil {
				t.Fatal(err)
			}
			b.await("k", 1)
			decided.Lacks("a definite answer: %v", err)
		}
		if !errors.Is(err, clients.ErrBusy) {
			t.Errorf("gave up waiting: %v", err)
		}
		if q := b.queue("k"); len(q) != 1 {
			t.Errorf("ErrBusy, but the queue has %v", q)
		}
	})
}

// TestEtcdFrozenWhileWaiting: the library would wait for ever to delete its
// key. The call returns, says that the outcome is open, and what it left in the
// queue goes with the session that was given up.
func TestEtcdFrozenWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newEtcdBench(t)
	stop, resume := backendstest.Freeze(b.service.Nodes...)
	holder, waiter := b.open(), b.open()
	other := b.acquire(waiter, "other")
	b.acquire(holder, "k")
	ctx, cancel := context.WithCancel(t.Context())
	type answer struct {
		g   clients.Grant
		err error
	}
	result := make(chan answer, 1)
	go func() {
		g, err := waiter.Acquire(ctx, "k")
		result <- answer{g, err}
	}()
	b.await("k", 2)
	stop(t)
	cancelled := time.Now()
	cancel()
	a := <-result
	if a.err == nil || clients.Definite(a.err) || a.g.First == 0 {
		t.Errorf("frozen while waiting: %+v, %v", a.g, a.err)
	}
	if took := time.Since(cancelled); took > time.Minute {
		t.Errorf("returned %v after its context", took)
	}
	// The session is given up, with everything that it held: said, and by the lock's own account.
	select {
	case loss := <-waiter.(clients.Watcher).Lost():
		if loss.Key != "other" || loss.Why == "" {
			t.Errorf("%+v", loss)
		}
	case <-backendstest.Limit(t).Done():
		t.Error("nobody told of the hold that went with the session")
	}
	if err := waiter.(clients.Holder).Held(backendstest.Limit(t), other); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("held under a session that was given up: %v", err)
	}
	resume(t)
	b.await("other", 0)
	// The waiter's key goes, the holder's may: it could not keep its lease alive either.
	for ctx := backendstest.Limit(t); len(b.queue("k")) > 1; {
		if ctx.Err() != nil {
			t.Fatalf("the queue still has %v", b.queue("k"))
		}
	}
	b.acquire(waiter, "other") // and the client goes on
}

// TestEtcdKeysAreApart: the library takes what lies under a lock's prefix for its waiters.
func TestEtcdKeysAreApart(t *testing.T) {
	t.Parallel()
	b := newEtcdBench(t)
	one, two := b.open(), b.open()
	g := b.acquire(one, "a/b")
	if _, err := two.Acquire(backendstest.Limit(t), "a"); err != nil {
		t.Errorf("a waits for a/b: %v", err)
	}
	if err := one.(clients.Holder).Held(backendstest.Limit(t), g); err != nil {
		t.Error(err)
	}
}

// TestEtcdCloseFrees: a closed client's lease is revoked, and its keys are gone when Close returns.
func TestEtcdCloseFrees(t *testing.T) {
	t.Parallel()
	b := newEtcdBench(t)
	l := b.open()
	b.acquire(l, "k")
	b.acquire(l, "l")
	if err := l.Close(backendstest.Limit(t)); err != nil {
		t.Fatal(err)
	}
	if k, l := b.queue("k"), b.queue("l"); len(k)+len(l) != 0 {
		t.Errorf("left: %v, %v", k, l)
	}
	leases, err := b.client.Leases(backendstest.Limit(t))
	if err != nil || len(leases.Leases) != 0 {
		t.Errorf("leases left: %+v, %v", leases, err)
	}
	select {
	case loss := <-l.(clients.Watcher).Lost():
		t.Errorf("what a client gives up itself is not lost: %+v", loss)
	default:
	}
}

func TestEtcdSessionIsEnded(t *testing.T) {
	t.Parallel()
	b := newEtcdBench(t)
	backendstest.LosesSession(t, etcd.Lease, b.service, "ended", "etcd revoked lease ")
}
