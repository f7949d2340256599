package consul

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/lockchaos/lockchaos/clients"
)

// session is one at Consul, with what is held under it.
type session struct {
	id      string
	context context.Context // until it is over: ended, or given up
	end     context.CancelFunc

	mu    sync.Mutex
	holds map[*hold]bool // nil: it is over
}

// number is the session as a history names it: the first half of its name, which is a random UUID.
func (s *session) number() int64 {
	raw, err := hex.DecodeString(strings.ReplaceAll(s.id, "-", ""))
	if err != nil || len(raw) < 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(raw) & math.MaxInt64)
}

func (s *session) ended() bool { return s.context.Err() != nil }

// add takes note of a hold, unless the session is over.
func (s *session) add(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds == nil {
		return false
	}
	s.holds[h] = true
	return true
}

// has reports whether a hold stands, as far as is known.
func (s *session) has(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds[h]
}

// remove forgets a hold, and reports whether it stood.
func (s *session) remove(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stood := s.holds[h]
	delete(s.holds, h)
	return stood
}

// over ends what is done for the session, and returns the holds that go with it, the first time.
func (s *session) over() []*hold {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := slices.SortedFunc(maps.Keys(s.holds), func(a, b *hold) int { return strings.Compare(a.key, b.key) })
	s.holds = nil
	return gone
}

// open returns the client's session, a new one if there is none.
func (l *lock) open(ctx context.Context) (*session, error) {
	if s := l.current(); s != nil && !s.ended() {
		return s, nil
	}
	asked := time.Now()
	entry := &api.SessionEntry{Name: fmt.Sprintf("lockchaos client %d", l.config.Client), TTL: l.ttl.String(),
		LockDelay: lockDelay}
	id, _, err := l.consul.Session().Create(entry, (&api.WriteOptions{}).WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	s := &session{id: id, holds: map[*hold]bool{}}
	s.context, s.end = context.WithCancel(l.alive)
	l.config.Open(clients.Session{ID: s.number(), Password: []byte(id)})
	l.mu.Lock()
	l.session = s
	l.mu.Unlock()
	l.background.Go(func() { l.keep(s, asked) })
	return s, nil
}

func (l *lock) current() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// keep renews the session when half of its TTL is over, as the library does. Renewed is when it
// was asked for. When nobody has confirmed it for its TTL it may be over, and counts as such.
func (l *lock) keep(s *session, renewed time.Time) {
	for pause := l.ttl / 2; clients.Wait(s.context, pause) == nil; {
		known, asked, err := l.renew(s, renewed)
		switch {
		case err == nil && known:
			renewed, pause = asked, l.ttl/2
		case l.deaf:
			pause = retryPause
		case err == nil:
			l.giveUp(s, "Consul knows of no such session any more")
		case time.Since(renewed) >= l.ttl:
			l.giveUp(s, "nobody has confirmed the session for its TTL")
		default:
			pause = retryPause
		}
	}
}

// renew renews the session once, until nobody has confirmed it for its TTL, and
// reports whether Consul knows it, and when it was asked.
func (l *lock) renew(s *session, renewed time.Time) (known bool, asked time.Time, err error) {
	ctx, cancel := context.WithDeadline(s.context, renewed.Add(l.ttl))
	if l.deaf {
		ctx, cancel = context.WithCancel(s.context)
	}
	defer cancel()
	if err := l.config.Renewals.Pass(ctx); err != nil {
		return false, asked, err
	}
	ctx, cancel = context.WithTimeout(ctx, l.ttl/4)
	defer cancel()
	asked = time.Now()
	entry, _, err := l.consul.Session().Renew(s.id, (&api.WriteOptions{}).WithContext(ctx))
	return entry != nil, asked, err
}

// giveUp tells of what goes with a session, and destroys it. If that is not
// answered it ends by itself: nobody renews it any more.
func (l *lock) giveUp(s *session, why string) {
	l.tell(s.over(), why)
	l.background.Go(func() {
		ctx, cancel := context.WithTimeout(l.alive, 2*l.ttl)
		defer cancel()
		_ = l.destroy(ctx, s)
	})
}

// destroy ends a session at Consul. Servers that are electing a leader answer with an error of
// theirs: they are asked again until the context ends. To destroy a session twice does no harm.
func (l *lock) destroy(ctx context.Context, s *session) error {
	for {
		_, err := l.consul.Session().Destroy(s.id, (&api.WriteOptions{}).WithContext(ctx))
		said, answered := errors.AsType[api.StatusError](err)
		if !answered || said.Code < http.StatusInternalServerError ||
			clients.Wait(ctx, retryPause) != nil {
			return err
		}
	}
}

// tell sends lost-events.
func (l *lock) tell(lost []*hold, why string) {
	for _, h := range lost {
		clients.Tell(l.losses, clients.Loss{Key: h.key, Token: h.token, Why: why}, l.alive.Done(), l.background.Go)
	}
}
