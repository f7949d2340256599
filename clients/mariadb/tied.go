package mariadb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/connection"
)

// GetLock is the lock mariadb-getlock.
var GetLock = tied("mariadb-getlock", "GET_LOCK, which a connection holds for as long as it lives: a client that is stopped keeps it", named64, getLock)

// Row is the lock mariadb-row.
var Row = tied("mariadb-row", "a row that is locked by SELECT … FOR UPDATE, in a transaction that stays open for as long as the lock is held",
	func(key string) string { return key }, scheme{
		tables: []string{`CREATE TABLE IF NOT EXISTS lockchaos_row (k VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY) ENGINE=InnoDB`},
		take:   takeRow,
		give: func(ctx context.Context, c *conn, _ string) (int64, bool, error) {
			_, err := c.do(ctx, "COMMIT")
			return 1, true, err
		},
		// Only the end of the transaction that locked the row ends the lock.
		held: func(ctx context.Context, c *conn, _ string) (int64, bool, error) {
			return c.ask(ctx, "SELECT @@in_transaction")
		},
	})

// BrokenReconnect is the control broken-mariadb-reconnect: mariadb-getlock on a
// connection that is made again when it has gone, as pools and wrappers do. The
// lock has gone with the old one, and nobody asks.
var BrokenReconnect = func() clients.Kind {
	broken := getLock
	broken.reconnects = true
	broken.held = func(ctx context.Context, c *conn, _ string) (int64, bool, error) { return c.ask(ctx, "SELECT 1") }
	k := tied("broken-mariadb-reconnect",
		"mariadb-getlock that connects again when its connection has gone, and goes on as holder", named64, broken)
	k.Claims.Confirms = nil
	k.Control = checker.MutualExclusion
	return k
}()

// GaleraGetLock is the control galera-getlock: mariadb-getlock on a cluster, each client
// at a node of its own. Galera replicates transactions, and GET_LOCK is none: two
// clients at two nodes both get the lock (https://github.com/github/gh-ost/issues/224).
var GaleraGetLock = func() clients.Kind {
	k := tied("galera-getlock", "mariadb-getlock on a Galera cluster, each client at one of its nodes: each node has locks of its own", named64, getLock)
	k.Service = "mariadb-galera"
	k.Control = checker.MutualExclusion
	open := k.Open
	k.Open = func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		if len(c.Nodes) > 1 {
			c.Nodes = []string{c.Nodes[c.Client%len(c.Nodes)]}
		}
		return open(ctx, c)
	}
	return k
}()

// scheme is what the locks of a connection differ in. Their answers are 1, or
// something else; none is NULL.
type scheme struct {
	tables []string
	take   func(ctx context.Context, c *conn, name string) error
	give   func(ctx context.Context, c *conn, name string) (int64, bool, error)
	held   func(ctx context.Context, c *conn, name string) (int64, bool, error)
	// reconnects: a connection that has gone is made again.
	reconnects bool
}

var getLock = scheme{
	take: func(ctx context.Context, c *conn, name string) error {
		switch got, some, err := c.ask(ctx, "SELECT GET_LOCK(?, ?)", name, waitSlice.Seconds()); {
		case err != nil:
			return err
		case !some:
			return errors.New("GET_LOCK answers NULL: the server is short of memory, or the thread was killed")
		case got != 1:
			return clients.ErrBusy
		}
		return nil
	},
	give: func(ctx context.Context, c *conn, name string) (int64, bool, error) {
		return c.ask(ctx, "SELECT RELEASE_LOCK(?)", name)
	},
	held: func(ctx context.Context, c *conn, name string) (int64, bool, error) {
		return c.ask(ctx, "SELECT IS_USED_LOCK(?) = CONNECTION_ID()", name)
	},
}

// named64 is the name that stands for a key: names have 64 characters at most,
// and do not tell cases apart.
func named64(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "lockchaos-" + hex.EncodeToString(sum[:16])
}

// rowPause is the pause before a row that is taken is asked for again.
const rowPause = 15 * time.Millisecond

// takeRow makes the row if there is none, and locks it. The row is looked for
// first: an INSERT would wait for its lock.
func takeRow(ctx context.Context, c *conn, name string) error {
	_, there, err := c.ask(ctx, "SELECT 1 FROM lockchaos_row WHERE k = ?", name)
	if err == nil && !there {
		_, err = c.do(ctx, "INSERT IGNORE INTO lockchaos_row VALUES (?)", name)
	}
	if err == nil {
		_, err = c.do(ctx, "BEGIN")
	}
	if err != nil {
		return err
	}
	_, _, err = c.ask(ctx, "SELECT 1 FROM lockchaos_row WHERE k = ? FOR UPDATE NOWAIT", name)
	if !is(err, lockWaitTimeout, deadlock) {
		return err
	}
	if _, err := c.do(ctx, "ROLLBACK"); err != nil {
		return err
	}
	_ = clients.Wait(ctx, rowPause)
	return clients.ErrBusy
}

// tied makes the entry for a lock of a connection.
func tied(called, about string, name func(key string) string, s scheme) clients.Kind {
	return clients.Kind{
		Name: called, About: about, Service: "mariadb", Claims: connection.Claims, OnWire: name,
		LostGrace: func(ttl time.Duration) time.Duration { return connection.LostGrace(watched(ttl)) },
		Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
			at, err := newServer(ctx, c, s.tables...)
			if err != nil {
				return nil, err
			}
			return connection.New(sessions{at, s, name}, watched(at.ttl)), nil
		},
	}
}

// watched is the time in which a client must have an answer: well before the
// server gives the lock of a silent one to another.
func watched(ttl time.Duration) time.Duration { return min(ttl, Kept*3/4) }

// sessions gives locks that a connection holds.
type sessions struct {
	*server
	scheme scheme
	name   func(key string) string
}

// Take asks once, for as long as the server lets a client wait.
func (s sessions) Take(ctx context.Context, key string) (connection.Conn, error) {
	c, err := s.Borrow(ctx)
	if err != nil {
		return nil, err
	}
	late, cancel := clients.WithGrace(ctx, grace)
	defer cancel()
	h := &holding{sessions: s, name: s.name(key)}
	h.conn.Store(c)
	if err = s.scheme.take(late, c, h.name); err == nil && ctx.Err() == nil {
		return h, nil
	}
	if err == nil { // too late
		if _, err = h.Give(late); err == nil {
			err = clients.ErrBusy
		}
	}
	if err != clients.ErrBusy {
		c.broken = true // whatever it may hold ends with it
	}
	s.Return(c)
	return nil, err
}

// holding is a connection that has a lock.
type holding struct {
	sessions
	conn atomic.Pointer[conn]
	name string
}

func (h *holding) Give(ctx context.Context) (bool, error) {
	got, _, err := h.scheme.give(ctx, h.conn.Load(), h.name)
	return err == nil && got == 1 || h.scheme.reconnects, err
}

func (h *holding) Free() { h.Return(h.conn.Load()) }

func (h *holding) Held(ctx context.Context) (bool, error) {
	got, _, err := h.scheme.held(ctx, h.conn.Load(), h.name)
	if err == nil || !h.scheme.reconnects || ctx.Err() != nil {
		return got == 1, err
	}
	c, err := h.connect(ctx)
	if err != nil {
		return false, fmt.Errorf("connect again: %w", err)
	}
	h.conn.Store(c)
	return true, nil
}

func (h *holding) Cut() { h.conn.Load().cut() }
