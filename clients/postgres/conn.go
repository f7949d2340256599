package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/connection"
	"github.com/lockchaos/lockchaos/internal/endpoint/pgurl"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// waitSlice is how long the server lets a statement wait for a lock. A client
// that gives up knows the outcome after that.
const waitSlice = 100 * time.Millisecond

// grace is how long after its context a call waits for the answer to its statement.
const grace = waitSlice + 150*time.Millisecond

// retryPause is the pause before tables are made again that another client was making.
const retryPause = 20 * time.Millisecond

// lockNotAvailable and others are the codes of errors (SQLSTATE) that are expected.
const (
	lockNotAvailable = "55P03" // lock_timeout ran out
	duplicateTable   = "42P07"
	uniqueViolation  = "23505"
)

// pool is one client's connections.
type pool struct {
	connection.Pool[*pgx.Conn]
	config *pgx.ConnConfig
	ttl    time.Duration
}

func newPool(c clients.Config, tables string) (*pool, error) {
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a PostgreSQL lock needs the address of one server; %d were configured: %q",
			len(c.Nodes), c.Nodes)
	}
	ttl := c.TTL
	if ttl < waitSlice {
		return nil, fmt.Errorf("PostgreSQL at %s: a TTL of %v; configure %v or more", c.Nodes[0], ttl, waitSlice)
	}
	config, err := pgurl.Config(c.Nodes[0], logins.PostgresUser, logins.PostgresDatabase)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	// Statements are few and short: no round trip to prepare them, and nothing
	// that a new connection would have to prepare again.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	seconds := int(math.Ceil(ttl.Seconds()))
	config.RuntimeParams = map[string]string{
		"application_name":        "lockchaos",
		"lock_timeout":            strconv.FormatInt(waitSlice.Milliseconds(), 10),
		"tcp_keepalives_idle":     strconv.Itoa(seconds),
		"tcp_keepalives_interval": "1",
		"tcp_keepalives_count":    "2",
		// The same for a server that has sent something: keepalives are only
		// for those that wait for nothing.
		"tcp_user_timeout": strconv.Itoa((seconds + 2) * 1000),
	}
	p := &pool{config: config, ttl: ttl}
	p.Connect = func(ctx context.Context) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, config.Copy()) }
	p.Prepare = func(ctx context.Context, c *pgx.Conn) error { return makeTables(ctx, c, tables) }
	// in no transaction
	p.Usable = func(c *pgx.Conn) bool { return !c.IsClosed() && c.PgConn().TxStatus() == 'I' }
	p.Drop = drop
	return p, nil
}

func (p *pool) at() string { return fmt.Sprintf("%s:%d", p.config.Host, p.config.Port) }

// makeTables runs the statements that make the tables a lock needs. Two clients that do so at once
// may meet: the second one finds them made, or asks again.
func makeTables(ctx context.Context, c *pgx.Conn, statements string) error {
	for statements != "" {
		_, err := c.Exec(ctx, statements)
		if !is(err, duplicateTable, uniqueViolation, lockNotAvailable) {
			return err
		}
		if err := clients.Wait(ctx, retryPause); err != nil {
			return err
		}
	}
	return nil
}

// drop closes a connection, politely if that takes no time: the server ends the
// session, and all that it holds, when it sees the end of the stream.
func drop(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = c.Close(ctx) // the socket is closed whatever happens
}

// is reports whether the server answered with one of the codes.
func is(err error, codes ...string) bool {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	return answered && slices.Contains(codes, answer.Code)
}

// answered reports whether the server answered, or was never asked: whether the
// statement certainly had no effect, given its error. ErrConnClosed calls itself safe to retry, and
// is what pgx also says of a statement without arguments whose connection ends before the answer:
// MultiResultReader.NextResult drops the error of the read.
func answered(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) || pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed)
}

// opened marks an error as an open question, unless the server answered.
func opened(err error) error {
	if err == nil || answered(err) || errors.Is(err, clients.ErrOpen) {
		return err
	}
	return fmt.Errorf("%w: %w", clients.ErrOpen, err)
}
