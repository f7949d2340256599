package clienttest

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// gone is the longest time after which a lock whose holder no longer refreshes
// it is free, but for the machine's slowness.
func (s *suite) gone() time.Duration { return s.TTL + s.Slack/2 }

func killedHolder(s *suite) {
	b, key := s.open(), s.key()
	since := monotime.Now()
	h := s.startHolder(key)
	token := h.expectGrant()
	rest := s.fill(key, s.spare())
	s.busy(b, key, "the holder lives", since)
	h.kill()
	start := time.Now()
	s.drain(rest)
	if s.spare() > 0 {
		s.drain(s.house(key))
	}
	g := s.acquire(b, key)
	if took := time.Since(start); took > s.gone() {
		s.Errorf("the dead holder's lock was free after %v, the TTL is %v", took, s.TTL)
	}
	s.tokenRises(&token, g)
	s.release(b, g)
}

// frozenHolder stops the holder's process until another has the key, as a long
// garbage collection would.
func frozenHolder(s *suite) {
	if s.kind.Claims.NoExpiry && s.kind.Control == "" {
		frozenKeeps(s)
		return
	}
	b, key := s.open(), s.key()
	h := s.startHolder(key)
	token := h.expectGrant()
	h.send("held")
	h.expect("held")
	h.signal(syscall.SIGSTOP)
	g, lost := s.acquire(b, key), token
	s.tokenRises(&token, g)
	h.signal(syscall.SIGCONT)
	if h.holder {
		h.send("held")
		h.expect("not held")
	}
	if h.watcher {
		h.expectLost(lost)
	}
	// What the loser does now must not touch the new holder.
	h.send("release")
	h.expect("released")
	s.stillHeld(b, g)
	// And it must be able to go on.
	h.send("acquire")
	h.expectNothing(g.Attempt)
	s.release(b, g)
	if again := h.expectGrant(); s.kind.Claims.Token == "fencing" && again <= token {
		s.Errorf("token %d after %d", again, token)
	}
}

// frozenKeeps: a lock that never expires by itself stays with a holder that is
// stopped, for longer than any TTL, and is still its own when it runs on.
func frozenKeeps(s *suite) {
	b, key := s.open(), s.key()
	h := s.startHolder(key)
	h.expectGrant()
	h.signal(syscall.SIGSTOP)
	for stopped := time.Now(); time.Since(stopped) < 2*s.TTL; {
		switch _, err := s.try(b, key); {
		case errors.Is(err, clients.ErrBusy):
		case err == nil || clients.Definite(err):
			s.Fatalf("the holder is only stopped: %v", err)
		default: // an open question, on a busy machine: once the client has been granted another key
			s.release(b, s.acquire(b, s.key()))
		}
	}
	h.signal(syscall.SIGCONT)
	h.send("held")
	h.expect("held")
	h.send("release")
	h.expect("released")
	s.release(b, s.acquire(b, key))
}

// staleRelease lets a grant expire, without its client knowing, and releases it
// when another holds the key.
func staleRelease(s *suite) {
	b, c, key := s.open(), s.open(), s.key()
	forged := clients.Grant{Key: key, Token: 1, Secret: "nobody's"}
	g := s.acquire(b, key)
	if err := c.Release(s.patience(), forged); !errors.Is(err, clients.ErrNotHeld) {
		s.Errorf("a forged grant was released: %v", err)
	}
	if h, ok := c.(clients.Holder); ok {
		if err := h.Held(s.patience(), forged); !errors.Is(err, clients.ErrNotHeld) {
			s.Errorf("a forged grant is held: %v", err)
		}
	}
	s.stillHeld(b, g)
	s.release(b, g)
	// The same grant once more, now that another holds the key.
	other := s.acquire(c, key)
	if err := b.Release(s.patience(), g); err != nil && !errors.Is(err, clients.ErrNotHeld) {
		s.Errorf("released twice: %v", err)
	}
	s.stillHeld(c, other)
	s.release(c, other)
}

// stillHeld demands that the hold stands, by asking and by trying.
func (s *suite) stillHeld(l clients.Lock, g clients.Grant) {
	s.Helper()
	if h, ok := l.(clients.Holder); ok {
		if err := h.Held(s.patience(), g); err != nil {
			s.overtaken(g.Attempt)
			s.Errorf("the hold should stand: %v", err)
		}
	}
	rest := s.fill(g.Key, s.spare())
	s.busy(s.open(), g.Key, "the key should be taken", earliest(append(rest, ownedGrant{l, g})...))
	s.drain(rest)
}

// frozenService stops the service in the middle of things. Whatever was asked
// may be carried out when it goes on.
func frozenService(s *suite) {
	a, b, key, free := s.open(), s.open(), s.key(), s.key()
	// b is connected, so that what it asks is sent. The service may not be over
	// the test before this one: then a connection ends.
	s.eventually("a release before the freeze",
		func() bool { return b.Release(s.patience(), s.acquire(b, free)) == nil })
	g := s.acquire(a, key)
	s.Stop(s.t)
	thawed := false
	thaw := func() {
		if !thawed {
			thawed = true
			s.Continue(s.t)
		}
	}
	defer thaw()
	if _, err := s.try(b, free); err == nil || clients.Definite(err) {
		s.Errorf("acquire from a frozen service: %v", err)
	}
	err := s.limited(brief, func(ctx context.Context) error { return a.Release(ctx, g) })
	if err == nil || clients.Definite(err) && !(errors.Is(err, clients.ErrNotHeld) && toldLoss(a)) {
		s.Errorf("release at a frozen service: %v", err)
	}
	if h, ok := a.(clients.Holder); ok {
		if err := s.limited(brief, func(ctx context.Context) error { return h.Held(ctx, g) }); err == nil {
			s.Error("a frozen service confirmed the hold")
		}
	}
	thaw()
	// The open release may not even have been sent. Asked again, the service
	// says. What the open acquire left ends by itself, and everyone can go on.
	s.drain([]ownedGrant{{a, g}})
	c := s.open()
	for _, k := range []string{key, free} {
		for _, l := range []clients.Lock{c, b, a} {
			s.release(l, s.acquire(l, k))
		}
	}
}

// toldLoss reports whether the lock has told of a loss: on a busy machine it may
// have been cut off for long enough by then.
func toldLoss(l clients.Lock) bool {
	w, tells := l.(clients.Watcher)
	return tells && len(w.Lost()) > 0
}

// cutOff stops the service for as long as it takes until the lock has told of
// its loss by its own clock.
func cutOff(s *suite) {
	l, key := s.open(), s.key()
	g := s.acquire(l, key)
	s.Stop(s.t)
	defer s.Continue(s.t)
	limit := time.Duration(s.kind.ClaimsFor(s.TTL).LostGrace) + s.TTL + s.Slack/3
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case loss := <-l.(clients.Watcher).Lost():
		if loss.Key != key || loss.Token != g.Token {
			s.Errorf("the lock told of %+v, the grant was %+v", loss, g)
		}
	case <-late.C:
		s.Errorf("the service has not answered for %v, and the lock told of no loss", limit)
	}
}

func overContext(s *suite) {
	a, key := s.open(), s.key()
	g := s.acquire(a, key)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	calls := []struct {
		name string
		call func() error
	}{
		{"acquire", func() error { _, err := a.Acquire(over, s.key()); return err }},
		{"release", func() error { return a.Release(over, g) }},
	}
	for _, c := range calls {
		start := time.Now()
		if err := c.call(); err == nil || errors.Is(err, clients.ErrBusy) {
			s.Errorf("%s with a context that is over: %v", c.name, err)
		}
		if took := time.Since(start); took > s.Slack/3 {
			s.Errorf("%s with a context that is over took %v", c.name, took)
		}
	}
	// The client is as good as before.
	k := s.key()
	s.release(a, s.acquire(a, k))
}
