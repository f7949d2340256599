package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// watched opens a watchdog's lock through the proxy and takes the key "k".
func watched(t testing.TB, addr string) (clients.Lock, clients.Grant, <-chan clients.Loss) {
	t.Helper()
	l := open(t, redis.Watchdog, addr)
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	return l, g, l.(clients.Watcher).Lost()
}

// checkLost waits for the lost-event of key "k".
func checkLost(t testing.TB, lost <-chan clients.Loss) {
	t.Helper()
	select {
	case loss := <-lost:
		if loss.Key != "k" || loss.Token != 0 || loss.Why == "" {
			t.Errorf("%+v", loss)
		}
	case <-backendstest.Limit(t).Done():
		t.Fatal("nobody told of the loss")
	}
}

// TestWatchdogRenews holds a grant for three leases, then gives it back: from
// then on nobody renews.
func TestWatchdogRenews(t *testing.T) { clienttest.Calmly(t, stall, watchdogRenews) }

func watchdogRenews(t testing.TB) {
	server := startServer(t)
	l, g, lost := watched(t, server.addr)
	b := open(t, redis.Setnx, server.addr)
	long, cancel := context.WithTimeout(t.Context(), 3*ttl)
	defer cancel()
	if other, err := b.Acquire(long, "k"); !errors.Is(err, clients.ErrBusy) {
		t.Fatalf("another was granted a key that is renewed: %+v, %v", other, err)
	}
	select {
	case loss := <-lost:
		t.Errorf("told of a loss that did not happen: %+v", loss)
	default:
	}
	if err := l.Release(backendstest.Limit(t), g); err != nil {
		t.Fatal(err)
	}
	other, err := b.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	left, err := server.client(t).PTTL(backendstest.Limit(t), "lock:{k}").Result()
	if err != nil || left > ttl {
		t.Errorf("%v left, %v", left, err)
	}
	// The other's lease runs out by itself, for all that the watchdog does.
	if _, err := l.Acquire(backendstest.Limit(t), "k"); err != nil {
		t.Errorf("after the lease of %+v: %v", other, err)
	}
}

// TestWatchdogSeesDeletion: the key goes, and with it the grant.
func TestWatchdogSeesDeletion(t *testing.T) { clienttest.Calmly(t, stall, watchdogSeesDeletion) }

func watchdogSeesDeletion(t testing.TB) {
	server := startServer(t)
	l, g, lost := watched(t, server.addr)
	if err := server.client(t).Set(backendstest.Limit(t), "lock:{k}", "another's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	checkLost(t, lost)
	if err := l.Release(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release of a lost grant: %v", err)
	}
	if value, err := server.client(t).Get(backendstest.Limit(t), "lock:{k}").Result(); value != "another's" {
		t.Errorf("the other's key was touched: %q, %v", value, err)
	}
}

// TestWatchdogUnanswered: a server that is silent for a lease is as bad as one
// that says no; one lost answer is not.
func TestWatchdogUnanswered(t *testing.T) { clienttest.Calmly(t, stall, watchdogUnanswered) }

func watchdogUnanswered(t testing.TB) {
	server := startServer(t)
	p := startProxy(t, server.addr)
	l, g, lost := watched(t, p.addr)
	p.loseAnswers(1)
	for within := backendstest.Limit(t); p.lose.Load() > 0; { // until a renewal's answer is lost
		select {
		case <-time.After(time.Millisecond):
		case loss := <-lost:
			t.Fatalf("told of a loss before an answer was lost: %+v", loss)
		case <-within.Done():
			t.Fatal("nothing was renewed")
		}
	}
	if err := l.(clients.Holder).Held(backendstest.Limit(t), g); err != nil {
		t.Errorf("one answer was lost: %v", err)
	}
	server.stop(t)
	checkLost(t, lost)
	server.resume(t)
}

// TestWatchdogWithdraws: nobody took the lost-event before the grant was given
// back. The next grant must not be told of it.
func TestWatchdogWithdraws(t *testing.T) { clienttest.Calmly(t, stall, watchdogWithdraws) }

func watchdogWithdraws(t testing.TB) {
	server := startServer(t)
	l, g, lost := watched(t, server.addr)
	if err := server.client(t).Del(backendstest.Limit(t), "lock:{k}").Err(); err != nil {
		t.Fatal(err)
	}
	// the watchdog has noticed, and stands with its news
	wait, cancel := context.WithTimeout(t.Context(), 2*ttl)
	defer cancel()
	<-wait.Done()
	if err := l.Release(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release of a lost grant: %v", err)
	}
	if _, err := l.Acquire(backendstest.Limit(t), "k"); err != nil {
		t.Fatal(err)
	}
	select {
	case loss := <-lost:
		t.Errorf("the newer grant was told %+v", loss)
	default:
	}
}
