// The election of etcd's own Go library (go.etcd.io/etcd/client/v3/concurrency),
// as an adapter for lockchaos: to acquire is to campaign, to release is to resign.
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

// grace is how long after its context the library may take to resign.
const grace = 250 * time.Millisecond

type lock struct {
	client *clientv3.Client
	ttl    time.Duration // whole seconds
	name   string

	mu      sync.Mutex
	session *concurrency.Session // the newest
	held    map[string]hold
}

type hold struct {
	election *concurrency.Election
	session  *concurrency.Session
}

func open(h protocol.Hello) (protocol.Lock, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: h.Nodes, DialOptions: []grpc.DialOption{grpc.WithNoProxy()}})
	if err != nil {
		return nil, err
	}
	ttl := (h.TTL + time.Second - 1).Truncate(time.Second)
	return &lock{client: c, ttl: ttl, name: h.Client, held: map[string]hold{}}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "etcd concurrency.Election " + protocol.Version("go.etcd.io/etcd/client/v3"),
		Validity: "session",
		Token:    "fencing", // Rev: the create revision of the leader's key
		// Leader asks etcd; Resign answers ok whether its key was there or not
		Confirms: []string{"held"},
		Can:      []string{"cancel"},
		Sessions: true, // each is a lease
		// Done closes when the lease "expires": the library keeps that time
		// itself, and looks every half second.
		LostGraceMS: max(2*time.Second, l.ttl/3+time.Second).Milliseconds(),
		Notices:     "alone",
	}
}

// Acquire campaigns under the session that it tells, elected or not.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	s, err := l.open(ctx)
	if err != nil {
		return protocol.Grant{}, err
	}
	g, err := l.campaign(ctx, key, s)
	g.Session = protocol.Session(int64(s.Lease()))
	return g, err
}

func (l *lock) campaign(ctx context.Context, key string, s *concurrency.Session) (protocol.Grant, error) {
	e := concurrency.NewElection(s, "lockchaos/"+key)
	began := protocol.Now()
	// A Campaign that has failed resigns under the client's context, and may outlive this one.
	err := protocol.Within(ctx, grace, func() error { return e.Campaign(ctx, l.name) })
	switch {
	case errors.Is(err, protocol.Left):
		l.giveUp(s)
		return protocol.Grant{First: began}, err
	case err != nil && e.Header() != nil: // etcd has answered that Campaign resigned
		return protocol.Grant{}, protocol.Busy
	case err != nil:
		l.giveUp(s) // and with it whatever has been left in the queue
		return protocol.Grant{First: began}, err
	}
	l.mu.Lock()
	l.held[key] = hold{e, s}
	l.mu.Unlock()
	go l.watch(key, hold{e, s})
	return protocol.Grant{Token: e.Rev(), Attempt: began, First: began}, nil
}

// watch is what an application does that leads: it leads until the session is done.
func (l *lock) watch(key string, h hold) {
	<-h.session.Done()
	time.Sleep(10 * time.Millisecond) // never before the grant itself is told
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] == h {
		delete(l.held, key)
		protocol.Lost(key, "the session is over")
	}
}

// open returns the session, a new one if the last has ended.
func (l *lock) open(ctx context.Context) (*concurrency.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil && l.session.Ctx().Err() == nil {
		return l.session, nil
	}
	// NewSession would wait for its lease for as long as the client lives.
	lease, err := l.client.Grant(ctx, int64(l.ttl/time.Second))
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	ttl := concurrency.WithTTL(int(lease.TTL))
	l.session, err = concurrency.NewSession(l.client, concurrency.WithLease(lease.ID), ttl)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return l.session, nil
}

// giveUp ends a session after a request that was not answered. What it left
// goes when the lease is revoked, or else when it expires.
func (l *lock) giveUp(s *concurrency.Session) {
	go func() { _ = s.Close() }() // as good as it goes: nobody keeps the lease alive any more
	<-s.Done()
}

// Held asks etcd who leads.
func (l *lock) Held(ctx context.Context, key string) error {
	l.mu.Lock()
	h, ok := l.held[key]
	l.mu.Unlock()
	if !ok {
		return protocol.NotHeld
	}
	leader, err := h.election.Leader(ctx)
	switch {
	case errors.Is(err, concurrency.ErrElectionNoLeader):
		return protocol.NotHeld
	case err != nil:
		return err
	case string(leader.Kvs[0].Key) != h.election.Key() || leader.Kvs[0].CreateRevision != h.election.Rev():
		return protocol.NotHeld
	}
	return nil
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	h, ok := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if !ok {
		return protocol.NotHeld
	}
	err := h.election.Resign(ctx)
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
	if s != nil && s.Ctx().Err() == nil {
		s.Orphan()
		_, err := l.client.Revoke(ctx, s.Lease())
		errs = append(errs, err)
	}
	return errors.Join(append(errs, l.client.Close())...)
}

func main() { protocol.Main(open) }
