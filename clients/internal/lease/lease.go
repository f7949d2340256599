// Package lease is a lock that is a record with an owner and an expiry (leases, Gray and
// Cheriton 1989), wherever that record is kept. What keeps it is a Medium; the waiting, the
// owners' names, and what becomes of a request that is not answered are the same for all.
package lease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// ErrClosed: the client is closed.
var ErrClosed = errors.New("the client is closed")

// Medium keeps one record a key, for the TTL that it was made with. Each method asks for one thing,
// and takes as long as its context lets it. Its errors are clients.ErrNotHeld where the medium said
// no, clients.ErrOpen where it may have done what it was asked for; after any other it has
// certainly not.
type Medium interface {
	// Take makes the owner's record if there is none that lasts. The token
	// rises with every record of the key; 0: the medium gives none.
	Take(ctx context.Context, key, owner string) (token int64, err error)
	// Renew lets the owner's record last for another TTL from now, if it still does.
	Renew(ctx context.Context, key, owner string, token int64) error
	// Give ends the owner's record, if it still lasts.
	Give(ctx context.Context, key, owner string, token int64) error
	// Held reports whether the owner's record lasts.
	Held(ctx context.Context, key, owner string, token int64) error
	// Close gives the connections up. Records run out by themselves.
	Close() error
	// String says what it is and where, for errors: "PostgreSQL at 10.88.0.2:5432".
	fmt.Stringer
}

// pause is the pause before a record that is taken is asked for again, give or take a half.
const pause = 10 * time.Millisecond

// New makes the lock of one client. An acquire waits for the answer to its last
// request for the grace after its context has ended, so that less is left open.
func New(m Medium, c clients.Config, grace time.Duration) clients.Lock {
	return &lock{medium: m, ttl: c.TTL, grace: grace, client: c.Client,
		jitter: mathrand.New(mathrand.NewPCG(c.Seed, uint64(c.Client)))}
}

type lock struct {
	medium Medium
	ttl    time.Duration
	grace  time.Duration
	client int
	jitter *mathrand.Rand
	closed atomic.Bool
}

// owner is the secret of a grant: nobody else knows it.
type owner string

// newOwner is random beyond any plan's seed: two incarnations of a client must never share a name.
func (l *lock) newOwner() owner {
	secret := make([]byte, 16)
	rand.Read(secret) // never fails
	return owner(fmt.Sprintf("%d-%s", l.client, hex.EncodeToString(secret)))
}

// over tells why nothing is to be asked any more.
func (l *lock) over(ctx context.Context) error {
	if l.closed.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

// Acquire asks until the record is free or ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g := clients.Grant{Key: key}
	own, err := l.newOwner(), l.over(ctx)
	busy := false
	for l.over(ctx) == nil {
		start := monotime.Now()
		var token int64
		if token, err = l.take(ctx, key, own); err == nil {
			if g.First == 0 {
				g.First = start
			}
			return clients.Grant{Key: key, Token: token, Attempt: start, First: g.First, Secret: own}, nil
		}
		switch {
		case errors.Is(err, clients.ErrNotHeld):
			busy = true
		case errors.Is(err, clients.ErrOpen):
			// It may have the record, under our name. What comes after could
			// not be told from it, so it gets another.
			own = l.newOwner()
			if g.First == 0 {
				g.First = start
			}
		case errors.Is(err, ErrClosed):
			return g, fmt.Errorf("acquire %q from %v: %w", key, l.medium, err)
		}
		// the loop looks at ctx
		_ = clients.Wait(ctx, pause/2+time.Duration(l.jitter.Int64N(int64(pause))))
	}
	return g, fmt.Errorf("acquire %q from %v: %w", key, l.medium, OutOfTime(ctx, g, busy, err))
}

// take asks once. What is granted so late that it may be over goes back.
func (l *lock) take(ctx context.Context, key string, own owner) (token int64, err error) {
	ctx, cancel := clients.WithGrace(ctx, l.grace)
	defer cancel()
	since := time.Now()
	token, err = l.medium.Take(ctx, key, string(own))
	if err == nil && time.Since(since) >= l.ttl {
		if err = l.medium.Give(ctx, key, string(own), token); err == nil {
			err = clients.ErrNotHeld
		}
	}
	return token, err
}

// OutOfTime is the error of an acquire that ends: ErrBusy if the answer was
// that, and nothing was left open (g.First).
func OutOfTime(ctx context.Context, g clients.Grant, busy bool, err error) error {
	switch {
	case g.First != 0:
		return fmt.Errorf("%w: %w", clients.ErrOpen, context.Cause(ctx))
	case busy && ctx.Err() != nil:
		return clients.ErrBusy
	}
	return err
}

// about asks for something about a grant of ours.
func (l *lock) about(ctx context.Context, what string, g clients.Grant,
	ask func(ctx context.Context, key, owner string, token int64) error) error {
	own, ok := g.Secret.(owner)
	if !ok {
		return fmt.Errorf("%s %q: the grant is not one of this lock's: %w", what, g.Key, clients.ErrNotHeld)
	}
	err := l.over(ctx) // then nothing is sent
	if err == nil {
		err = ask(ctx, g.Key, string(own), g.Token)
	}
	if err != nil {
		return fmt.Errorf("%s %q at %v: %w", what, g.Key, l.medium, err)
	}
	return nil
}

// Renew extends the lease by the TTL, if it has not expired. An answer that
// comes a TTL later renews nothing: what it tells of may be over.
func (l *lock) Renew(ctx context.Context, g clients.Grant) (clients.Grant, error) {
	start, since := monotime.Now(), time.Now()
	err := l.about(ctx, "renew", g, l.medium.Renew)
	if err == nil && time.Since(since) >= l.ttl {
		err = fmt.Errorf("renew %q at %v: the answer came when the new lease may have been over", g.Key, l.medium)
	}
	if err != nil {
		return g, err
	}
	g.Attempt = start
	return g, nil
}

// Release ends the lease now.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	return l.about(ctx, "release", g, l.medium.Give)
}

// Held asks the medium.
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	return l.about(ctx, "ask who holds", g, l.medium.Held)
}

// Close closes the connections. Leases run out by themselves.
func (l *lock) Close(context.Context) error {
	l.closed.Store(true)
	if err := l.medium.Close(); err != nil {
		return fmt.Errorf("close the connections to %v: %w", l.medium, err)
	}
	return nil
}
