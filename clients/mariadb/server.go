// Package mariadb has locks on MariaDB: GET_LOCK, a row that is locked, and a lease in a row.
//
// The first two are held by a connection (https://mariadb.com/kb/en/get_lock/):
// they last until they are given back, or the server notices that the
// connection has ended. The server sends keepalives to who is silent, and the
// client asks it several times before it could give the lock to another.
//
// GET_LOCK knows nothing of other nodes: on a Galera cluster each node has locks of its own.
package mariadb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/connection"
	"github.com/lockchaos/lockchaos/internal/endpoint/mysqlurl"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// Kept is for how long the server keeps a connection that is silent, at least: the
// first keepalive, and two that are not answered (package backends sets them).
const Kept = 4 * time.Second

const (
	// waitSlice is how long the server lets a client wait for a lock. A client
	// that gives up knows the outcome after that.
	waitSlice = 100 * time.Millisecond
	// grace is how long after its context a call waits for the answer to its statement.
	grace = waitSlice + 150*time.Millisecond
)

// The numbers of errors that are expected (https://mariadb.com/kb/en/mariadb-error-codes/).
const (
	lockWaitTimeout = 1205
	deadlock        = 1213
)

// server is one client's connections to a server.
type server struct {
	connection.Pool[*conn]
	config *mysql.Config
	ttl    time.Duration
}

func newServer(ctx context.Context, c clients.Config, tables ...string) (*server, error) {
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a MariaDB lock needs the address of one server; %d were configured: %q", len(c.Nodes),
			c.Nodes)
	}
	ttl := c.TTL
	if ttl < waitSlice {
		return nil, fmt.Errorf("MariaDB at %s: a TTL of %v; configure %v or more", c.Nodes[0], ttl, waitSlice)
	}
	config, err := mysqlurl.Config(c.Nodes[0], logins.MariaDBUser, logins.MariaDBDatabase)
	if err != nil {
		return nil, fmt.Errorf("MariaDB: %w", err)
	}
	config.ClientFoundRows = true
	config.Params = map[string]string{"time_zone": "'+00:00'", "innodb_lock_wait_timeout": "1"}
	s := &server{config: config, ttl: ttl}
	s.Connect, s.Usable, s.Drop = s.connect, func(c *conn) bool { return !c.broken }, (*conn).cut
	s.Prepare = func(ctx context.Context, c *conn) error {
		for _, statement := range tables { // they make the tables that the lock needs
			if _, err := c.do(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	s.Warm(ctx)
	return s, nil
}

func (s *server) String() string { return "MariaDB at " + s.config.Addr }

// conn is a connection, and the socket below it.
type conn struct {
	driver.Conn
	socket net.Conn

	using  sync.Mutex
	broken bool // it can't be used again
}

func (s *server) connect(ctx context.Context) (*conn, error) {
	c, config := &conn{}, s.config.Clone()
	config.DialFunc = func(ctx context.Context, network, addr string) (_ net.Conn, err error) {
		c.socket, err = new(net.Dialer).DialContext(ctx, network, addr)
		return c.socket, err
	}
	connector, err := mysql.NewConnector(config)
	if err == nil {
		c.Conn, err = connector.Connect(ctx)
	}
	return c, err
}

// cut closes the connection under the call that uses it.
func (c *conn) cut() {
	_ = c.socket.Close() // what is asked ends
	c.using.Lock()
	defer c.using.Unlock()
	_ = c.Close() // the driver's own
}

// do runs a statement that answers with no rows.
func (c *conn) do(ctx context.Context, statement string, args ...any) (driver.Result, error) {
	c.using.Lock()
	defer c.using.Unlock()
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, statement, named(args))
	return result, c.outcome(err)
}

// ask runs a statement that answers with one number; none: NULL, or no row.
func (c *conn) ask(ctx context.Context, statement string, args ...any) (number int64, some bool, err error) {
	c.using.Lock()
	defer c.using.Unlock()
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, statement, named(args))
	if err != nil {
		return 0, false, c.outcome(err)
	}
	defer rows.Close()
	answer := make([]driver.Value, len(rows.Columns()))
	switch err := rows.Next(answer); {
	case errors.Is(err, io.EOF):
		return 0, false, nil
	case err != nil:
		return 0, false, c.outcome(err)
	}
	switch v := answer[0].(type) {
	case nil:
		return 0, false, nil
	case int64:
		return v, true, nil
	case uint64:
		return int64(v), true, nil
	case []byte:
		number, err = strconv.ParseInt(string(v), 10, 64)
		return number, err == nil, err
	}
	return 0, false, fmt.Errorf("%s answers with a %T", statement, answer[0])
}

func named(args []any) []driver.NamedValue {
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return values
}

// outcome says what is known after an error: that the server refused, that
// nothing was sent, or nothing. After the latter two the connection is of no use.
func (c *conn) outcome(err error) error {
	var refused *mysql.MySQLError
	switch {
	case err == nil || errors.As(err, &refused):
		return err
	case errors.Is(err, driver.ErrBadConn):
		c.broken = true
		return fmt.Errorf("nothing was sent: %w", err)
	}
	c.broken = true
	return fmt.Errorf("%w: %w", clients.ErrOpen, err)
}

// is reports whether the server answered with one of the errors.
func is(err error, numbers ...uint16) bool {
	refused, answered := errors.AsType[*mysql.MySQLError](err)
	return answered && slices.Contains(numbers, refused.Number)
}
