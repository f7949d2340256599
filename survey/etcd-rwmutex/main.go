// The readers-writer lock of etcd's own Go library
// (go.etcd.io/etcd/client/v3/experimental/recipes), as an adapter for lockchaos.
//
// Its calls take no context. A wait that is to be given up needs a session for
// it alone, and the client ends that.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"google.golang.org/grpc"

	"example.com/golocks/protocol"
)

type lock struct {
	client *clientv3.Client
	ttl    time.Duration // whole seconds

	mu   sync.Mutex
	held map[string]*hold
}

type hold struct {
	session *concurrency.Session
	unlock  func() error
}

func open(h protocol.Hello) (protocol.Lock, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: h.Nodes, DialOptions: []grpc.DialOption{grpc.WithNoProxy()}})
	ttl := (h.TTL + time.Second - 1).Truncate(time.Second)
	return &lock{client: c, ttl: ttl, held: map[string]*hold{}}, err
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:        "etcd recipe.RWMutex " + protocol.Version("go.etcd.io/etcd/client/v3"),
		Validity:    "session",
		Can:         []string{"cancel"},
		Sessions:    true,
		ReadWrite:   true,
		LostGraceMS: max(2*time.Second, l.ttl/3+time.Second).Milliseconds(),
		// Unlock answers ok whether its key was there or not. The key, and with
		// it a token, stays in the library.
	}
}

func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	s, err := l.session(ctx)
	if err != nil {
		return protocol.Grant{}, err
	}
	m := recipe.NewRWMutex(s, "lockchaos/"+key)
	lock, h := m.Lock, &hold{s, m.Unlock}
	if protocol.Reading(ctx) {
		lock, h = m.RLock, &hold{s, m.RUnlock}
	}
	began := protocol.Now() // the key goes into the queue at once
	g := protocol.Grant{Attempt: began, First: began, Session: protocol.Session(int64(s.Lease()))}
	locked := make(chan error, 1)
	go func() { locked <- lock() }()
	select {
	case err = <-locked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		go s.Close() // the key may be in the queue, and goes with its session
		return g, err
	}
	l.mu.Lock()
	l.held[key] = h
	l.mu.Unlock()
	go l.watch(key, h)
	return g, nil
}

// session opens one. NewSession alone would wait for its lease for as long as the client lives.
func (l *lock) session(ctx context.Context) (*concurrency.Session, error) {
	lease, err := l.client.Grant(ctx, int64(l.ttl/time.Second))
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return concurrency.NewSession(l.client, concurrency.WithLease(lease.ID), concurrency.WithTTL(int(lease.TTL)))
}

// watch tells of a hold whose session is over.
func (l *lock) watch(key string, h *hold) {
	<-h.session.Done()
	time.Sleep(10 * time.Millisecond) // never before the grant itself is told
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] == h {
		delete(l.held, key)
		protocol.Lost(key, "the session is over")
	}
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	h := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if h == nil {
		return protocol.NotHeld
	}
	return protocol.Within(ctx, 0, func() error { return errors.Join(h.unlock(), h.session.Close()) })
}

func (l *lock) Close(context.Context) error { return l.client.Close() }

func main() { protocol.Main(open) }
