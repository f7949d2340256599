// Billing charges each order once: the replica that holds the order's lock does it.
//
// The lock is the usual one, SET NX PX in Redis. With FENCE=on each grant comes with a fencing
// token, and PostgreSQL refuses what comes with a token that is older than one it has seen.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

const (
	ttl     = time.Second            // of the lock
	gateway = 200 * time.Millisecond // how long the bank takes to take the money
)

func main() {
	ctx := context.Background()
	b, err := connect(ctx)
	for err == nil {
		err = b.round(ctx)
	}
	fmt.Fprintln(os.Stderr, "billing:", err)
	os.Exit(1)
}

// billing is one replica.
type billing struct {
	redis *redis.Client
	db    *pgx.Conn
	store store
	fence bool
}

func connect(ctx context.Context) (*billing, error) {
	b := &billing{redis: redis.NewClient(&redis.Options{Addr: "redis:6379", MaxRetries: -1}),
		fence: os.Getenv("FENCE") == "on"}
	deadline := time.Now().Add(30 * time.Second)
	for {
		var err error
		if b.db, err = pgx.Connect(ctx, "postgres://lockchaos@postgres/postgres"); err == nil {
			_, err = b.db.Exec(ctx, "SELECT 1 FROM orders LIMIT 1") // shop makes the tables
		}
		if err == nil {
			err = b.redis.Ping(ctx).Err()
		}
		if err == nil {
			break
		}
		if b.db != nil {
			b.db.Close(ctx)
		}
		if time.Now().After(deadline) {
			return nil, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.store = unfenced{b.db}
	if b.fence {
		b.store = fenced{b.db}
	}
	return b, nil
}

// round bills the oldest order that has not been charged.
func (b *billing) round(ctx context.Context) error {
	var order int64
	err := b.db.QueryRow(ctx, "SELECT id FROM orders o WHERE NOT EXISTS (SELECT FROM charges c WHERE c.order_id = o.id) ORDER BY id LIMIT 1").Scan(&order)
	if errors.Is(err, pgx.ErrNoRows) {
		time.Sleep(20 * time.Millisecond)
		return nil
	}
	if err != nil {
		return err
	}
	g, err := b.lock(ctx, order)
	if err != nil || g == nil {
		return err
	}
	if err := b.bill(ctx, g); err != nil {
		return err
	}
	return b.unlock(ctx, g)
}

// bill charges the order of the grant, unless somebody has.
func (b *billing) bill(ctx context.Context, g *grant) error {
	began := time.Now()
	charged, err := b.store.charged(ctx, g)
	tell(began, "look", g, err)
	if errors.Is(err, errStale) || charged {
		return nil
	}
	if err != nil {
		return err
	}
	time.Sleep(gateway)
	began = time.Now()
	err = b.store.charge(ctx, g)
	tell(began, "charge", g, err)
	if errors.Is(err, errStale) {
		return nil
	}
	return err
}
