package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/lockchaos/lockchaos/clients"
)

// session is a lease with what is held under it.
type session struct {
	*concurrency.Session
	ttl time.Duration // as granted

	mu    sync.Mutex
	over  bool // ended, or given up
	holds map[*hold]bool
}

// hold is the secret of a grant.
type hold struct {
	lock     *lock
	session  *session
	mutex    *concurrency.Mutex    // of etcd-lease only
	election *concurrency.Election // of etcd-election only
	key      string                // of the lock
	path     string                // of our key in the queue
	revision int64                 // that created it
	token    int64                 // of the grant: the revision, 0 for a semaphore
}

// openSession returns the client's session, a new one if there is none. The lease is
// granted within ctx; NewSession itself would wait for it on the client's own context.
func (l *lock) openSession(ctx context.Context) (*session, error) {
	if s := l.current(); s != nil {
		return s, nil
	}
	return l.newSession(ctx)
}

// newSession opens a session, which is the client's present one from then on.
func (l *lock) newSession(ctx context.Context) (*session, error) {
	lease, err := l.client.Grant(ctx, l.seconds)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	l.opened(clients.Session{ID: int64(lease.ID)})
	kept, err := concurrency.NewSession(l.client, concurrency.WithLease(lease.ID), concurrency.WithTTL(int(lease.TTL)))
	if err == nil && kept == nil {
		// the library returns neither when the client is closed
		err = errors.New("nobody keeps its lease alive")
	}
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	s := &session{Session: kept, ttl: time.Duration(lease.TTL) * time.Second, holds: map[*hold]bool{}}
	l.mu.Lock()
	l.session = s
	l.sessions[s] = true
	l.mu.Unlock()
	l.background.Go(func() {
		<-s.Done()
		l.mu.Lock()
		delete(l.sessions, s)
		l.mu.Unlock()
		l.tell(s.end(), "the session ended: its lease expired, or could not be kept alive")
	})
	return s, nil
}

// current returns the session if there is one that has not ended.
func (l *lock) current() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil || l.session.ended() {
		return nil
	}
	return l.session
}

// alive returns all sessions that have not ended.
func (l *lock) alive() []*session {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*session
	for s := range l.sessions {
		if !s.ended() {
			all = append(all, s)
		}
	}
	return all
}

func (s *session) ended() bool {
	select {
	case <-s.Done():
		return true
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.over
	}
}

// add takes note of a hold, unless the session is over.
func (s *session) add(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.holds[h] = true
	}
	return !s.over
}

func (s *session) remove(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, h)
}

// forget leaves a session to its expiry.
func (l *lock) forget(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, s)
}

// end marks the session as over and returns the holds that went with it, the
// first time, ordered by key.
func (s *session) end() []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	lost := slices.SortedFunc(maps.Keys(s.holds), func(a, b *hold) int { return strings.Compare(a.key, b.key) })
	clear(s.holds)
	return lost
}

// giveUp ends a session after an open request. Its keys go when the lease is
// revoked, or else when it expires.
func (l *lock) giveUp(s *session) {
	l.tell(s.end(), "the session was given up after a request that was not answered")
	s.Orphan()
	l.background.Go(func() {
		_ = l.revoke(l.client.Ctx(), s) // as good as it goes: nobody keeps it alive any more
	})
}

func (l *lock) revoke(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, s.ttl) // after that it has expired
	defer cancel()
	_, err := l.client.Revoke(ctx, s.Lease())
	return err
}

// tell sends lost-events.
func (l *lock) tell(lost []*hold, why string) {
	for _, h := range lost {
		clients.Tell(l.lost, clients.Loss{Key: h.key, Token: h.token, Why: why}, l.client.Ctx().Done(), l.background.Go)
	}
}

// stampKey carries the address of stamps in a context. The library does not tell.
type stampKey struct{}

// stamps are of the transaction that puts the waiter into the queue: when it
// was first sent, and when its answer came; 0: not yet.
type stamps struct{ sent, answered atomic.Int64 }

const txnMethod = "/etcdserverpb.KV/Txn"
