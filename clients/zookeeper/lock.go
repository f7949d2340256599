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

// claims are those of the recipe, and of the locks that break it and do not say so.
var claims = clients.Claims{Validity: "session", Tolerates: "minority", Token: "fencing",
	Confirms: []string{"release", "held"}, Notices: "alone", Fair: true,
	WakesOne: true, Permits: 1}

// Recipe is the lock zookeeper.
var Recipe = clients.Kind{
	Name:      "zookeeper",
	About:     "ZooKeeper's recipe: an ephemeral sequential znode with a GUID, watching only the one before; the token is the znode's czxid",
	Service:   "zookeeper",
	Claims:    claims,
	LostGrace: lostGrace,
	Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(ctx, c)
		if err != nil {
			return nil, err
		}
		return l, nil
	},
}

// lostGrace: a session that has ended is noticed by the next sync, after a twelfth of the
// timeout, and one that is not answered after five sixths. The five sixths are counted by the
// client's own clock, from the sending of the last sync that was answered: cut off or not.
func lostGrace(ttl time.Duration) time.Duration { return ttl }

// root is where the recipe's locks live.
const root = "/lockchaos"

// grace is how long after its context a call goes on trying to leave the queue.
const grace = 250 * time.Millisecond

type lock struct {
	*client
	// turn waits for what may have changed the queue of the directory, in which
	// the znode before ours is named.
	turn func(ctx context.Context, s *session, dir, before string) error
}

func open(ctx context.Context, c clients.Config) (*lock, error) {
	base, err := newClient(ctx, c, true)
	if err != nil {
		return nil, err
	}
	return &lock{client: base, turn: awaitGone}, nil
}

// Acquire waits in the queue until ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.attempts(ctx, key, func() (clients.Grant, error) {
		h, asked, enqueued, err := l.attempt(ctx, key)
		if err != nil {
			return clients.Grant{}, err
		}
		return clients.Grant{Key: key, Token: h.token, Attempt: asked, First: asked, Enqueued: enqueued, Secret: h}, nil
	})
}

// attempt enters the queue once, and waits there. It asked for its place at
// asked, and had it at enqueued.
func (l *lock) attempt(ctx context.Context, key string) (h *hold, asked, enqueued int64, err error) {
	s, err := l.open(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	dir := directory(root, key)
	asked = monotime.Now()
	name, err := s.enter(ctx, dir)
	if err != nil {
		if errors.Is(err, clients.ErrOpen) {
			s.giveUp("the session was given up after a request that was not answered")
		}
		return nil, 0, 0, err
	}
	enqueued = monotime.Now()
	h = &hold{session: s, key: key, path: dir + "/" + name}
	confirmed, err := l.await(ctx, h, dir, name)
	if err == nil && !s.add(h, confirmed) {
		err = errOver
	}
	if err != nil {
		return nil, 0, 0, l.leave(ctx, h, err)
	}
	return h, asked, enqueued, nil
}

// await returns when our znode is the first in the queue and the leader has
// confirmed the session after that.
func (l *lock) await(ctx context.Context, h *hold, dir, name string) (confirmed time.Time, err error) {
	created, err := again(ctx, h.session, func(c *zk.Conn) (*zk.Stat, error) {
		_, stat, err := c.Get(h.path)
		return stat, err
	})
	if err != nil {
		return confirmed, err
	}
	h.token = created.Czxid
	for {
		queue, err := again(ctx, h.session, func(c *zk.Conn) ([]string, error) {
			names, _, err := c.Children(dir)
			return names, err
		})
		if err != nil {
			return confirmed, err
		}
		before, found := predecessor(queue, name)
		switch {
		case !found:
			return confirmed, fmt.Errorf("our znode %s has gone: %w", h.path, zk.ErrNoNode)
		case before == "":
			return h.session.sync(ctx)
		}
		if err := l.turn(ctx, h.session, dir, before); err != nil {
			return confirmed, err
		}
	}
}

// awaitGone returns when the znode before ours has gone. Nobody else is woken by that.
func awaitGone(ctx context.Context, s *session, dir, before string) error {
	// Not ExistsW: that would leave a watch behind on a znode that has gone
	// already and never comes back.
	gone, err := again(ctx, s, func(c *zk.Conn) (<-chan zk.Event, error) {
		_, _, events, err := c.GetW(dir + "/" + before)
		return events, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.event(ctx, gone)
}

// event waits for a watch to fire.
func (s *session) event(ctx context.Context, fired <-chan zk.Event) error {
	select {
	case e := <-fired:
		return e.Err
	case <-s.done:
		return errOver
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave takes our znode out of the queue after a failure, for a moment beyond
// the call's context. It returns ErrBusy if that was certain and the call had
// just run out of time. Else the session is given up.
func (l *lock) leave(ctx context.Context, h *hold, because error) error {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	h.session.remove(h)
	_, err := again(late, h.session, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(h.path, -1) })
	switch {
	case err != nil && !errors.Is(err, zk.ErrNoNode):
		h.session.giveUp("the session was given up after a request that was not answered")
		return fmt.Errorf("%w: %w", clients.ErrOpen, because)
	case ctx.Err() != nil:
		return clients.ErrBusy
	}
	return because
}

// Release deletes the znode.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	if err := l.release(ctx, g); err != nil {
		return fmt.Errorf("release %q at ZooKeeper %s: %w", g.Key, l.at(), err)
	}
	return nil
}

func (l *lock) release(ctx context.Context, g clients.Grant) error {
	h, err := l.own(g)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // nothing is sent
	}
	if h.session.ended() {
		return fmt.Errorf("the session has ended: %w", clients.ErrNotHeld)
	}
	asked := false // an earlier request may have been carried out
	for {
		_, err := ask(ctx, h.session, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(h.path, -1) })
		switch {
		case err == nil, errors.Is(err, zk.ErrNoNode) && asked: // nobody but us deletes it while the session lives
			h.session.remove(h)
			return nil
		case errors.Is(err, zk.ErrNoNode):
			h.session.remove(h)
			return clients.ErrNotHeld
		case errors.Is(err, errOver) && !asked:
			return fmt.Errorf("%w: %w", err, clients.ErrNotHeld)
		case unsent(err):
		case cutOff(err):
			asked = true
		default:
			h.session.remove(h)
			h.session.giveUp("the session was given up after a request that was not answered")
			return fmt.Errorf("%w: %w", clients.ErrOpen, err)
		}
		if err := h.session.pause(ctx); err != nil {
			h.session.remove(h)
			h.session.giveUp("the session was given up after a request that was not answered")
			return fmt.Errorf("%w: %w", clients.ErrOpen, err)
		}
	}
}

// Held asks the session, and then ZooKeeper, as of now: a sync, and a look at the znode.
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	h, err := l.own(g)
	if err != nil {
		return err
	}
	if h.session.ended() {
		return fmt.Errorf("%q: its session has ended: %w", g.Key, clients.ErrNotHeld)
	}
	var stat *zk.Stat
	if _, err = h.session.sync(ctx); err == nil {
		stat, err = again(ctx, h.session, func(c *zk.Conn) (*zk.Stat, error) {
			_, stat, err := c.Get(h.path)
			return stat, err
		})
	}
	switch {
	case errors.Is(err, errOver):
		return fmt.Errorf("%q: %w: %w", g.Key, err, clients.ErrNotHeld)
	case errors.Is(err, zk.ErrNoNode), err == nil && stat.Czxid != h.token:
		return fmt.Errorf("%q: its znode %s has gone: %w", g.Key, h.path, clients.ErrNotHeld)
	case err != nil:
		return fmt.Errorf("ask ZooKeeper at %s who holds %q: %w", l.at(), g.Key, err)
	case h.session.ended():
		return fmt.Errorf("%q: its session has ended: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}
