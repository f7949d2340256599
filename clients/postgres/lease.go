package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
)

// Lease is the lock pg-lease.
var Lease = clients.Kind{
	Name:    "pg-lease",
	About:   "a row with an owner, an expiry by the server's clock and a fencing number that rises with every grant; renewed by its owner",
	Service: "postgres",
	Claims: clients.Claims{Validity: "from_invocation", Identity: "unique", Token: "fencing",
		Confirms: []string{"renew", "release", "held"}, Permits: 1},
	Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		p, err := newPool(c, leaseTable)
		if err != nil {
			return nil, err
		}
		p.Warm(ctx)
		return lease.New(rows{p}, c, grace), nil
	},
}

// The statements of the lease. clock_timestamp() is the time at which it is evaluated, not
// that of the transaction's start: a statement that waited for the row must not grant with
// an old time. The row stays when the lease is given back, so that the fence never falls.
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

// rows are leases in a table.
type rows struct{ *pool }

func (r rows) String() string { return "PostgreSQL at " + r.at() }

// Close closes the connections.
func (r rows) Close() error {
	r.pool.Close()
	return nil
}

// ask runs a statement that answers with the fence of the row it was about.
// ErrNotHeld: there was no such row.
func (r rows) ask(ctx context.Context, statement string, args ...any) (fence int64, err error) {
	c, err := r.Borrow(ctx)
	if err != nil {
		return 0, err
	}
	defer r.Return(c)
	ctx, cancel := clients.WithGrace(ctx, grace)
	defer cancel()
	err = c.QueryRow(ctx, statement, args...).Scan(&fence)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, clients.ErrNotHeld
	case is(err, lockNotAvailable):
		return 0, fmt.Errorf("another statement has the row: %w", err)
	}
	return fence, opened(err)
}

// Take takes a row that has expired, or makes one.
func (r rows) Take(ctx context.Context, key, owner string) (fence int64, err error) {
	return r.ask(ctx, leaseTake, key, owner, r.ttl.Microseconds())
}

// Renew sets the row's expiry.
func (r rows) Renew(ctx context.Context, key, owner string, fence int64) error {
	_, err := r.ask(ctx, leaseRenew, key, owner, fence, r.ttl.Microseconds())
	return err
}

// Give lets the row expire now. It stays, so that the fence never falls.
func (r rows) Give(ctx context.Context, key, owner string, fence int64) error {
	_, err := r.ask(ctx, leaseGive, key, owner, fence)
	return err
}

// Held looks at the row.
func (r rows) Held(ctx context.Context, key, owner string, fence int64) error {
	_, err := r.ask(ctx, leaseHeld, key, owner, fence)
	return err
}
