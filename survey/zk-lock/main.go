// The Lock of github.com/go-zookeeper/zk on three ZooKeeper servers, as an
// adapter for lockchaos: as an application uses it that has one connection,
// listens to its events, and tries again after an error.
//
// Lock can't be given up. The adapter closes the connection then, as an
// application would that ends.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/golocks/protocol"
)

// pause is that between two tries.
const pause = 100 * time.Millisecond

type lock struct {
	nodes []string
	ttl   time.Duration

	mu       sync.Mutex
	conn     *zk.Conn // nil if it has been closed
	held     map[string]*zk.Lock
	sessions int // that have ended
}

func open(h protocol.Hello) (protocol.Lock, error) {
	return &lock{nodes: h.Nodes, ttl: h.TTL, held: map[string]*zk.Lock{}}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:      "go-zookeeper Lock " + protocol.Version("github.com/go-zookeeper/zk"),
		Validity:  "session",
		Confirms:  []string{"release"}, // Unlock deletes the znode, and fails if it is not there
		Tolerates: "minority",
		// The end of the session is told when there is a connection again: a
		// round of all servers, and a second.
		LostGraceMS: (l.ttl + 3*time.Second).Milliseconds(),
	}
}

// connection returns the one there is, or a new one.
func (l *lock) connection() (*zk.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		return l.conn, nil
	}
	conn, events, err := zk.Connect(l.nodes, l.ttl, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	l.conn = conn
	go func() {
		for e := range events {
			if e.State == zk.StateExpired {
				l.lose(conn)
			}
		}
	}()
	return conn, nil
}

// lose tells of every grant that went with the session.
func (l *lock) lose(conn *zk.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != conn {
		return
	}
	l.sessions++
	for key := range l.held {
		delete(l.held, key)
		protocol.Lost(key, "the session has expired")
	}
}

func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	conn, err := l.connection()
	if err != nil {
		return protocol.Grant{}, err
	}
	l.mu.Lock()
	sessions := l.sessions
	l.mu.Unlock()
	g := protocol.Grant{First: protocol.Now()}
	mine := zk.NewLock(conn, "/lockchaos/"+key, zk.WorldACL(zk.PermAll))
	for err = errNotTried; err != nil; {
		err = protocol.Within(ctx, 0, mine.Lock)
		if err != nil && !wait(ctx) {
			l.disconnect(conn)
			return g, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = mine
	// the event came while Lock went on, which has granted the lock all the same
	if sessions != l.sessions {
		time.AfterFunc(10*time.Millisecond, func() { l.lose(conn) })
	}
	return g, nil
}

// wait pauses, and reports false if the time is over.
func wait(ctx context.Context) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// disconnect ends the session, and with it whatever a Lock has left in the
// queue. What is held besides is lost.
func (l *lock) disconnect(conn *zk.Conn) {
	l.lose(conn)
	l.mu.Lock()
	if l.conn == conn {
		l.conn = nil
	}
	l.mu.Unlock()
	go conn.Close()
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	mine, conn := l.held[key], l.conn
	delete(l.held, key)
	l.mu.Unlock()
	if mine == nil {
		return protocol.NotHeld
	}
	err := protocol.Within(ctx, 0, mine.Unlock)
	for err != nil && !errors.Is(err, zk.ErrNoNode) && wait(ctx) {
		err = protocol.Within(ctx, 0, mine.Unlock)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		l.disconnect(conn)
	}
	return err
}

func (l *lock) Close(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.held) // what is given up is not lost
	if l.conn != nil {
		l.conn.Close()
	}
	return nil
}

var errNotTried = errors.New("not tried")

func main() { protocol.Main(open) }
