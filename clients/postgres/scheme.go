package postgres

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/connection"
)

// scheme is what the locks of a connection differ in: their statements. Each
// gets the key, as a number or as it is.
type scheme struct {
	tables string
	// prepare is run by itself, before each try.
	prepare string
	// begin opens the transaction that holds the lock; empty: the session holds it.
	begin string
	// take waits for the lock, for lock_timeout at most.
	take string
	// give gives it back, and answers with one truth value, or none.
	give string
	// held answers whether the lock is held by the connection that asks.
	held string
	// argument is what the statements get for a key.
	argument func(key string) any
}

// session makes the entry for a lock of a connection.
func session(name, about string, s scheme) clients.Kind {
	return clients.Kind{
		Name:      name,
		About:     about,
		Service:   "postgres",
		Claims:    connection.Claims,
		LostGrace: connection.LostGrace,
		// pgx.QueryExecModeExec sends arguments as text
		OnWire: func(key string) string { return fmt.Sprint(s.argument(key)) },
		Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
			p, err := newPool(c, s.tables)
			if err != nil {
				return nil, err
			}
			p.Warm(ctx)
			return connection.New(sessions{p, s}, p.ttl), nil
		},
	}
}

// Advisory is the lock pg-advisory.
var Advisory = session("pg-advisory",
	"PostgreSQL's advisory lock of a session: held as long as its connection lives, a client that is stopped keeps it",
	scheme{
		take:     "SELECT pg_advisory_lock($1)",
		give:     "SELECT pg_advisory_unlock($1)",
		held:     advisoryHeld,
		argument: hashed,
	})

// AdvisoryXact is the lock pg-advisory-xact.
var AdvisoryXact = session("pg-advisory-xact",
	"PostgreSQL's advisory lock of a transaction, which stays open for as long as the lock is held",
	scheme{
		begin:    "BEGIN",
		take:     "SELECT pg_advisory_xact_lock($1)",
		give:     "COMMIT",
		held:     advisoryHeld,
		argument: hashed,
	})

// Row is the lock pg-row.
var Row = session("pg-row",
	"a row that is locked by SELECT … FOR UPDATE, in a transaction that stays open for as long as the lock is held",
	scheme{
		tables:  "CREATE TABLE IF NOT EXISTS lockchaos_row (key text PRIMARY KEY)",
		prepare: "INSERT INTO lockchaos_row (key) VALUES ($1) ON CONFLICT DO NOTHING",
		begin:   "BEGIN",
		take:    "SELECT key FROM lockchaos_row WHERE key = $1 FOR UPDATE",
		give:    "COMMIT",
		// Who asks inside the transaction that locked the row has the lock: only the end of the
		// transaction ends it. The row is there as long as nobody deletes it, which needs its lock.
		held:     "SELECT count(*) = 1 FROM lockchaos_row WHERE key = $1",
		argument: func(key string) any { return key },
	})

// advisoryHeld looks the lock up: pg_locks shows the key's upper half as
// classid, the lower as objid.
const advisoryHeld = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
	AND (classid::bigint << 32) | objid::bigint = $1::bigint)`

// hashed is the number that stands for a key. Two keys with one number exclude
// each other, which is safe; there are 2⁶⁴ of them.
func hashed(key string) any {
	h := fnv.New64a()
	h.Write([]byte("lockchaos/" + key))
	return int64(h.Sum64())
}
