package zookeeper

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// session is one session with ZooKeeper and what is held under it. The library
// would open another when it expires, on the same connection; here that is a new
// value, so that nothing of the old one is ever taken for part of the new one.
type session struct {
	client *client
	conn   *zk.Conn
	wire   *wire
	up     chan struct{} // closed when it was granted
	done   chan struct{} // closed when it is over
	first  sync.Once

	mu        sync.Mutex
	over      bool
	confirmed time.Time // when the last sync was sent that the leader answered
	holds     map[*hold]bool
}

// hold is the secret of a grant.
type hold struct {
	session *session
	key     string
	path    string // of our znode; "" when the library does not tell
	token   int64
	lock    *zk.Lock // the library's, or nil
}

// connect begins a session. The library connects in the background.
func (c *client) connect() (*session, error) {
	s := &session{client: c, up: make(chan struct{}), done: make(chan struct{}), holds: map[*hold]bool{}}
	s.wire = &wire{patience: c.ttl / 3, dials: c.servers.Dial, opened: c.opened, links: map[*link]bool{}}
	// Until the connection is returned, events find a session without one: they wait for it.
	s.mu.Lock()
	conn, _, err := c.servers.Connect(c.ttl, s.wire.dial, s.hear)
	s.conn = conn
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.session = s
	c.mu.Unlock()
	if c.keeps {
		c.background.Go(s.keep)
	}
	return s, nil
}

// hear is called by the library, and must not wait.
func (s *session) hear(e zk.Event) {
	switch {
	case e.Type != zk.EventSession:
	case e.State == zk.StateHasSession:
		s.first.Do(s.begin)
	case e.State == zk.StateExpired:
		s.end("the session expired")
	}
}

// begin has the session used, after a login where the addresses name a user.
func (s *session) begin() {
	if !s.client.servers.LogsIn() {
		close(s.up)
		return
	}
	s.client.background.Go(func() {
		_, err := again(context.Background(), s, func(c *zk.Conn) (struct{}, error) {
			return struct{}{}, s.client.servers.LogIn(c)
		})
		if err != nil {
			s.end("the login was refused: " + err.Error())
			return
		}
		close(s.up)
	})
}

// connection is the library's. It waits until there is one.
func (s *session) connection() *zk.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// end marks the session as over, tells of what was held under it (unless why is
// empty), and closes it in the background.
func (s *session) end(why string) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.over = true
	lost := slices.SortedFunc(maps.Keys(s.holds), func(a, b *hold) int { return strings.Compare(a.key, b.key) })
	clear(s.holds)
	close(s.done)
	s.mu.Unlock()
	if why != "" {
		s.client.tell(lost, why)
	}
	s.client.background.Go(func() {
		s.conn.Close() // asks ZooKeeper to end the session, and waits for the answer, for a second
		s.wire.cut()
	})
}

func (s *session) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return s.silent() && s.giveUp("nothing was heard from ZooKeeper for most of the session's timeout")
	}
}

// giveUp ends the session and returns true.
func (s *session) giveUp(why string) bool {
	s.end(why)
	return true
}

// add takes note of a hold that the leader confirmed when it was asked at the
// given time, unless the session is over.
func (s *session) add(h *hold, confirmed time.Time) bool {
	s.mu.Lock()
	if !s.over {
		s.holds[h] = true
		s.confirmed = confirmed
	}
	s.mu.Unlock()
	return !s.ended()
}

func (s *session) remove(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, h)
}

// limit is how long the session may be counted on after the last sign of life
// that the leader answered.
func (s *session) limit() time.Duration {
	ttl := s.client.ttl
	if granted := time.Duration(s.wire.granted.Load()); granted > 0 {
		ttl = min(ttl, granted)
	}
	return ttl * 5 / 6
}

// deadline is when the session will be silent, if something is held and nothing more is heard.
func (s *session) deadline() (at time.Time, holding bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.confirmed.Add(s.limit()), s.client.keeps && len(s.holds) > 0
}

func (s *session) silent() bool {
	at, holding := s.deadline()
	return holding && !time.Now().Before(at)
}

// keep asks the leader for as long as the session lasts and something is held.
func (s *session) keep() {
	tick := time.NewTicker(s.client.ttl / 12)
	defer tick.Stop()
	for !s.ended() {
		if at, holding := s.deadline(); holding {
			ctx, cancel := context.WithDeadline(context.Background(), at)
			s.confirm(ctx)
			cancel()
		}
		select {
		case <-tick.C:
		case <-s.done:
			return
		}
	}
}

// confirm asks the leader whether the session lives.
func (s *session) confirm(ctx context.Context) {
	asked, err := s.sync(ctx)
	if err != nil {
		return // the deadline will tell
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked.After(s.confirmed) {
		s.confirmed = asked
	}
}

// sync has the leader answer for the session, and returns when it was asked.
func (s *session) sync(ctx context.Context) (asked time.Time, err error) {
	for {
		asked = time.Now()
		_, err = ask(ctx, s, func(c *zk.Conn) (string, error) { return c.Sync(root) })
		if !unsent(err) && !cutOff(err) {
			return asked, err
		}
		if err := s.pause(ctx); err != nil {
			return asked, err
		}
	}
}

// pause waits a moment, or until the context or the session ends, which is an error.
func (s *session) pause(ctx context.Context) error {
	t := time.NewTimer(retryPause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.done:
		return errOver
	case <-ctx.Done():
		return ctx.Err()
	}
}
