// Shop takes orders: a new one whenever all that there are have been charged.
// "shop charges" tells which were charged more than once.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

const schema = `
CREATE TABLE IF NOT EXISTS orders (id bigserial PRIMARY KEY, fence bigint NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS charges (id bigserial PRIMARY KEY, order_id bigint NOT NULL REFERENCES orders);`

func main() {
	ctx := context.Background()
	db, err := connect(ctx)
	if err == nil && len(os.Args) > 1 && os.Args[1] == "charges" {
		err = charges(ctx, db)
	} else if err == nil {
		err = sell(ctx, db)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func connect(ctx context.Context) (*pgx.Conn, error) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		db, err := pgx.Connect(ctx, "postgres://lockchaos@postgres/postgres")
		if err == nil || time.Now().After(deadline) {
			return db, err
		}
	}
}

// sell places an order whenever there is none to be billed.
func sell(ctx context.Context, db *pgx.Conn) error {
	if _, err := db.Exec(ctx, schema); err != nil {
		return err
	}
	for {
		_, err := db.Exec(ctx, "INSERT INTO orders SELECT FROM (SELECT) one WHERE NOT EXISTS (SELECT FROM orders o WHERE NOT EXISTS (SELECT FROM charges c WHERE c.order_id = o.id))")
		if err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// charges prints how often each order was charged, if not once.
func charges(ctx context.Context, db *pgx.Conn) error {
	rows, err := db.Query(ctx, "SELECT order_id, count(*) FROM charges GROUP BY order_id HAVING count(*) > 1 ORDER BY order_id")
	if err != nil {
		return err
	}
	var order, n, wrong int64
	_, err = pgx.ForEachRow(rows, []any{&order, &n}, func() error {
		wrong++
		fmt.Printf("order %d was charged %d times\n", order, n)
		return nil
	})
	if err != nil {
		return err
	}
	var all int64
	if err := db.QueryRow(ctx, "SELECT count(DISTINCT order_id) FROM charges").Scan(&all); err != nil {
		return err
	}
	fmt.Printf("%d orders charged, %d of them more than once\n", all, wrong)
	return nil
}
