package backends_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	locks "github.com/lockchaos/lockchaos/clients/nats"
)

func TestNATSConformance(t *testing.T) {
	t.Parallel()
	conform(t, "nats", 2*time.Second, clienttest.Run, locks.KV)
}

// TestNATSUpdateLastsForEver: the control's renewal takes the key's time to live away; the honest lock's does not.
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
	for _, kind := range []clients.Kind{locks.KV, locks.BrokenUpdate} {
		l := opened(t, kind, s, 2*time.Second, 1)
		g, err := l.Acquire(limit(t), kind.Name)
		if err == nil {
			_, err = l.(clients.Renewer).Renew(limit(t), g)
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := stream.GetLastMsgForSubject(limit(t), "$KV."+backends.NATSBucket+"."+kind.Name)
		if err != nil {
			t.Fatal(err)
		}
		if ttl := m.Header.Get("Nats-TTL"); (ttl == "") != (kind.Control != "") {
			t.Errorf("%s: after a renewal the key's time to live is %q", kind.Name, ttl)
		}
	}
}

// TestNATSReleaseAtOnce: a hold that is given back as soon as it is granted is never "not held". A leader refuses every write of a key for a moment after it has
// answered one.
func TestNATSReleaseAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, "nats")
	var all errgroup.Group
	for client := range 8 {
		l := opened(t, locks.KV, s, 2*time.Second, client)
		all.Go(func() error {
			for i := range 60 {
				g, err := l.Acquire(limit(t), fmt.Sprint("at-once-", client))
				if err == nil {
					err = l.Release(limit(t), g)
				}
				if err != nil {
					return fmt.Errorf("client %d, round %d: %w", client, i, err)
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}
