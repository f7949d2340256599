package nats_test

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
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/logins"
)

func TestMain(m *testing.M) { backendstest.Main(m, locks.KV) }

func TestNATSConformance(t *testing.T) {
	t.Parallel()
	backendstest.Conform(t, "nats", 2*time.Second, clienttest.Run, locks.KV)
}

// TestNATSUpdateLastsForEver: the control's renewal takes the key's time to
// live away; the honest lock's does not.
func TestNATSUpdateLastsForEver(t *testing.T) {
	t.Parallel()
	s := backendstest.Start(t, "nats")
	conn, err := nats.Connect("nats://" + s.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(backendstest.Limit(t), "KV_"+logins.NATSBucket)
	if err != nil {
		t.Fatal(err)
	}
	const ttl = 2 * time.Second
	for _, kind := range []clients.Kind{locks.KV, locks.BrokenUpdate} {
		l, runs := backendstest.Open(t, kind, s, ttl, 1), 0
		decided.Run(t, func() {
			runs++
			key := fmt.Sprint(kind.Name, "-", runs)
			g, err := l.Acquire(backendstest.Limit(t), key)
			if err == nil {
				_, err = l.(clients.Renewer).Renew(backendstest.Limit(t), g)
			}
			backendstest.Within(g, ttl, err)
			if err != nil {
				t.Fatal(err)
			}
			m, err := stream.GetLastMsgForSubject(backendstest.Limit(t), "$KV."+logins.NATSBucket+"."+key)
			backendstest.Within(g, ttl, err)
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
	s := backendstest.Start(t, "nats")
	const ttl = 2 * time.Second
	decided.Run(t, func() {
		var all errgroup.Group
		var late atomic.Pointer[clients.Grant]
		for client := range 8 {
			l := backendstest.Open(t, locks.KV, s, ttl, client)
			all.Go(func() error {
				for i := range 60 {
					g, err := l.Acquire(backendstest.Limit(t), fmt.Sprint("at-once-", client))
					if err == nil {
						err = l.Release(backendstest.Limit(t), g)
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
			backendstest.Within(*late.Load(), ttl, err)
			t.Fatal(err)
		}
	})
}
