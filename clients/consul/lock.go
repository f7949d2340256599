// Package consul has locks on Consul: the Lock and the Semaphore of its
// official API, with a session of the client's own.
//
// A session ends when nobody has renewed it for its TTL. Consul takes that for a
// lower bound: it may stay for twice as long. The library tells of the end by a
// query that waits at a server for a change of the lock's key, without a time limit:
// who is cut off hears nothing (https://github.com/hashicorp/consul/issues/18271).
// So an honest lock also counts the time since its session was last renewed.
package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/endpoint/consulurl"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Session is the lock consul-session. Its token is the key's LockIndex, which rises with
// each time that the key is taken: with the key and the session it is the "sequencer" of
// https://developer.hashicorp.com/consul/docs/dynamic-app-config/sessions.
var Session = exclusive("consul-session",
	"the Lock of Consul's official API: a key that the client's session holds; the key's LockIndex is a fencing token",
	"", false)

// BrokenDeaf is the control broken-consul-deaf: consul-session that hears of
// its session's end from the library's channel alone.
var BrokenDeaf = exclusive("broken-consul-deaf",
	"consul-session that does not look at its session: only the library's channel tells of a loss, and who is cut off hears nothing", checker.MutualExclusion, true)

// Semaphore is the lock consul-semaphore.
var Semaphore = kind("consul-semaphore",
	"the Semaphore of Consul's official API, for two: a key with the list of holders, and a key for each that its session holds",
	clients.Claims{Validity: "session", Token: "none", Notices: "alone", Permits: 2}, false, func(l *lock) {
		l.look = l.shared
		l.prepare = func(key, session string) (holder, error) {
			s, err := l.consul.SemaphoreOpts(&api.SemaphoreOptions{Prefix: prefix + key, Limit: 2, Session: session,
				SemaphoreWaitTime: pollTime})
			if err != nil {
				return holder{}, err
			}
			return holder{take: s.Acquire, give: s.Release}, nil
		}
	})

func exclusive(called, about, control string, deaf bool) clients.Kind {
	k := kind(called, about, clients.Claims{Validity: "session", Token: "fencing", Confirms: []string{"held"},
		Notices: "alone", Permits: 1}, deaf, func(l *lock) {
		l.prepare = func(key, session string) (holder, error) {
			m, err := l.consul.LockOpts(&api.LockOptions{Key: prefix + key, Session: session, LockWaitTime: pollTime})
			if err != nil {
				return holder{}, err
			}
			return holder{take: m.Lock, give: m.Unlock}, nil
		}
	})
	k.Control = control
	return k
}

func kind(called, about string, claims clients.Claims, deaf bool, with func(*lock)) clients.Kind {
	return clients.Kind{
		Name: called, About: about, Service: "consul", Claims: claims, Renews: true,
		// Who is cut off knows it a TTL after the last renewal that was
		// answered, and the session stands for that long at least.
		LostGrace: func(ttl time.Duration) time.Duration { return max(ttl, 2*time.Second) },
		Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
			l, err := open(c)
			if err != nil {
				return nil, err
			}
			l.deaf = deaf
			with(l)
			return l, nil
		},
	}
}

const (
	prefix = "lockchaos/"
	// lockDelay is for how long nobody is given a key whose holder's session has ended.
	lockDelay = time.Second
	// pollTime is for how long the library asks at a time whether the key is free.
	// Only between two such questions does it look whether the wait is given up.
	pollTime = 200 * time.Millisecond
	// grace is how long a call that is given up waits for the library to see that.
	grace = pollTime + 300*time.Millisecond
	// retryPause is the pause after an attempt that failed.
	retryPause = 50 * time.Millisecond
)

const unanswered = "the session was given up after a request that was not answered"

// holder is what Lock and Semaphore of the library have in common.
type holder struct {
	take func(stop <-chan struct{}) (lost <-chan struct{}, err error)
	give func() error
}

// hold is the secret of a grant.
type hold struct {
	holder
	lock    *lock
	session *session
	key     string
	token   int64
}

type lock struct {
	config    clients.Config
	consul    *api.Client
	ttl       time.Duration
	transport *http.Transport
	prepare   func(key, session string) (holder, error)
	// asks the leader whether the hold stands
	look   func(ctx context.Context, h *hold) (token int64, err error)
	deaf   bool
	losses chan clients.Loss

	alive context.Context // until Close
	end   context.CancelFunc
	// background are tasks that end with alive at the latest.
	background sync.WaitGroup

	mu      sync.Mutex
	session *session // the newest
}

func open(c clients.Config) (*lock, error) {
	nodes, ttl := strings.Join(c.Nodes, ","), c.TTL
	if len(c.Nodes) == 0 {
		return nil, errors.New("a lock on Consul needs the addresses of its servers; none were configured")
	}
	if ttl < time.Second {
		return nil, fmt.Errorf("servers of Consul at %s: a TTL of %v; configure one second or more", nodes, ttl)
	}
	l := &lock{config: c, ttl: ttl, losses: make(chan clients.Loss, 16)}
	l.look = l.exclusive
	l.alive, l.end = context.WithCancel(context.Background())
	// A client asks the agent at its side, which asks whichever server it reaches. Here there
	// is no agent: a client begins with one server, and tries the next when it can't connect.
	first := c.Client % len(c.Nodes)
	order := slices.Concat(c.Nodes[first:], c.Nodes[:first])
	config, transport, err := consulurl.Config(order, (&net.Dialer{Timeout: ttl / 8}).DialContext)
	if err != nil {
		return nil, fmt.Errorf("servers of Consul at %s: %w", nodes, err)
	}
	config.HttpClient.Transport = ends{l.alive, transport}
	l.transport = transport
	l.consul, err = api.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("servers of Consul at %s: %w", nodes, err)
	}
	return l, nil
}

// ends gives requests that have no end one: those that the library makes by itself.
type ends struct {
	at   context.Context
	next http.RoundTripper
}

func (e ends) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Done() == nil {
		r = r.WithContext(e.at)
	}
	return e.next.RoundTrip(r)
}

func (l *lock) at() string { return strings.Join(l.config.Nodes, ",") }

// Acquire makes attempts until ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := clients.Attempts(ctx, key, retryPause, func() (clients.Grant, error) {
		h, asked, err := l.attempt(ctx, key)
		if err != nil {
			return clients.Grant{}, err
		}
		return clients.Grant{Key: key, Token: h.token, Attempt: asked, First: asked, Session: h.session.number(),
			Secret: h}, nil
	})
	if err != nil {
		err = fmt.Errorf("acquire %q from Consul at %s: %w", key, l.at(), err)
	}
	return g, err
}

// attempt lets the library take the key for the client's session.
func (l *lock) attempt(ctx context.Context, key string) (h *hold, asked int64, err error) {
	s, err := l.open(ctx)
	if err != nil {
		return nil, 0, err
	}
	h = &hold{lock: l, session: s, key: key}
	if h.holder, err = l.prepare(key, s.id); err != nil {
		return nil, 0, err
	}
	asked = monotime.Now()
	lost, err := l.take(ctx, h)
	switch {
	case err != nil:
		l.giveUp(s, unanswered)
		return nil, 0, fmt.Errorf("%w: %w", clients.ErrOpen, err)
	case lost == nil: // it was told to stop, and had been refused
		return nil, 0, clients.ErrBusy
	}
	if h.token, err = l.look(ctx, h); err != nil || !s.add(h) {
		l.giveUp(s, unanswered)
		return nil, 0, fmt.Errorf("%w: %w", clients.ErrOpen,
			errors.Join(err, errors.New("the session may have ended with the grant")))
	}
	l.background.Go(func() { l.watch(h, lost) })
	return h, asked, nil
}

// take runs the library's call, which looks at its stop channel between two
// requests. One that hangs is left behind.
func (l *lock) take(ctx context.Context, h *hold) (<-chan struct{}, error) {
	type result struct {
		lost <-chan struct{}
		err  error
	}
	taken := make(chan result, 1)
	l.background.Go(func() {
		lost, err := h.holder.take(ctx.Done())
		taken <- result{lost, err}
	})
	late, cancel := clients.WithGrace(ctx, grace)
	defer cancel()
	select {
	case r := <-taken:
		return r.lost, r.err
	case <-late.Done():
		return nil, ctx.Err()
	}
}

// exclusive asks the leader for the key of a Lock, and returns its LockIndex.
func (l *lock) exclusive(ctx context.Context, h *hold) (int64, error) {
	pair, err := l.owned(ctx, prefix+h.key, h.session)
	if err != nil {
		return 0, err
	}
	return int64(pair.LockIndex), nil
}

// shared asks the leader for what a Semaphore stands for: the key that the
// session holds, and the list that has it.
func (l *lock) shared(ctx context.Context, h *hold) (int64, error) {
	if _, err := l.owned(ctx, prefix+h.key+"/"+h.session.id, h.session); err != nil {
		return 0, err
	}
	list, _, err := l.consul.KV().Get(prefix+h.key+"/"+api.DefaultSemaphoreKey,
		(&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
	if err != nil {
		return 0, err
	}
	var in struct{ Holders map[string]bool }
	if list == nil || json.Unmarshal(list.Value, &in) != nil || !in.Holders[h.session.id] {
		return 0, fmt.Errorf("session %s is not among the holders: %w", h.session.id, clients.ErrNotHeld)
	}
	return 0, nil
}

// owned asks the leader for a key, and returns it if the session holds it.
func (l *lock) owned(ctx context.Context, key string, s *session) (*api.KVPair, error) {
	pair, _, err := l.consul.KV().Get(key, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
	if err == nil && (pair == nil || pair.Session != s.id) {
		err = fmt.Errorf("session %s does not hold it: %w", s.id, clients.ErrNotHeld)
	}
	return pair, err
}

// watch tells of the loss that the library tells of.
func (l *lock) watch(h *hold, lost <-chan struct{}) {
	select {
	case <-lost:
	case <-l.alive.Done():
		return
	}
	if h.session.remove(h) {
		const why = "the library says that it is lost" // also when it could not ask
		l.tell([]*hold{h}, why)
		l.giveUp(h.session, why) // nobody may hold it from now on
	}
}

// Release gives the key back. The library does not tell whether it was still ours.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	err := l.release(ctx, g)
	if err != nil {
		return fmt.Errorf("release %q at Consul %s: %w", g.Key, l.at(), err)
	}
	return nil
}

func (l *lock) release(ctx context.Context, g clients.Grant) error {
	if err := ctx.Err(); err != nil {
		return err // nothing is sent
	}
	h, ok := g.Secret.(*hold)
	if !ok || h.lock != l || !h.session.remove(h) {
		return fmt.Errorf("the grant is none of this client's, or its session has ended: %w", clients.ErrNotHeld)
	}
	given := make(chan error, 1)
	l.background.Go(func() { given <- h.give() })
	late, cancel := clients.WithGrace(ctx, grace)
	defer cancel()
	var err error
	select {
	case err = <-given:
	case <-late.Done():
		err = ctx.Err()
	}
	if err != nil {
		l.giveUp(h.session, unanswered)
		return fmt.Errorf("%w: %w", clients.ErrOpen, err)
	}
	return nil
}

// Held asks the leader whose the key is.
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	h, ok := g.Secret.(*hold)
	if !ok || h.lock != l || !h.session.has(h) {
		return fmt.Errorf("%q: the grant is none of this client's, or is over: %w", g.Key, clients.ErrNotHeld)
	}
	token, err := l.look(ctx, h)
	if err == nil && token != h.token {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("ask Consul at %s who holds %q: %w", l.at(), g.Key, err)
	}
	return nil
}

// Lost tells of grants that are lost.
func (l *lock) Lost() <-chan clients.Loss { return l.losses }

// Close destroys the session, with which its keys are free, and closes the connections.
func (l *lock) Close(ctx context.Context) error {
	var err error
	if s := l.current(); s != nil {
		s.over() // what the client gives up itself is not lost
		if err = l.destroy(ctx, s); err != nil {
			err = fmt.Errorf("destroy session %s at Consul %s: %w", s.id, l.at(), err)
		}
	}
	l.end()
	l.background.Wait()
	l.transport.CloseIdleConnections()
	return err
}
