package clienttest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// try is an acquire that is given little time.
func (s *suite) try(l clients.Lock, key string) (g clients.Grant, err error) {
	s.Helper()
	err = s.limited(brief, func(ctx context.Context) (err error) {
		g, err = l.Acquire(ctx, key)
		return err
	})
	return g, err
}

// busy demands that the key is taken, by holders of which the first began its
// attempt at since. The answer must be definite, from a service that answers:
// an open question is asked again when the client has been granted another key.
func (s *suite) busy(l clients.Lock, key, why string, since int64) {
	s.Helper()
	for ctx := s.patience(); ; {
		_, err := s.try(l, key)
		switch {
		case errors.Is(err, clients.ErrBusy):
			return
		case err == nil:
			s.overtaken(since)
			s.Errorf("%s, and it was granted", why)
			return
		case clients.Definite(err) || ctx.Err() != nil:
			s.Errorf("%s: %v", why, err)
			return
		}
		s.Logf("%s, an open question: %v", why, err)
		s.release(l, s.acquire(l, s.key()))
	}
}

// overtaken ends the present run of the test if a lease that began at since, and that nobody
// renews, may be over, or if a holder tells by itself that it has lost what it held: on a busy
// machine a service may be silent for a TTL. The holder of the key may then have lost it to
// another, and what was seen says nothing about the lock.
func (s *suite) overtaken(since int64) {
	s.Helper()
	if s.mayBeOver(since) {
		decided.Lacks("answers within a lease of %v", s.TTL)
	}
	if s.kind.Claims.Notices == "alone" && s.losses.toldWithin(s.Slack/3) {
		decided.Lacks("holders that keep what they hold")
	}
}

// losses are what the holders of a run tell of losses.
type losses struct {
	mu   sync.Mutex
	told []func() bool
}

// watch adds a holder, by what reports whether it has told of a loss.
func (l *losses) watch(loss func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, loss)
}

// toldWithin reports whether a holder tells of a loss within a time. It is asked on the run's
// goroutine.
func (l *losses) toldWithin(limit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for began := time.Now(); ; time.Sleep(beat) {
		if slices.ContainsFunc(l.told, func(loss func() bool) bool { return loss() }) {
			return true
		}
		if time.Since(began) >= limit {
			return false
		}
	}
}

// mayBeOver reports whether a lease that began at since, and that nobody renews, may be over.
func (s *suite) mayBeOver(since int64) bool {
	c := s.kind.Claims
	return c.Validity != "session" && !c.NoExpiry && monotime.Since(since) >= s.TTL
}

// earliest is when the first of the grants was asked for, and with it the first
// lease that may be over.
func earliest(grants ...ownedGrant) int64 {
	first := grants[0].Attempt
	for _, g := range grants {
		first = min(first, g.Attempt)
	}
	return first
}
