package clienttest

import (
	"context"

	"github.com/lockchaos/lockchaos/clients"
)

func sets(c clients.Claims) bool { return c.MultiKey > 1 }

// withSecondKey is the lock, of which every acquire asks for another key too, after its own.
type withSecondKey struct {
	clients.Lock
	with string
}

func (x withSecondKey) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return x.Lock.(clients.SetLocker).AcquireSet(ctx, []string{key, x.with})
}

// severalKeys takes two keys at once, so that neither can be had, alone or with a
// third. What was refused has left nothing behind, and one release gives both back.
func severalKeys(s *suite) {
	a, b := s.open(), s.open()
	first, second, third := s.key(), s.key(), s.key()
	g := s.acquire(withSecondKey{a, second}, first)
	s.busy(b, second, "it was granted together with another", g.Attempt)
	s.busy(withSecondKey{b, first}, third, "one of two is taken", g.Attempt)
	s.busy(withSecondKey{b, third}, second, "one of two is taken, and asked for first", g.Attempt)
	s.release(b, s.acquire(b, third))
	s.release(a, g)
	s.release(b, s.acquire(withSecondKey{b, second}, first))
}
