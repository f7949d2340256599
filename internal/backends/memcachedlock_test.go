package backends_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/memcached"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func needMemcached(t testing.TB) { needService(t, "memcached") }

func TestMemcachedConformance(t *testing.T) {
	t.Parallel()
	needMemcached(t)
	s := start(t, "memcached")
	stop, resume := freezeHost(s)
	clienttest.Run(t, memcached.Add, clienttest.Service{Nodes: s.Addrs(), TTL: time.Second, Stop: stop, Continue: resume})
}

// TestMemcachedExpiry: a key lasts at least for the TTL, wherever in the second
// of the server's clock it is added; the control's does not always.
func TestMemcachedExpiry(t *testing.T) {
	t.Parallel()
	needMemcached(t)
	s := start(t, "memcached")
	const ttl, tries = time.Second, 10
	runs := 0
	decided.Run(t, func() {
		runs++
		var brief atomic.Int32
		var all sync.WaitGroup
		for i := range tries {
			for _, kind := range []clients.Kind{memcached.Add, memcached.BrokenBrief} {
				key := fmt.Sprintf("%s-%d-%d", kind.Name, runs, i)
				first, second := opened(t, kind, s, ttl, 1), opened(t, kind, s, ttl, 2)
				all.Go(func() {
					// to another place in the server's second
					time.Sleep(time.Duration(i) * time.Second / tries)
					g, err := first.Acquire(limit(t), key)
					if err == nil {
						_, err = second.Acquire(limit(t), key)
					}
					switch early := monotime.Since(g.Attempt) < ttl; {
					case err != nil:
						t.Errorf("%s: %v", key, err)
					case early && kind.Control != "":
						brief.Add(1)
					case early:
						t.Errorf("%s: the key was free again before its TTL was over", key)
					}
				})
			}
		}
		all.Wait()
		if brief.Load() == 0 {
			decided.Lacks("a key of the control's that was free before its TTL was over")
		}
	})
}

func TestMemcachedKeepsNothing(t *testing.T) {
	k, _ := backends.Lookup("memcached")
	if _, err := k.Task("memcached-1", backends.Place{Listen: "10.0.0.1", Data: "/tmp",
		Peers: map[string]string{"memcached-1": "10.0.0.1"}, Durable: true}); err == nil {
		t.Error("it is to keep on disk what it answers for, and can't")
	}
}
