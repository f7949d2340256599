package backends_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	locks "github.com/lockchaos/lockchaos/clients/nats"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
)

func TestNATSConformance(t *testing.T) {
	t.Parallel()
	conform(t, "nats", 2*time.Second, clienttest.Run, locks.KV)
}

// TestNATSUpdateLastsForEver: the control's renewal takes the key's time to
// live away; the honest lock's does not.
func TestNATSUpdateLastsForEver(t *testing.T) {
	t.Parallel()
	s := start(t, "nats")
	conn, err := nats.Connect("nats://" + s.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(limit(t), "KV_"+backends.NATSBucket)
	if err != nil {
		t.Fatal(err)
	}
	const ttl = 2 * time.Second
	for _, kind := range []clients.Kind{locks.KV, locks.BrokenUpdate} {
		l, runs := opened(t, kind, s, ttl, 1), 0
		decided.Run(t, func() {
			runs++
			key := fmt.Sprint(kind.Name, "-", runs)
			g, err := l.Acquire(limit(t), key)
			if err == nil {
				_, err = l.(clients.Renewer).Renew(limit(t), g)
			}
			within(g, ttl, err)
			if err != nil {
				t.Fatal(err)
			}
			m, err := stream.GetLastMsgForSubject(limit(t), "$KV."+backends.NATSBucket+"."+key)
			within(g, ttl, err)
			if err != nil {
				t.Fatal(err)
			}
			if ttl := m.Header.Get("Nats-TTL"); (ttl == "") != (kind.Control != "") {
				t.Errorf("%s: after a renewal the key's time to live is %q", kind.Name, ttl)
			}
		})
	}
}

// TestNATSReleaseAtOnce: a hold that is given back as soon as it is granted is never "not
// held". A leader refuses every write of a key for a moment after it has answered one.
func TestNATSReleaseAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, "nats")
	const ttl = 2 * time.Second
	decided.Run(t, func() {
		var all errgroup.Group
		var late atomic.Pointer[clients.Grant]
		for client := range 8 {
			l := opened(t, locks.KV, s, ttl, client)
			all.Go(func() error {
				for i := range 60 {
					g, err := l.Acquire(limit(t), fmt.Sprint("at-once-", client))
					if err == nil {
						err = l.Release(limit(t), g)
					}
					if err != nil {
						late.Store(&g)
						return fmt.Errorf("client %d, round %d: %w", client, i, err)
					}
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			within(*late.Load(), ttl, err)
			t.Fatal(err)
		}
	})
}
