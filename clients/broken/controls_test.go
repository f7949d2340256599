package broken_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func TestMain(m *testing.M) { backendstest.Main(m, broken.Kinds()...) }

// TestControls: each control fails the tests that its fault breaks, and keeps every other promise.
func TestControls(t *testing.T) {
	needed.Apart(t, "the locks that these break stand for them")
	t.Parallel()
	backendstest.NeedRedis(t)
	for _, c := range []struct {
		kind           clients.Kind
		caught, unsure []string
	}{
		{broken.Del, []string{"a stale grant", clienttest.FrozenHolder}, nil},
		{broken.TwoStep, nil, nil},
		// A SETNX that the frozen service carries out late has no client left
		// to give the key its expiry.
		{broken.SetnxExpire, nil, []string{clienttest.FrozenService}},
		{broken.NoTTL, []string{clienttest.KilledHolder, clienttest.FrozenHolder, "close gives"},
			[]string{clienttest.FrozenService}},
		// Without a quorum another may be granted the lock while a frozen
		// holder's lease still stands, and both are told that they hold it. So it
		// may be granted to a waiter, or to a second client, while another has
		// the key: where a server answered that one too late, it is free there.
		{broken.RedlockNoQuorum, []string{"ten clients"},
			[]string{clienttest.FrozenHolder, "a frozen waiter", "excludes a second client", "a stale grant", "a wait given up"}},
		{broken.RedlockNoValidity, nil, nil},
		{broken.RetryBlind, nil, nil},
		// As long as no two clients have one identity, they keep every promise.
		{broken.OwnName, nil, []string{clienttest.KilledHolder}},
		{broken.HostPID, nil, []string{clienttest.KilledHolder}},
		{broken.WatchdogBlind, []string{clienttest.FrozenHolder}, nil},
		// A holder that dies or is frozen may be followed within the second, or not.
		{broken.TokenClock, []string{"grants and", "ten clients"}, []string{clienttest.KilledHolder, clienttest.FrozenHolder}},
		{broken.ReadersYield, []string{"clients read and write"}, nil},
		// Who was not answered once is shut out.
		{broken.OneConnection, nil, []string{clienttest.FrozenService}},
	} {
		backendstest.Conform(t, c.kind.Service, time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
			clienttest.RunControl(t, kind, s, c.caught, c.unsure)
		}, c.kind)
	}
}

// TestWallClockConforms: as long as nobody sets a clock, these two keep every promise.
func TestWallClockConforms(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	backendstest.Conform(t, "redis", time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
		clienttest.RunControl(t, kind, s, nil, nil)
	}, broken.WallClock, broken.ClientExpiry)
}

// TestSetnxExpireDiesInBetween: what the suite cannot show, since it kills
// holders only. The key is taken and never expires.
func TestSetnxExpireDiesInBetween(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	s := backendstest.Start(t, "redis")
	dying := backendstest.Open(t, broken.SetnxExpire, s, time.Second, 1)
	c, ctx := backendstest.Behind(t, s.Addrs()[0]), backendstest.Limit(t)
	ttl := func(key string) time.Duration {
		left, err := c.PTTL(ctx, redis.LockKey(key)).Result()
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	// what Redis says of a key that is not there, and of one that never expires
	const none, forever = -2, -1
	// on a busy machine the two commands may both come between two looks
	for n := 0; ; n++ {
		key, result := fmt.Sprintf("k%d", n), make(chan error, 1)
		go func() {
			_, err := dying.Acquire(ctx, key)
			result <- err
		}()
		left := ttl(key)
		for ; left == none && len(result) == 0; left = ttl(key) {
		}
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		if left := ttl(key); left == forever {
			t.Errorf("after the two commands the key has no end")
		}
		if left == forever {
			return
		}
	}
}

// TestRedlockNoValidityIsDead: a server does not answer for a TTL; then the
// grant comes, and its validity with it.
func TestRedlockNoValidityIsDead(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() { redlockNoValidity(t) })
}

func redlockNoValidity(t *testing.T) {
	const ttl = 500 * time.Millisecond
	s, l, _ := backendstest.Five(t, broken.RedlockNoValidity, ttl)
	resume := backendstest.StopNode(t, s.Nodes[4])
	began := monotime.Now()
	result := make(chan clients.Grant, 1)
	go func() {
		g, err := l.Acquire(backendstest.Limit(t), "k")
		if err != nil {
			t.Error(err)
		}
		result <- g
	}()
	for monotime.Since(began) <= ttl {
		time.Sleep(ttl / 10)
	}
	resume()
	if g := <-result; g.ValidFor != int64(ttl) || monotime.Since(g.Attempt) <= ttl {
		decided.Lacks("a grant that is dead on arrival: %v old, %+v", monotime.Since(g.Attempt), g)
	}
}

// TestWatchdogBlindRenewsAnothers: another has the key, and is renewed by who had it before.
func TestWatchdogBlindRenewsAnothers(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	decided.Run(t, func() { watchdogBlind(t) })
}

func watchdogBlind(t *testing.T) {
	const ttl = 700 * time.Millisecond
	s := backendstest.Start(t, "redis")
	l := backendstest.Open(t, broken.WatchdogBlind, s, ttl, 1)
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	c := backendstest.Behind(t, s.Addrs()[0])
	if err := c.Set(backendstest.Limit(t), redis.LockKey("k"), "another's", ttl).Err(); err != nil {
		t.Fatal(err)
	}
	for began := monotime.Now(); monotime.Since(began) <= 3*ttl; {
		time.Sleep(ttl / 10)
	}
	if value, err := c.Get(backendstest.Limit(t), redis.LockKey("k")).Result(); err != nil || value != "another's" {
		decided.Lacks("a renewal of another's key: it has %q, %v", value, err)
	}
	if err := l.(clients.Holder).Held(backendstest.Limit(t), g); err != nil {
		t.Errorf("held: %v", err)
	}
	if err := l.Release(backendstest.Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release: %v", err)
	}
}
