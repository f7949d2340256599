package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/lease"
)

// waitSlice is how long the server lets a statement wait for a lock. A client that gives up knows the outcome after that.
const waitSlice = 100 * time.Millisecond

// grace is how long after its context a call waits for the answer to its statement.
const grace = waitSlice + 150*time.Millisecond

// retryPause is the pause after an attempt that failed for another reason than a lock that is taken.
const retryPause = 20 * time.Millisecond

// lockNotAvailable and others are the codes of errors (SQLSTATE) that are expected.
const (
	lockNotAvailable = "55P03" // lock_timeout ran out
	duplicateTable   = "42P07"
	uniqueViolation  = "23505"
)

// pool is one client's connections: each is used by one task at a time.
type pool struct {
	config *pgx.ConnConfig
	ttl    time.Duration
	tables string // statements that make the tables a lock needs

	mu     sync.Mutex
	made   bool // the tables are there
	closed bool
	idle   []*pgx.Conn
}

const (
	user     = "lockchaos"
	database = "postgres"
)

func newPool(c clients.Config, tables string) (*pool, error) {
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a PostgreSQL lock needs the address of one server; %d were configured: %q", len(c.Nodes), c.Nodes)
	}
	ttl := time.Duration(c.TTL)
	if ttl < waitSlice {
		return nil, fmt.Errorf("PostgreSQL at %s: a TTL of %v; configure %v or more", c.Nodes[0], ttl, waitSlice)
	}
	config, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", user, c.Nodes[0], database))
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL at %s: %w", c.Nodes[0], err)
	}
	// Statements are few and short: no round trip to prepare them, and nothing that a new connection would have to prepare again.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	seconds := int(math.Ceil(ttl.Seconds()))
	config.RuntimeParams = map[string]string{
		"application_name":        "lockchaos",
		"lock_timeout":            strconv.FormatInt(waitSlice.Milliseconds(), 10),
		"tcp_keepalives_idle":     strconv.Itoa(seconds),
		"tcp_keepalives_interval": "1",
		"tcp_keepalives_count":    "2",
		// The same for a server that has sent something: keepalives are only for those that wait for nothing.
		"tcp_user_timeout": strconv.Itoa((seconds + 2) * 1000),
	}
	return &pool{config: config, ttl: ttl, tables: tables}, nil
}

func (p *pool) at() string { return fmt.Sprintf("%s:%d", p.config.Host, p.config.Port) }

// take returns a connection for the caller alone, with the tables in place.
func (p *pool) take(ctx context.Context) (*pgx.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, lease.ErrClosed
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	made := p.made
	p.mu.Unlock()
	c, err := pgx.ConnectConfig(ctx, p.config.Copy())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if !made {
		if err := p.make(ctx, c); err != nil {
			p.drop(c)
			return nil, fmt.Errorf("make the tables: %w", err)
		}
	}
	return c, nil
}

// openPatience is how long Open waits for the first connection.
const openPatience = time.Second

// warm makes the first connection, and with it the tables, so that the first acquire need not. A server that cannot be reached now is asked again then.
func (p *pool) warm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	if c, err := p.take(ctx); err == nil {
		p.give(c)
	}
}

// make makes the tables. Two clients that do so at once may meet: whoever comes second finds them made, or asks again.
func (p *pool) make(ctx context.Context, c *pgx.Conn) error {
	for p.tables != "" {
		_, err := c.Exec(ctx, p.tables)
		if err == nil {
			break
		}
		if !is(err, duplicateTable, uniqueViolation, lockNotAvailable) {
			return err
		}
		if err := clients.Wait(ctx, retryPause); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = true
	return nil
}

// give takes a connection back. One that is broken, or in the middle of a transaction, is closed.
func (p *pool) give(c *pgx.Conn) {
	p.mu.Lock()
	keep := !p.closed && !c.IsClosed() && c.PgConn().TxStatus() == 'I'
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		p.drop(c)
	}
}

// drop closes a connection, politely if that takes no time: the server ends the session, and all that it holds, when it sees the end of the stream.
func (p *pool) drop(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = c.Close(ctx) // the socket is closed whatever happens
}

// close closes the idle connections and lets no more be made.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		p.drop(c)
	}
}

// is tells whether the server answered with one of the codes.
func is(err error, codes ...string) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return false
	}
	for _, code := range codes {
		if answer.Code == code {
			return true
		}
	}
	return false
}

// answered tells whether the server answered, or was never asked: whether the statement certainly had no effect, given its error.
func answered(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) || pgconn.SafeToRetry(err)
}

// opened marks an error as an open question, unless the server answered.
func opened(err error) error {
	if err == nil || answered(err) || errors.Is(err, lease.ErrOpen) {
		return err
	}
	return fmt.Errorf("%w: %w", lease.ErrOpen, err)
}
