package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Election is the elector etcd-election: a component of which one replica leads, by the Election of
// etcd's own library. To acquire is to campaign, to release is to resign, and a term is a grant.
//
// The library's Campaign does not look whether its own key is still there when all keys before it
// have gone, as its Mutex does since 2020. A candidate whose lease ended while it waited would lead
// beside another one. So this one looks.
var Election = electionKind("etcd-election",
	"a component that leads by the Election of etcd's library, and looks for its own key when it is elected", election{})

// ElectionStays is the control broken-etcd-election-stays: a leader that is stopped in order keeps
// its lease at the service, and nobody leads until that has expired.
var ElectionStays = func() clients.Kind {
	k := electionKind("broken-etcd-election-stays",
		"etcd-election whose leader does not give its lease back when it is stopped in order", election{stays: true})
	k.Control = checker.ReleasedOnStop
	return k
}()

func electionKind(name, about string, like election) clients.Kind {
	claims := Lease.Claims
	claims.Fair = false // the library does not tell when a candidate entered the queue
	return clients.Kind{Name: name, About: about, Service: "etcd", Claims: claims, LostGrace: lostGrace, Renews: true,
		// the lease is revoked, and the watch of the next candidate tells it so
		StopHandover: func(ttl time.Duration) time.Duration { return ttl / 2 },
		Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
			l, err := open(c)
			if err != nil {
				return nil, err
			}
			return &election{l, like.stays}, nil
		}}
}

// election is a candidate, or the leader.
type election struct {
	*lock
	stays bool // its lease stays behind
}

// electionPrefix keeps elections apart from locks.
const electionPrefix = prefix + "election/"

// Acquire campaigns until ctx is done.
func (l *election) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, l.campaign)
}

func (l *election) campaign(ctx context.Context, key string) (h *hold, in entry, err error) {
	s, err := l.openSession(ctx)
	if err != nil {
		return nil, in, err
	}
	e := concurrency.NewElection(s.Session, electionPrefix+url.PathEscape(key))
	in.asked = monotime.Now()
	err, done := l.bounded(ctx, func() error { return e.Campaign(ctx, "") })
	switch {
	case !done:
		l.giveUp(s)
		return nil, in, fmt.Errorf("%w: %w", clients.ErrOpen, err)
	case err != nil && e.Header() != nil: // it has resigned, and that was answered
		return nil, in, clients.ErrBusy
	case err != nil:
		l.giveUp(s)
		return nil, in, fmt.Errorf("%w: %w", clients.ErrOpen, err)
	}
	h = &hold{lock: l.lock, session: s, election: e, key: key, path: e.Key(), revision: e.Rev(), token: e.Rev()}
	if there, err := l.createRevision(ctx, h.path); err != nil || there != h.revision || !s.add(h) {
		l.giveUp(s)
		return nil, in, fmt.Errorf("the session ended with the election: %w", errors.Join(clients.ErrOpen, err))
	}
	return h, in, nil
}

// Release resigns. The library answers ok even if the key was not there.
func (l *election) Release(ctx context.Context, g clients.Grant) error {
	return l.release(ctx, g, func(h *hold) error { return h.election.Resign(ctx) })
}

// Close gives the lease back, and with it the leadership.
func (l *election) Close(ctx context.Context) error {
	if l.stays {
		for _, s := range l.alive() {
			s.end()
			s.Orphan() // nobody keeps it alive any more, and nobody revokes it
			l.forget(s)
		}
	}
	return l.lock.Close(ctx)
}
