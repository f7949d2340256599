// The mutex of etcd's own Go library (go.etcd.io/etcd/client/v3/concurrency) on
// three members, as an adapter for lockchaos.
//
//	(cd examples/go && go build -o ../../bin/golocks/ ./...)
//	lockchaos adapter test bin/golocks/etcd --service etcd
//	lockchaos run quick --lock-cmd bin/golocks/etcd --service etcd
//
// docs/locks/etcd-lease.md tells what was found.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"

	"example.com/golocks/protocol"
)

// grace is how long after its context the library may take to delete its key.
const grace = 250 * time.Millisecond

type lock struct {
	client *clientv3.Client
	ttl    time.Duration // whole seconds
	prefix string

	mu      sync.Mutex
	session *concurrency.Session // the newest
	held    map[string]hold
}

type hold struct {
	mutex   *concurrency.Mutex
	session *concurrency.Session
}

func open(h protocol.Hello) (protocol.Lock, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: h.Nodes, DialOptions: []grpc.DialOption{grpc.WithNoProxy()}})
	if err != nil {
		return nil, err
	}
	return &lock{client: c, ttl: (h.TTL + time.Second - 1).Truncate(time.Second), prefix: "lockchaos/",
		held: map[string]hold{}}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:        "etcd concurrency.Mutex " + protocol.Version("go.etcd.io/etcd/client/v3"),
		Validity:    "session",
		Token:       "fencing",        // the create revision of the lock's key
		Confirms:    []string{"held"}, // Unlock answers ok whether its key was there or not
		Can:         []string{"cancel"},
		Sessions:    true, // each is a lease
		LostGraceMS: max(2*time.Second, l.ttl/3+time.Second).Milliseconds(),
	}
}

// Acquire waits in the queue, under the session that it tells, granted or not.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	s, err := l.open(ctx)
	if err != nil {
		return protocol.Grant{}, err
	}
	g, err := l.acquire(ctx, key, s)
	g.Session = protocol.Session(int64(s.Lease()))
	return g, err
}

func (l *lock) acquire(ctx context.Context, key string, s *concurrency.Session) (protocol.Grant, error) {
	m := concurrency.NewMutex(s, l.prefix+key)
	began := protocol.Now()
	// A Lock that has failed deletes its key under the client's context, and may outlive this one.
	err := protocol.Within(ctx, grace, func() error { return m.Lock(ctx) })
	switch {
	case errors.Is(err, protocol.Left):
		l.giveUp(s)
		return protocol.Grant{First: began}, err
	case err != nil && m.Key() == "\x00": // Lock has deleted its key, and forgotten its name
		return protocol.Grant{}, protocol.Busy
	case err != nil:
		l.giveUp(s) // and with it whatever has been left in the queue
		return protocol.Grant{First: began}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if over(s) {
		return protocol.Grant{First: began}, errors.New("the session ended with the grant")
	}
	l.held[key] = hold{m, s}
	return protocol.Grant{Token: revision(m), Attempt: began, First: began}, nil
}

// revision is the create revision of the mutex's key, which IsOwner would compare in a transaction.
// The revision in Header is that of the last response, and no token: it may be of much later.
func revision(m *concurrency.Mutex) int64 {
	owner := m.IsOwner() // its methods take a pointer
	return owner.GetCompare().GetCreateRevision()
}

// open returns the session, a new one if the last has ended.
func (l *lock) open(ctx context.Context) (*concurrency.Session, error) {
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	if s != nil && !over(s) {
		return s, nil
	}
	// NewSession would wait for its lease for as long as the client lives.
	lease, err := l.client.Grant(ctx, int64(l.ttl/time.Second))
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	if s, err = concurrency.NewSession(l.client, concurrency.WithLease(lease.ID),
		concurrency.WithTTL(int(lease.TTL))); err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	l.mu.Lock()
	l.session = s
	l.mu.Unlock()
	go func() {
		<-s.Done()
		l.lose(s)
	}()
	return s, nil
}

// lose tells of every grant that went with the session.
func (l *lock) lose(s *concurrency.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, h := range l.held {
		if h.session == s {
			delete(l.held, key)
			protocol.Lost(key, "the session is over")
		}
	}
}

// giveUp ends a session after a request that was not answered. What it left
// goes when the lease is revoked, or else when it expires.
func (l *lock) giveUp(s *concurrency.Session) {
	go func() { _ = s.Close() }() // as good as it goes: nobody keeps the lease alive any more
	<-s.Done()
}

func over(s *concurrency.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// Held reads the key, as of now (a linearizable read). A transaction with
// IsOwner alone would not do: one that only compares is answered by the member
// that is asked, from what it has heard so far.
func (l *lock) Held(ctx context.Context, key string) error {
	l.mu.Lock()
	h, ok := l.held[key]
	l.mu.Unlock()
	if !ok {
		return protocol.NotHeld
	}
	r, err := l.client.Get(ctx, h.mutex.Key())
	if err == nil && (len(r.Kvs) == 0 || r.Kvs[0].CreateRevision != revision(h.mutex)) {
		return protocol.NotHeld
	}
	return err
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	h, ok := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if !ok {
		return protocol.NotHeld
	}
	err := h.mutex.Unlock(ctx)
	if err != nil {
		l.giveUp(h.session)
	}
	return err
}

// Close revokes the lease, and with it every key.
func (l *lock) Close(ctx context.Context) error {
	var errs []error
	l.mu.Lock()
	s := l.session
	clear(l.held) // what is given up is not lost
	l.mu.Unlock()
	if s != nil && !over(s) {
		s.Orphan()
		_, err := l.client.Revoke(ctx, s.Lease())
		errs = append(errs, err)
	}
	return errors.Join(append(errs, l.client.Close())...)
}

func main() { protocol.Main(open) }
