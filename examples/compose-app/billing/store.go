package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// store is where charges are kept.
type store interface {
	// charged reports whether the order has been charged.
	charged(ctx context.Context, g *grant) (bool, error)
	charge(ctx context.Context, g *grant) error
}

// unfenced trusts that every caller has the lock.
type unfenced struct{ db *pgx.Conn }

func (s unfenced) charged(ctx context.Context, g *grant) (yes bool, err error) {
	err = s.db.QueryRow(ctx, "SELECT EXISTS (SELECT FROM charges WHERE order_id = $1)", g.order).Scan(&yes)
	return yes, err
}

func (s unfenced) charge(ctx context.Context, g *grant) error {
	_, err := s.db.Exec(ctx, "INSERT INTO charges (order_id) VALUES ($1)", g.order)
	return err
}

// fenced keeps the greatest token that it has seen with each order, and refuses
// older ones. Reads raise it too: who has looked with a newer token must not be
// overtaken by a charge with an older one.
type fenced struct{ db *pgx.Conn }

func (s fenced) charged(ctx context.Context, g *grant) (yes bool, err error) {
	tag, err := s.db.Exec(ctx, "UPDATE orders SET fence = $2 WHERE id = $1 AND fence <= $2", g.order, g.token)
	if err != nil {
		return false, err
	}
	if tag.RowsAffected() == 0 {
		return false, errStale
	}
	return unfenced(s).charged(ctx, g)
}

func (s fenced) charge(ctx context.Context, g *grant) error {
	tag, err := s.db.Exec(ctx, `WITH mine AS (UPDATE orders SET fence = $2 WHERE id = $1 AND fence = $2 RETURNING id)
		INSERT INTO charges (order_id) SELECT id FROM mine`, g.order, g.token)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return errStale
	}
	return nil
}
