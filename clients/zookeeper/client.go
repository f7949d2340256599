package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/endpoint/zkurl"
)

// client is what the locks of this package have in common: a session at a time,
// and what was held under it.
type client struct {
	servers *zkurl.Servers
	ttl     time.Duration // session timeout that is asked for
	// keeps: the client watches over its session by its own clock.
	keeps  bool
	lost   chan clients.Loss
	opened func(clients.Session)

	closed  chan struct{}
	mu      sync.Mutex
	session *session
	// background are tasks that end with their session at the latest.
	background tasks
}

// minTTL is what a session can be watched over with: shorter ones leave no time for an answer.
const minTTL = 100 * time.Millisecond

// openPatience is how long Open waits for the session.
const openPatience = time.Second

// newClient makes a client and opens its session, so that the first acquire
// need not. If that takes long, the acquire waits for the rest.
func newClient(ctx context.Context, c clients.Config, keeps bool) (*client, error) {
	if len(c.Nodes) == 0 {
		return nil, errors.New("a ZooKeeper lock needs the address of at least one member; none was configured")
	}
	if ttl := c.TTL; ttl < minTTL {
		return nil, fmt.Errorf("ZooKeeper at %s: a session timeout (TTL) of %v; configure %v or more",
			strings.Join(c.Nodes, ","), ttl, minTTL)
	}
	servers, err := zkurl.Open(c.Nodes, nil)
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper: %w", err)
	}
	made := &client{servers: servers, ttl: c.TTL, keeps: keeps, lost: make(chan clients.Loss, 16),
		opened: c.Open,
		closed: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	// what goes wrong now goes wrong again when the session is needed, and is told then
	_, _ = made.open(ctx)
	return made, nil
}

// Lost tells of grants whose session ended.
func (c *client) Lost() <-chan clients.Loss { return c.lost }

// GrantedTTL returns the timeout of the present session.
func (c *client) GrantedTTL() time.Duration {
	if s := c.current(); s != nil {
		return time.Duration(s.wire.granted.Load())
	}
	return 0
}

// Close closes the session, with which ZooKeeper deletes its znodes, and the connection.
func (c *client) Close(ctx context.Context) error {
	if s := c.current(); s != nil {
		s.end("") // what the client gives up itself is not lost
	}
	c.mu.Lock()
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	c.mu.Unlock()
	select {
	case <-c.background.Ended():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the session at ZooKeeper %s (it expires by itself in %v): %w", c.at(), c.ttl,
			ctx.Err())
	}
}

// current returns the session if there is one that is not over.
func (c *client) current() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil || c.session.ended() {
		return nil
	}
	return c.session
}

// open returns the client's session, connected; a new one if there is none.
func (c *client) open(ctx context.Context) (*session, error) {
	s := c.current()
	if s == nil {
		select {
		case <-c.closed:
			return nil, errClosed
		default:
		}
		var err error
		if s, err = c.connect(); err != nil {
			return nil, fmt.Errorf("open a session: %w", err)
		}
	}
	select {
	case <-s.up:
		return s, nil
	case <-s.done:
		return nil, errOver
	case <-ctx.Done():
		return nil, fmt.Errorf("open a session: %w", ctx.Err())
	}
}

// tell sends lost-events.
func (c *client) tell(lost []*hold, why string) {
	for _, h := range lost {
		clients.Tell(c.lost, clients.Loss{Key: h.key, Token: h.token, Why: why}, c.closed, c.background.Go)
	}
}

// own returns the hold of a grant of this client.
func (c *client) own(g clients.Grant) (*hold, error) {
	h, ok := g.Secret.(*hold)
	if !ok || h.session.client != c {
		return nil, fmt.Errorf("%q: the grant is not one of this client's: %w", g.Key, clients.ErrNotHeld)
	}
	return h, nil
}

func (c *client) at() string { return strings.Join(c.servers.Names, ",") }

// attempts makes attempts at an acquire until ctx is done.
func (c *client) attempts(ctx context.Context, key string, attempt func() (clients.Grant, error)) (clients.Grant,
	error) {
	g, err := clients.Attempts(ctx, key, retryPause, attempt, errClosed)
	if err != nil {
		err = fmt.Errorf("acquire %q from ZooKeeper at %s: %w", key, c.at(), err)
	}
	return g, err
}

// retryPause is the pause before a question is asked again that found no connection, or lost it.
const retryPause = 20 * time.Millisecond

var (
	// errClosed: there will be no session any more.
	errClosed = errors.New("the client is closed")
	// errOver: the session has ended, or was given up.
	errOver = errors.New("the session is over")
)

// ask runs a call of the library, which knows no contexts, and leaves it behind
// when ctx or the session ends.
func ask[T any](ctx context.Context, s *session, call func(*zk.Conn) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	result := make(chan answer, 1)
	s.client.background.Go(func() {
		v, err := call(s.connection())
		result <- answer{v, err}
	})
	var none T
	select {
	case a := <-result:
		if errors.Is(a.err, zk.ErrSessionExpired) {
			s.end("the session expired")
			return none, errOver
		}
		return a.value, a.err
	case <-s.done:
		return none, errOver
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// again asks until there is an answer: for what may be asked twice.
func again[T any](ctx context.Context, s *session, call func(*zk.Conn) (T, error)) (T, error) {
	for {
		v, err := ask(ctx, s, call)
		if !unsent(err) && !cutOff(err) {
			return v, err
		}
		if err := s.pause(ctx); err != nil {
			return v, err
		}
	}
}

// unsent reports whether a request certainly was not sent.
func unsent(err error) bool { return errors.Is(err, zk.ErrNoServer) }

// cutOff reports whether the connection ended before there was an answer.
func cutOff(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionMoved)
}

// directory is where the znodes of a lock's queue live. Keys are escaped, so
// that "a" is no part of "a/b".
func directory(root, key string) string { return root + "/key-" + url.PathEscape(key) }

// makeDirectory creates the znodes of a path that are not there yet. They stay. It asks nothing of
// those that are there: who may use one need not have the right to make it.
func (s *session) makeDirectory(ctx context.Context, dir string) error {
	create := func() error {
		_, err := again(ctx, s, func(c *zk.Conn) (string, error) { return c.Create(dir, nil, 0, everyone) })
		return err
	}
	err := create()
	if errors.Is(err, zk.ErrNoNode) {
		if err = s.makeDirectory(ctx, path.Dir(dir)); err != nil {
			return err
		}
		err = create()
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	return nil
}

// everyone may do everything: access control is not what is tried here.
var everyone = zk.WorldACL(zk.PermAll)
