package backendstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Open opens a lock on a service until the end of the test.
func Open(t *testing.T, kind clients.Kind, s *backends.Service, ttl time.Duration, client int) clients.Lock {
	t.Helper()
	l, err := kind.Open(Limit(t), clients.Config{Nodes: s.Addrs(), TTL: ttl, Client: client,
		Identity: clients.IdentityOf(client, 0), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

// Refused demands that a lock is refused a key that another has. Where the
// machine was too slow for an answer, it is asked again: so many attempts had none before.
func Refused(t *testing.T, l clients.Lock, key string) (unanswered int) {
	t.Helper()
	unanswered = -1
	decided.Run(t, func() {
		unanswered++
		switch g, err := l.Acquire(Shortly(t), key); {
		case errors.Is(err, clients.ErrBusy):
		case err == nil || clients.Definite(err):
			t.Errorf("%s is taken: %+v, %v", key, g, err)
		default:
			decided.Lacks("an answer in time: %v", err)
		}
	})
	return unanswered
}

// Released gives a grant back. A run that takes longer than the lease decides nothing.
func Released(t *testing.T, l clients.Lock, g clients.Grant, ttl time.Duration) {
	t.Helper()
	err := l.Release(Limit(t), g)
	Within(g, ttl, err)
	if err != nil {
		t.Fatal(err)
	}
}

// Within ends a run with an error whose lease may be over: whatever was asked for came too late.
func Within(g clients.Grant, ttl time.Duration, err error) {
	if err != nil && monotime.Since(g.Attempt) >= ttl {
		decided.Lacks("a run within a lease of %v: %v", ttl, err)
	}
}

// OpenTry asks for a key that too few servers answer for, and demands that the
// outcome is open, and that it is told since when.
func OpenTry(t *testing.T, l clients.Lock, key string) {
	t.Helper()
	began := monotime.Now()
	g, err := l.Acquire(Shortly(t), key)
	if err != nil && !clients.Definite(err) && g.First == 0 {
		decided.Lacks("an attempt that was begun in time: %v", err)
	}
	if err == nil || clients.Definite(err) || g.First < began || g.First > monotime.Now() {
		t.Errorf("%+v, %v", g, err)
	}
}

// CheckBusy gives acquires of a taken key little time, so that it ends in the middle of an
// attempt now and then. Some may end before they have begun, but never is anything open.
func CheckBusy(t *testing.T, l clients.Lock, key string) {
	t.Helper()
	busy := 0
	for i := range 50 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*100*time.Microsecond)
		g, err := l.Acquire(ctx, key)
		cancel()
		switch {
		case errors.Is(err, clients.ErrBusy):
			busy++
		case err == nil || clients.Definite(err):
			t.Errorf("%s is taken: %+v, %v", key, g, err)
		case g.First != 0:
			decided.Lacks("answers of a taken key in time: %+v, %v", g, err)
		}
	}
	t.Logf("%s was busy %d times", key, busy)
	Refused(t, l, key)
}

// GrantThatIsOver tries a lock whose answer comes after the TTL: it grants nothing. The lock gives
// it back and asks again.
func GrantThatIsOver(t *testing.T, kind clients.Kind) {
	t.Helper()
	decided.Run(t, func() { grantThatIsOver(t, kind) })
}

func grantThatIsOver(t *testing.T, kind clients.Kind) {
	const ttl = time.Second
	s := Start(t, kind.Service)
	l := Open(t, kind, s, ttl, 1)
	g, err := l.Acquire(Limit(t), "warm") // connected
	if err != nil {
		t.Fatal(err)
	}
	Released(t, l, g, ttl)
	// PostgreSQL's sessions are no part of its process group
	pause, err := s.Nodes[0].Host.Stop(Limit(t))
	if err != nil {
		t.Fatal(err)
	}
	began, granted := monotime.Now(), make(chan error, 1)
	go func() {
		g, err = l.Acquire(Limit(t), "k")
		granted <- err
	}()
	time.Sleep(ttl + ttl/4) // what is tested is a length of time
	resumed := monotime.Now()
	if err := pause.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-granted; err != nil {
		t.Fatal(err)
	}
	if resumed-g.Attempt >= int64(ttl) {
		t.Errorf("granted by an attempt that was unanswered for %v, and a TTL of %v", time.Duration(resumed-g.Attempt), ttl)
	} else if g.Attempt-began < int64(ttl) {
		decided.Lacks("an attempt that was begun in time: %v after the call", time.Duration(g.Attempt-began))
	}
	Released(t, l, g, ttl)
}
