package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/monotime"
)

// Lease is the lock pg-lease.
var Lease = clients.Kind{
	Name:    "pg-lease",
	About:   "a row with an owner, an expiry by the server's clock and a fencing number that rises with every grant; renewed by its owner",
	Service: "postgres",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "fencing", Confirms: []string{"renew", "release", "held"}, Permits: 1},
	Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		p, err := newPool(c, leaseTable)
		if err != nil {
			return nil, err
		}
		p.warm(ctx)
		return &lease{pool: p, client: c.Client, jitter: mathrand.New(mathrand.NewPCG(c.Seed, uint64(c.Client)))}, nil
	},
}

// The statements of the lease. clock_timestamp() is the time at which it is evaluated, not that of the transaction's start: a statement that waited for
// the row must not grant with an old time. The row stays when the lease is given back, so that the fence never falls.
const (
	leaseTable = `CREATE TABLE IF NOT EXISTS lockchaos_lease
		(key text PRIMARY KEY, owner text NOT NULL, expires timestamptz NOT NULL, fence bigint NOT NULL)`
	leaseTake = `INSERT INTO lockchaos_lease AS l VALUES ($1, $2, clock_timestamp() + $3 * interval '1 microsecond', 1)
		ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires = clock_timestamp() + $3 * interval '1 microsecond', fence = l.fence + 1
		WHERE l.expires <= clock_timestamp() RETURNING fence`
	leaseRenew = `UPDATE lockchaos_lease SET expires = clock_timestamp() + $4 * interval '1 microsecond'
		WHERE key = $1 AND owner = $2 AND fence = $3 AND expires > clock_timestamp() RETURNING fence`
	leaseGive = `UPDATE lockchaos_lease SET expires = '-infinity'
		WHERE key = $1 AND owner = $2 AND fence = $3 AND expires > clock_timestamp() RETURNING fence`
	leaseHeld = `SELECT fence FROM lockchaos_lease WHERE key = $1 AND owner = $2 AND fence = $3 AND expires > clock_timestamp()`
)

// leasePause is the pause before a lease that is taken is asked for again, give or take a half.
const leasePause = 10 * time.Millisecond

type lease struct {
	*pool
	client int
	jitter *mathrand.Rand
}

// owner is the secret of a grant: nobody else knows it.
type owner string

// Acquire asks until the lease is free or ctx is done.
func (l *lease) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g := clients.Grant{Key: key}
	own, err := l.newOwner(), ctx.Err()
	busy := false
	for ctx.Err() == nil {
		start, since := monotime.Now(), time.Now()
		var token int64
		token, err = l.ask(ctx, leaseTake, key, string(own), l.ttl.Microseconds())
		if err == nil && time.Since(since) >= l.ttl {
			// Granted so late that the lease may be over: it goes back.
			if _, err = l.ask(ctx, leaseGive, key, string(own), token); err == nil {
				err = clients.ErrNotHeld
			}
		}
		if err == nil {
			first := g.First
			if first == 0 {
				first = start
			}
			return clients.Grant{Key: key, Token: token, Attempt: start, First: first, Secret: own}, nil
		}
		switch {
		case errors.Is(err, clients.ErrNotHeld):
			busy = true
		case errors.Is(err, errOpen):
			// It may have the lease, under our name. What comes after could not be told from it, so it gets another.
			own = l.newOwner()
			if g.First == 0 {
				g.First = start
			}
		}
		if errors.Is(err, errClosed) {
			return g, fmt.Errorf("acquire %q from PostgreSQL at %s: %w", key, l.at(), err)
		}
		_ = clients.Wait(ctx, leasePause/2+time.Duration(l.jitter.Int64N(int64(leasePause)))) // the loop looks at ctx
	}
	return g, fmt.Errorf("acquire %q from PostgreSQL at %s: %w", key, l.at(), outOfTime(ctx, g, busy, err))
}

func (l *lease) newOwner() owner {
	secret := make([]byte, 16)
	rand.Read(secret) // never fails
	return owner(fmt.Sprintf("%d-%s", l.client, hex.EncodeToString(secret)))
}

// outOfTime is the error of an acquire that ends: ErrBusy if the server said so and nothing was left open.
func outOfTime(ctx context.Context, g clients.Grant, busy bool, err error) error {
	switch {
	case g.First != 0:
		return fmt.Errorf("%w: %w", errOpen, context.Cause(ctx))
	case busy && ctx.Err() != nil:
		return clients.ErrBusy
	}
	return err
}

// ask runs a statement that answers with the fence of the row it was about. ErrNotHeld: there was no such row.
func (l *lease) ask(ctx context.Context, statement string, args ...any) (fence int64, err error) {
	c, err := l.take(ctx)
	if err != nil {
		return 0, err
	}
	defer l.give(c)
	late, cancel := outlive(ctx)
	defer cancel()
	err = c.QueryRow(late, statement, args...).Scan(&fence)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, clients.ErrNotHeld
	case is(err, lockNotAvailable):
		return 0, fmt.Errorf("another statement has the row: %w", err)
	}
	return fence, opened(err)
}

// about runs a statement about a grant of ours.
func (l *lease) about(ctx context.Context, what, statement string, g clients.Grant, args ...any) error {
	own, ok := g.Secret.(owner)
	if !ok {
		return fmt.Errorf("%s %q: the grant is not one of this lock's: %w", what, g.Key, clients.ErrNotHeld)
	}
	if _, err := l.ask(ctx, statement, append([]any{g.Key, string(own), g.Token}, args...)...); err != nil {
		return fmt.Errorf("%s %q at PostgreSQL %s: %w", what, g.Key, l.at(), err)
	}
	return nil
}

// Renew extends the lease by the TTL, if it has not expired. An answer that comes a TTL later renews nothing: what it tells of may be over.
func (l *lease) Renew(ctx context.Context, g clients.Grant) (clients.Grant, error) {
	start, since := monotime.Now(), time.Now()
	err := l.about(ctx, "renew", leaseRenew, g, l.ttl.Microseconds())
	if err == nil && time.Since(since) >= l.ttl {
		err = fmt.Errorf("renew %q at PostgreSQL %s: the answer came when the new lease may have been over", g.Key, l.at())
	}
	if err != nil {
		return g, err
	}
	g.Attempt = start
	return g, nil
}

// Release lets the lease expire now.
func (l *lease) Release(ctx context.Context, g clients.Grant) error {
	return l.about(ctx, "release", leaseGive, g)
}

// Held asks the server.
func (l *lease) Held(ctx context.Context, g clients.Grant) error {
	return l.about(ctx, "ask who holds", leaseHeld, g)
}

// Close closes the connections. Leases run out by themselves.
func (l *lease) Close(context.Context) error {
	l.close()
	return nil
}
