package redis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// TestRenew: the lease begins anew, and one that has gone is not renewed.
func TestRenew(t *testing.T) { clienttest.Calmly(t, stall, renews) }

func renews(t testing.TB) {
	server := startServer(t)
	l := open(t, redis.Setnx, server.addr)
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	c := server.client(t)
	if err := c.PExpire(backendstest.Limit(t), "lock:{k}", ttl/2).Err(); err != nil {
		t.Fatal(err)
	}
	renewed, err := l.(clients.Renewer).Renew(backendstest.Limit(t), g)
	if err != nil || renewed.Attempt <= g.Attempt {
		t.Errorf("%+v after %+v: %v", renewed, g, err)
	}
	if left := c.PTTL(backendstest.Limit(t), "lock:{k}").Val(); left <= ttl/2 {
		t.Errorf("the key expires in %v", left)
	}
	if err := c.Set(backendstest.Limit(t), "lock:{k}", "another's", ttl).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.(clients.Renewer).Renew(backendstest.Limit(t), renewed); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("another's key was renewed: %v", err)
	}
}

// TestLateRenewal holds the answer to a renewal back until the lease that it gave is over.
// The lock must not call that renewed; the control that does not look at its clock does.
func TestLateRenewal(t *testing.T) {
	server := startServer(t)
	for _, kind := range []clients.Kind{redis.Setnx, redis.SetnxFenced, redis.RenewLate} {
		t.Run(kind.Name, func(t *testing.T) {
			clienttest.Calmly(t, stall, func(t testing.TB) {
				p := startProxy(t, server.addr)
				l := open(t, kind, p.addr)
				g, err := l.Acquire(backendstest.Limit(t), "k")
				if err == nil {
					// the script is known to the server after this
					g, err = l.(clients.Renewer).Renew(backendstest.Limit(t), g)
				}
				if err != nil {
					t.Fatal(err)
				}
				letGo := p.holdAnswer()
				defer letGo()
				result := make(chan error, 1)
				go func() {
					_, err := l.(clients.Renewer).Renew(backendstest.Limit(t), g)
					result <- err
				}()
				answered := int64(0) // when the answer surely stood at the proxy
				for ctx := backendstest.Limit(t); answered == 0 || monotime.Since(answered) <= ttl; time.Sleep(ttl / 50) {
					if ctx.Err() != nil {
						t.Fatal("no renewal came")
					}
					if answered == 0 && p.held.Load() == nil {
						answered = monotime.Now()
					}
				}
				letGo()
				switch err := <-result; {
				case kind.Control != "" && err != nil:
					t.Errorf("the control noticed: %v", err)
				case kind.Control == "" && (err == nil || clients.Definite(err)):
					t.Errorf("renewed when the lease was over: %v", err)
				}
			})
		})
	}
}

// TestRetryBlindIsBusyWithItself: the control loses an answer, asks again, and
// takes its own key for another's. The honest lock does not.
func TestRetryBlindIsBusyWithItself(t *testing.T) { clienttest.Calmly(t, stall, retryBlind) }

func retryBlind(t testing.TB) {
	server := startServer(t)
	p := startProxy(t, server.addr)
	l := open(t, broken.RetryBlind, p.addr)
	g, err := l.Acquire(backendstest.Limit(t), "k") // the client is connected after this
	if err == nil {
		err = l.Release(backendstest.Limit(t), g)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.loseAnswers(1)
	ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
	defer cancel()
	if _, err := l.Acquire(ctx, "k"); !errors.Is(err, clients.ErrBusy) {
		t.Errorf("busy was expected: %v", err)
	}
	if value := server.client(t).Get(backendstest.Limit(t), "lock:{k}").Val(); !strings.HasPrefix(value, "c1-") {
		t.Errorf("the key has %q: it should be this client's own", value)
	}
}

// TestErrorsAreNoAnswers: a server that answers writes with errors grants nothing
// and renews nothing, and an honest lock says neither. The controls say both.
func TestErrorsAreNoAnswers(t *testing.T) { clienttest.Calmly(t, stall, errorsAreNoAnswers) }

func errorsAreNoAnswers(t testing.TB) {
	server := startServer(t)
	c := server.client(t)
	refuse := func(replicas string) {
		t.Helper()
		if err := c.ConfigSet(backendstest.Limit(t), "min-replicas-to-write", replicas).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []struct {
		kind             clients.Kind
		granted, renewed bool // by an error
	}{{redis.Setnx, false, false}, {redis.GrantUnchecked, true, false}, {redis.RenewUnchecked, false, true}} {
		l := open(t, k.kind, server.addr)
		g, err := l.Acquire(backendstest.Limit(t), "k")
		if err != nil {
			t.Fatal(err)
		}
		refuse("1")
		if _, err := l.(clients.Renewer).Renew(backendstest.Limit(t), g); (err == nil) != k.renewed {
			t.Errorf("%s: renewed: %v", k.kind.Name, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
		if _, err := open(t, k.kind, server.addr).Acquire(ctx, "k"); (err == nil) != k.granted {
			t.Errorf("%s: granted: %v", k.kind.Name, err)
		}
		cancel()
		refuse("0")
		if err := l.Release(backendstest.Limit(t), g); err != nil {
			t.Errorf("%s: %v", k.kind.Name, err)
		}
	}
}

// TestWatchdogLenientBelievesInNothing: the key goes and nobody takes it, which
// the control takes for no loss; the honest lock tells it.
func TestWatchdogLenientBelievesInNothing(t *testing.T) {
	clienttest.Calmly(t, stall, watchdogLenient)
}

func watchdogLenient(t testing.TB) {
	server := startServer(t)
	l := open(t, redis.WatchdogLenient, server.addr)
	if _, err := l.Acquire(backendstest.Limit(t), "k"); err != nil {
		t.Fatal(err)
	}
	lost := l.(clients.Watcher).Lost()
	if err := server.client(t).Del(backendstest.Limit(t), "lock:{k}").Err(); err != nil {
		t.Fatal(err)
	}
	wait, cancel := context.WithTimeout(t.Context(), 2*ttl)
	defer cancel()
	select {
	case loss := <-lost:
		t.Errorf("it noticed: %+v", loss)
	case <-wait.Done():
	}
	if err := server.client(t).Set(backendstest.Limit(t), "lock:{k}", "another's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	checkLost(t, lost)
}
