package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// renewable is a lock whose application renews its grants.
type renewable struct {
	*lock
	late bool // it never looks at its clock: see RenewLate
}

func openRenewable(c clients.Config, how Algorithm, late bool) (clients.Lock, error) {
	l, err := open(c, how)
	if err != nil {
		return nil, err
	}
	return renewable{l, late}, nil
}

// OpenRenewable opens an algorithm's lock as Open does; its application can renew a grant.
func OpenRenewable(c clients.Config, how Algorithm) (clients.Lock, error) {
	return openRenewable(c, how, false)
}

var errLate = errors.New("the answer came when the new lease may have been over")

// Renew sets the expiry of the key anew if it still has the grant's value. The new lease runs
// from the moment at which the renewal is sent, so a yes that arrives a TTL later renews nothing.
func (l renewable) Renew(ctx context.Context, g clients.Grant) (clients.Grant, error) {
	s, _ := g.Secret.(secret)
	start, since := monotime.Now(), time.Now()
	ours, err := l.extend(ctx, l.request(g.Key, s.value))
	switch {
	case err == nil && !ours:
		err = clients.ErrNotHeld
	case err == nil && !l.late && time.Since(since) >= l.ttl:
		err = errLate
	}
	if err != nil {
		return g, fmt.Errorf("renew %q at redis %s: %w", g.Key, l.addr, err)
	}
	g.Attempt, g.Secret = start, secret{s.value, since, s.set}
	return g, nil
}

func (l *lock) extend(ctx context.Context, r Request) (ours bool, err error) {
	defer l.cutter.Watch(ctx)()
	return l.how.Extend(ctx, r)
}
