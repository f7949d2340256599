package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Gozk is the lock zookeeper-gozk: the Lock of github.com/go-zookeeper/zk, used as
// its documentation shows, by an application that listens to the connection's events.
//
// The library tells of the end of a session when ZooKeeper told it, so not before it has
// a connection again. It has no token: the path of its znode is its own secret. It has
// no way to stop waiting: a wait that is given up is ended here by deleting the znode
// from outside. A Lock that returns an error may have left its znode in the queue, to be
// granted to nobody for as long as the session lives; so the session is given up then.
var Gozk = clients.Kind{
	Name:    "zookeeper-gozk",
	About:   "the Lock of github.com/go-zookeeper/zk; a session's end is told when the library has a connection again",
	Service: "zookeeper",
	Claims: clients.Claims{Validity: "session", Tolerates: "minority", Token: "none", Confirms: []string{"release"},
		WakesOne: true, Permits: 1},
	// It notices no end of a session alone: while it is cut off it goes on. Its
	// attempts to connect: a round of all members, then a pause of a second.
	LostGrace: func(ttl time.Duration) time.Duration { return ttl + 3*time.Second },
	Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		base, err := newClient(ctx, c, false)
		if err != nil {
			return nil, err
		}
		return &gozk{client: base}, nil
	},
}

const gozkRoot = root + "-gozk"

type gozk struct{ *client }

func (l *gozk) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.attempts(ctx, key, func() (clients.Grant, error) {
		h, asked, err := l.attempt(ctx, key)
		if err != nil {
			return clients.Grant{}, err
		}
		return clients.Grant{Key: key, Attempt: asked, First: asked, Secret: h}, nil
	})
}

// attempt makes a Lock, and waits for it. When the library put its znode into
// the queue only the library knows: after asked.
func (l *gozk) attempt(ctx context.Context, key string) (granted *hold, asked int64, err error) {
	s, err := l.open(ctx)
	if err != nil {
		return nil, 0, err
	}
	dir := directory(gozkRoot, key)
	h := &hold{session: s, key: key, lock: zk.NewLock(s.conn, dir, everyone)}
	asked = monotime.Now()
	// The call may go on when this function has returned: it must not see its results.
	_, err = ask(ctx, s, func(*zk.Conn) (struct{}, error) { return struct{}{}, h.lock.Lock() })
	if err == nil && s.add(h, time.Now()) {
		return h, asked, nil
	}
	if ctx.Err() != nil && l.withdraw(ctx, s, dir, key) {
		return nil, 0, clients.ErrBusy
	}
	s.giveUp("the session was given up after a lock that failed")
	return nil, 0, fmt.Errorf("%w: %w", clients.ErrOpen, errors.Join(err, ctx.Err()))
}

// withdraw deletes the znode with which an abandoned Lock waits, for a moment beyond the call's
// context, and reports whether it did. The Lock that waits creates no other: it is past that. Nor
// does anyone listen to it any more, should it now take the lock for its own, as it would.
func (l *gozk) withdraw(ctx context.Context, s *session, dir, key string) bool {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	queue, err := again(late, s, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(dir)
		return names, err
	})
	if err != nil {
		return false
	}
	var last string // of ours: what this session holds already stands before it
	ours := 0
	for _, name := range queue {
		stat, err := again(late, s, func(c *zk.Conn) (*zk.Stat, error) {
			_, stat, err := c.Get(dir + "/" + name)
			return stat, err
		})
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return false
		}
		if stat.EphemeralOwner != s.conn.SessionID() {
			continue
		}
		if ours++; number(name) > number(last) {
			last = name
		}
	}
	if ours != s.count(key)+1 {
		return false
	}
	_, err = again(late, s, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(dir+"/"+last, -1) })
	return err == nil || errors.Is(err, zk.ErrNoNode)
}

// count is how many holds of the key the session has.
func (s *session) count(key string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.holds {
		if h.key == key {
			n++
		}
	}
	return n
}

func (l *gozk) Release(ctx context.Context, g clients.Grant) error {
	h, err := l.own(g)
	if err == nil {
		err = ctx.Err() // over already: nothing is sent
	}
	if err == nil {
		err = l.unlock(ctx, h)
	}
	if err != nil {
		return fmt.Errorf("release %q at ZooKeeper %s: %w", g.Key, l.at(), err)
	}
	return nil
}

func (l *gozk) unlock(ctx context.Context, h *hold) error {
	if h.session.ended() {
		return fmt.Errorf("the session has ended: %w", clients.ErrNotHeld)
	}
	_, err := ask(ctx, h.session, func(*zk.Conn) (struct{}, error) { return struct{}{}, h.lock.Unlock() })
	h.session.remove(h)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotLocked):
		return fmt.Errorf("%w: %w", err, clients.ErrNotHeld)
	case errors.Is(err, errOver):
		return fmt.Errorf("%w: %w", err, clients.ErrOpen)
	}
	h.session.giveUp("the session was given up after a request that was not answered")
	return fmt.Errorf("%w: %w", clients.ErrOpen, err)
}
