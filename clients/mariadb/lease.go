package mariadb

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
)

// Lease is the lock mariadb-lease.
var Lease = clients.Kind{
	Name: "mariadb-lease", Service: "mariadb",
	About: "a row with an owner, an expiry by the server's clock and a fencing number that rises with every grant; renewed by its owner",
	Claims: clients.Claims{Validity: "from_invocation", Identity: "unique", Token: "fencing",
		Confirms: []string{"renew", "release", "held"}, Permits: 1},
	Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		s, err := newServer(ctx, c, leaseTable)
		if err != nil {
			return nil, err
		}
		return lease.New(rows{s}, c, grace), nil
	},
}

// The statements of the lease. SYSDATE() is the time at which it is evaluated, not that of the
// statement's start: one that waited for the row must not grant with an old time. LAST_INSERT_ID(x)
// hands x to the client. The row stays when the lease is given back, so that the fence never falls.
const (
	leaseTable = `CREATE TABLE IF NOT EXISTS lockchaos_lease (k VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY,
		owner VARCHAR(64) NOT NULL, expires DATETIME(6) NOT NULL, fence BIGINT NOT NULL) ENGINE=InnoDB`
	leaseTake = `UPDATE lockchaos_lease SET fence = LAST_INSERT_ID(fence + 1), owner = ?, expires = SYSDATE(6) + INTERVAL ? MICROSECOND
		WHERE k = ? AND expires <= SYSDATE(6)`
	leaseFirst = `INSERT IGNORE INTO lockchaos_lease VALUES (?, ?, SYSDATE(6) + INTERVAL ? MICROSECOND, 1)`
	leaseRenew = `UPDATE lockchaos_lease SET expires = SYSDATE(6) + INTERVAL ? MICROSECOND WHERE k = ? AND owner = ? AND fence = ? AND expires > SYSDATE(6)`
	leaseGive  = `UPDATE lockchaos_lease SET expires = '1971-01-01' WHERE k = ? AND owner = ? AND fence = ? AND expires > SYSDATE(6)`
	leaseHeld  = `SELECT count(*) FROM lockchaos_lease WHERE k = ? AND owner = ? AND fence = ? AND expires > SYSDATE(6)`
)

// rows are leases in a table.
type rows struct{ *server }

// Close closes the connections.
func (r rows) Close() error {
	r.server.Close()
	return nil
}

// on runs what is to be run on a connection, until a moment after ctx ends.
func (r rows) on(ctx context.Context, run func(context.Context, *conn) error) error {
	c, err := r.Borrow(ctx)
	if err != nil {
		return err
	}
	defer r.Return(c)
	ctx, cancel := clients.WithGrace(ctx, grace)
	defer cancel()
	return run(ctx, c)
}

// change runs a statement that changes the row, and returns what LAST_INSERT_ID
// was given. ErrNotHeld: there was no such row.
func (c *conn) change(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := c.do(ctx, statement, args...)
	if is(err, lockWaitTimeout, deadlock) {
		return 0, fmt.Errorf("another statement has the row: %w", err)
	}
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return 0, clients.ErrNotHeld
	}
	return result.LastInsertId()
}

// Take takes a row that has expired, or makes one.
func (r rows) Take(ctx context.Context, key, owner string) (fence int64, err error) {
	err = r.on(ctx, func(ctx context.Context, c *conn) error {
		if fence, err = c.change(ctx, leaseTake, owner, r.ttl.Microseconds(), key); err != clients.ErrNotHeld {
			return err
		}
		fence = 1
		_, err = c.change(ctx, leaseFirst, key, owner, r.ttl.Microseconds())
		return err
	})
	return fence, err
}

func (r rows) changes(ctx context.Context, statement string, args ...any) error {
	return r.on(ctx, func(ctx context.Context, c *conn) error {
		_, err := c.change(ctx, statement, args...)
		return err
	})
}

// Renew sets the row's expiry.
func (r rows) Renew(ctx context.Context, key, owner string, fence int64) error {
	return r.changes(ctx, leaseRenew, r.ttl.Microseconds(), key, owner, fence)
}

// Give lets the row expire now.
func (r rows) Give(ctx context.Context, key, owner string, fence int64) error {
	return r.changes(ctx, leaseGive, key, owner, fence)
}

// Held looks at the row.
func (r rows) Held(ctx context.Context, key, owner string, fence int64) error {
	return r.on(ctx, func(ctx context.Context, c *conn) error {
		n, _, err := c.ask(ctx, leaseHeld, key, owner, fence)
		if err == nil && n == 0 {
			err = clients.ErrNotHeld
		}
		return err
	})
}
