package clienttest

import (
	"context"
	"errors"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
)

// RunQueue runs the suite for a queue in place of a lock: client 1 is the
// consumer and alone is granted, what others acquire is queued for it.
func RunQueue(t *testing.T, kind clients.Kind, s Service) {
	for _, test := range []test{
		{"only the consumer is granted", queueGrants, each},
		{"a job waits for its consumer", queueWaits, each},
		{"a dead consumer's job is its successor's", queueInherits, each},
		{"a stale acknowledgement is refused", queueStale, each},
		{"a frozen service is an open question", queueFrozen, each},
		{"a context that is over ends every call", overContextQueue, each},
	} {
		t.Run(test.name, func(t *testing.T) { newSuite(t, kind, s).whole(test.run) })
	}
}

const (
	consumer = 1
	producer = 2
)

func (s *suite) client(n int) clients.Lock {
	s.Helper()
	l, _ := s.openAs(n)
	return l
}

// submit queues a job.
func (s *suite) submit(l clients.Lock, key string) {
	s.Helper()
	if g, err := l.Acquire(s.patience(), key); !errors.Is(err, clients.ErrBusy) {
		s.Fatalf("a job was answered %v, %+v", err, g)
	}
}

// idle demands that there is no job.
func (s *suite) idle(l clients.Lock, key string) {
	s.Helper()
	if g, err := s.try(l, key); !errors.Is(err, clients.ErrBusy) {
		s.Errorf("there is no job: %+v, %v", g, err)
	}
}

func queueGrants(s *suite) {
	c, key := s.client(consumer), s.key()
	s.idle(c, key)
	for n := range 3 {
		s.submit(s.client(producer+n), key)
	}
	for range 3 {
		g := s.acquire(c, key)
		if err := c.(clients.Holder).Held(s.patience(), g); err != nil || g.Attempt == 0 || g.First == 0 ||
			g.Token != 0 {
			s.Errorf("%+v, held: %v", g, err)
		}
		s.release(c, g)
	}
	s.idle(c, key)
}

func queueWaits(s *suite) {
	c, key := s.client(consumer), s.key()
	result := make(chan error, 1)
	var g clients.Grant
	go func() {
		var err error
		g, err = c.Acquire(s.patience(), key)
		result <- err
	}()
	s.submit(s.client(producer), key)
	if err := <-result; err != nil {
		s.Fatal(err)
	}
	s.release(c, g)
}

func queueInherits(s *suite) {
	key := s.key()
	s.submit(s.client(producer), key)
	h := s.startHolderAs(consumer, key)
	h.expectGrant()
	h.kill()
	c := s.client(consumer)
	s.release(c, s.acquire(c, key))
	s.idle(c, key)
}

func queueStale(s *suite) {
	c, p, key := s.client(consumer), s.client(producer), s.key()
	s.submit(p, key)
	s.submit(p, key)
	first := s.acquire(c, key)
	s.release(c, first)
	second := s.acquire(c, key)
	for _, g := range []clients.Grant{first, {Key: key, Secret: "nobody's"}} {
		if err := c.Release(s.patience(), g); !errors.Is(err, clients.ErrNotHeld) {
			s.Errorf("%+v was acknowledged: %v", g, err)
		}
		if err := c.(clients.Holder).Held(s.patience(), g); !errors.Is(err, clients.ErrNotHeld) {
			s.Errorf("%+v is in progress: %v", g, err)
		}
	}
	if err := p.Release(s.patience(), second); !errors.Is(err, clients.ErrNotHeld) {
		s.Errorf("a producer acknowledged: %v", err)
	}
	s.release(c, second)
}

func queueFrozen(s *suite) {
	c, p, key := s.client(consumer), s.client(producer), s.key()
	s.submit(p, key)
	s.release(c, s.acquire(c, key))
	s.Stop(s.t)
	for name, l := range map[string]clients.Lock{"consumer": c, "producer": p} {
		if g, err := s.try(l, key); err == nil || clients.Definite(err) || g.First == 0 {
			s.Errorf("%s, at a frozen service: %+v, %v", name, g, err)
		}
	}
	s.Continue(s.t)
	s.submit(p, key) // there may be two jobs now, or one
	s.release(c, s.acquire(c, key))
}

func overContextQueue(s *suite) {
	c, p, key := s.client(consumer), s.client(producer), s.key()
	s.submit(p, key)
	g := s.acquire(c, key)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, l := range []clients.Lock{c, p} {
		if _, err := l.Acquire(over, key); err == nil || clients.Definite(err) {
			s.Errorf("acquire with a context that is over: %v", err)
		}
	}
	if err := c.Release(over, g); err == nil || clients.Definite(err) {
		s.Errorf("release with a context that is over: %v", err)
	}
	s.release(c, g)
}
