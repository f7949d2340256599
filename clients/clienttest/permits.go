package clienttest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/lockchaos/lockchaos/clients"
)

// ownedGrant is a grant and whose it is.
type ownedGrant struct {
	lock clients.Lock
	clients.Grant
}

// fill takes n permits of the key, each for a client of its own.
func (s *suite) fill(key string, n int) (taken []ownedGrant) {
	s.Helper()
	for range n {
		l := s.open()
		taken = append(taken, ownedGrant{l, s.acquire(l, key)})
	}
	return taken
}

// drain gives back what still stands of the grants: some may have expired.
func (s *suite) drain(taken []ownedGrant) {
	s.Helper()
	for _, h := range taken {
		ctx := s.patience()
		err := h.lock.Release(ctx, h.Grant)
		for err != nil && !clients.Definite(err) && ctx.Err() == nil { // an open question
			err = h.lock.Release(ctx, h.Grant)
		}
		if err != nil && !errors.Is(err, clients.ErrNotHeld) {
			s.Errorf("release: %v", err)
		}
	}
}

func several(c clients.Claims) bool { return c.PerAcquire > 1 }

// taking is the lock, of which every acquire asks for so many permits.
type taking struct {
	clients.Lock
	n int
}

func (x taking) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return x.Lock.(clients.PermitLocker).AcquirePermits(ctx, key, x.n)
}

// severalPermits takes as many permits as one acquire may ask for, which fill
// the key where that is all, and is then refused two where one is left.
func severalPermits(s *suite) {
	claims := s.kind.Claims
	a, b, key := s.open(), s.open(), s.key()
	g := s.acquire(taking{a, claims.PerAcquire}, key)
	if claims.PerAcquire == claims.Permits {
		s.busy(b, key, "one client has all permits", g.Attempt)
	}
	s.release(a, g)
	filled := s.fill(key, claims.Permits-1)
	s.busy(taking{a, 2}, key, "one permit is left, and two are asked for", filled[0].Attempt)
	s.release(b, s.acquire(b, key)) // what was refused has left nothing behind
	s.drain(filled)
}

// spare is how many permits are left when one is held.
func (s *suite) spare() int { return s.kind.Claims.Permits - 1 }

// house fills the key with as many fresh clients as it has permits, all of
// which hold at one time: so no other permit is taken, and none is for ever.
func (s *suite) house(key string) (taken []ownedGrant) {
	s.Helper()
	s.eventually("as many fresh clients hold as there are permits", func() bool {
		taken = s.fill(key, s.kind.Claims.Permits)
		for _, h := range taken {
			if holder, ok := h.lock.(clients.Holder); ok && holder.Held(s.patience(), h.Grant) != nil {
				s.drain(taken)
				return false
			}
		}
		return true
	})
	return taken
}

func permits(s *suite) {
	late, key := s.open(), s.key()
	taken := s.fill(key, s.kind.Claims.Permits)
	s.busy(late, key, "every permit is taken", earliest(taken...))
	s.release(late, s.acquire(late, s.key())) // other keys are free
	s.drain(taken[1:])
	taken = append(taken[:1], s.fill(key, s.spare())...)
	s.drain(taken[:1])
	g := s.acquire(late, key)
	taken = append(taken[1:], ownedGrant{late, g})
	s.busy(s.open(), key, "every permit is taken again", earliest(taken...))
	s.drain(taken)
}

// crowding has many clients hold at random, and counts.
func crowding(s *suite) {
	const workers, rounds = 10, 10
	key := s.key()
	var holders, most atomic.Int64
	var group sync.WaitGroup
	for w := range workers {
		l := s.open()
		group.Go(func() {
			for range rounds {
				g, err := l.Acquire(s.patience(), key)
				if err != nil {
					s.Errorf("client %d: %v", w, err)
					return
				}
				n := holders.Add(1)
				if n > int64(s.kind.Claims.Permits) {
					s.Errorf("client %d was granted as one of %d", w, n)
				}
				for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
					continue
				}
				holders.Add(-1)
				if err := l.Release(s.patience(), g); err != nil {
					s.Errorf("client %d: release: %v", w, err)
					return
				}
			}
		})
	}
	group.Wait()
	if most.Load() == 0 {
		s.Error("nobody held")
	}
}

// frozenPermit stops the holder's process until others have every permit.
func frozenPermit(s *suite) {
	key := s.key()
	h := s.startHolder(key)
	token := h.expectGrant()
	h.send("held")
	h.expect("held")
	h.signal(syscall.SIGSTOP)
	taken := s.house(key)
	h.signal(syscall.SIGCONT)
	if h.holder {
		h.send("held")
		h.expect("not held")
	}
	if h.watcher {
		h.expectLost(token)
	}
	h.send("release")
	h.expect("released")
	s.drain(taken)
	taken = s.house(key) // what the loser did has made room for nobody
	s.busy(s.open(), key, "every permit is taken", earliest(taken...))
	s.drain(taken)
	h.send("acquire") // and it must be able to go on
	h.expectGrant()
}
