// Package memcached has a lock on memcached: a key that is added with an expiry.
package memcached

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/cutter"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
)

// Add is the lock memcached-add.
var Add = kind("memcached-add", "a key that is added with an expiry and a random value, renewed and given back by compare-and-swap", "", flaw{})

// BrokenDelete and BrokenBrief are broken on purpose, each in a way that is found in real code.
var (
	// BrokenDelete gives back by a delete that looks at nothing: a holder whose
	// lease is over deletes the key of the next.
	BrokenDelete = kind("broken-memcached-delete",
		"memcached-add that is given back by a delete which does not look whose key it is", checker.StolenRelease,
		flaw{give: func(m *items, key string, _ *memcache.Item) error { return m.client.Delete(name(key)) }})
	// BrokenBrief gives the key an expiry of its TTL, as if the server's clock did not tick.
	BrokenBrief = kind("broken-memcached-brief",
		"memcached-add whose key expires up to two seconds before the lease that it stands for",
		checker.MutualExclusion,
		flaw{early: margin})
)

// margin is how early a key may be gone. The server's clock stands still between
// two ticks, a second apart, and a key is gone at the tick that reaches its
// expiry. A tick that comes a moment late may skip a second: then two are missing.
const margin = 2 * time.Second

// flaw is what a broken lock does in another way.
type flaw struct {
	early time.Duration
	give  func(m *items, key string, own *memcache.Item) error
}

func kind(called, about, control string, broken flaw) clients.Kind {
	k := clients.Kind{
		Name: called, About: about, Service: "memcached", Control: control,
		Claims: clients.Claims{Validity: "from_invocation", Token: "none",
			Confirms: []string{"renew", "release", "held"}, Permits: 1},
		Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
			m, err := open(c, broken)
			if err != nil {
				return nil, err
			}
			return lease.New(m, c, min(m.ttl/5, 100*time.Millisecond)), nil
		},
	}
	if broken.give != nil {
		k.Claims.Confirms = []string{"renew", "held"}
	}
	return k
}

// items are leases on one server.
type items struct {
	client *memcache.Client
	cutter cutter.Cutter
	addr   string
	ttl    time.Duration
	expiry int32 // in the server's seconds
	flaw   flaw
}

func open(c clients.Config, broken flaw) (*items, error) {
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a lock on one memcached was given %d addresses; configure exactly one", len(c.Nodes))
	}
	ttl := c.TTL
	if ttl < time.Second {
		return nil, fmt.Errorf("memcached at %s: a TTL of %v; memcached counts in whole seconds, configure at least one", c.Nodes[0], ttl)
	}
	m := &items{addr: c.Nodes[0], ttl: ttl, client: memcache.New(c.Nodes[0]), flaw: broken}
	m.expiry = int32(math.Ceil((ttl + margin - broken.early).Seconds()))
	m.client.DialContext = m.cutter.Dial
	m.client.Timeout = time.Hour // a call's context ends it
	return m, nil
}

// name is the server's key.
func name(key string) string { return "lock:" + key }

func (m *items) String() string { return "memcached at " + m.addr }

// call makes a call that ends with the context.
func (m *items) call(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer m.cutter.Watch(ctx)()
	return outcome(call())
}

// outcome is what is known after a call: that the server said no, that nothing
// was sent, or nothing.
func outcome(err error) error {
	var op *net.OpError
	var dial *memcache.ConnectTimeoutError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, memcache.ErrNotStored), errors.Is(err, memcache.ErrCASConflict),
		errors.Is(err, memcache.ErrCacheMiss), errors.Is(err, clients.ErrNotHeld):
		return clients.ErrNotHeld
	case errors.As(err, &dial), errors.As(err, &op) && op.Op == "dial", errors.Is(err, memcache.ErrMalformedKey):
		return err
	}
	return fmt.Errorf("%w: %w", clients.ErrOpen, err)
}

// Take adds the key.
func (m *items) Take(ctx context.Context, key, owner string) (int64, error) {
	return 0, m.call(ctx, func() error {
		return m.client.Add(&memcache.Item{Key: name(key), Value: []byte(owner), Expiration: m.expiry})
	})
}

// own looks the owner's key up. ErrNotHeld: there is none, or another's.
func (m *items) own(key, owner string) (*memcache.Item, error) {
	item, err := m.client.Get(name(key))
	if err == nil && string(item.Value) != owner {
		err = clients.ErrNotHeld
	}
	return item, err
}

// Renew sets the key again, unless somebody has set it since it was looked at.
func (m *items) Renew(ctx context.Context, key, owner string, _ int64) error {
	return m.swap(ctx, key, owner, m.expiry)
}

// expired is an expiry in the past: the key is gone at once
// (https://github.com/memcached/memcached/blob/master/doc/protocol.txt, "Expiration times").
const expired = -1

// Give lets the key expire now, unless somebody has set it since it was looked at.
func (m *items) Give(ctx context.Context, key, owner string, _ int64) error {
	if m.flaw.give != nil {
		return m.call(ctx, func() error { return m.flaw.give(m, key, nil) })
	}
	return m.swap(ctx, key, owner, expired)
}

func (m *items) swap(ctx context.Context, key, owner string, expiry int32) error {
	return m.call(ctx, func() error {
		item, err := m.own(key, owner)
		if err != nil {
			return err
		}
		item.Expiration = expiry
		return m.client.CompareAndSwap(item)
	})
}

// Held looks the key up.
func (m *items) Held(ctx context.Context, key, owner string, _ int64) error {
	return m.call(ctx, func() error {
		_, err := m.own(key, owner)
		return err
	})
}

// Close closes the connections.
func (m *items) Close() error { return m.client.Close() }
