// The mutex of etcd's Go library as it was in v3.4.13, as an adapter for
// lockchaos (docs/protocol.md): a session, a mutex, no more.
//
//	go build -o ../../../bin/etcd34 .
//	lockchaos run ../etcd-waiter.yaml --lock-cmd ../../../bin/etcd34 --service etcd
package main

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"

	"example.com/golocks/protocol"
)

// lock is one client: a session that is opened anew when it has ended, and the
// mutexes that it holds.
type lock struct {
	client  *clientv3.Client
	ttl     int
	session *concurrency.Session

	mu   sync.Mutex
	held map[string]*concurrency.Mutex
}

func open(h protocol.Hello) (protocol.Lock, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: h.Nodes, DialTimeout: 5 * time.Second})
	return &lock{client: c, ttl: int(h.TTL / time.Second), held: map[string]*concurrency.Mutex{}}, err
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{Name: "etcd concurrency.Mutex v3.4.13", Validity: "session", LostGraceMS: 3000}
}

// open returns the session, a new one if the last has ended.
func (l *lock) open() (*concurrency.Session, error) {
	if l.session != nil {
		select {
		case <-l.session.Done():
		default:
			return l.session, nil
		}
	}
	// The library bounds the grant by the session's context, which must live on.
	s, err := concurrency.NewSession(l.client, concurrency.WithTTL(l.ttl))
	if err != nil {
		return nil, err
	}
	l.session = s
	go func() {
		<-s.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		for key := range l.held {
			protocol.Lost(key, "the session is done")
		}
		l.held = map[string]*concurrency.Mutex{}
	}()
	return s, nil
}

func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	s, err := l.open()
	if err != nil {
		return protocol.Grant{}, err
	}
	m := concurrency.NewMutex(s, "lockchaos/"+key)
	if err := m.Lock(ctx); err != nil {
		return protocol.Grant{}, err // it may have left its key in the queue
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = m
	return protocol.Grant{}, nil
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	m := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if m == nil {
		return protocol.NotHeld
	}
	return m.Unlock(ctx)
}

func (l *lock) Close(context.Context) error { return l.client.Close() }

func main() { protocol.Main(open) }
