package memcached_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/memcached"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func TestMain(m *testing.M) { backendstest.Main(m, memcached.Add, memcached.BrokenDelete) }

func TestMemcachedConformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "memcached")
	s := backendstest.Start(t, "memcached")
	stop, resume := backendstest.FreezeHost(s)
	clienttest.Run(t, memcached.Add, clienttest.Service{Nodes: s.Addrs(), TTL: time.Second, Stop: stop, Continue: resume})
}

func TestMemcachedControl(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "memcached")
	backendstest.Conform(t, "memcached", time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
		clienttest.RunControl(t, kind, s, []string{"a stale grant", clienttest.FrozenHolder}, nil)
	}, memcached.BrokenDelete)
}

// TestMemcachedExpiry: a key lasts at least for the TTL, wherever in the second
// of the server's clock it is added; the control's does not always.
func TestMemcachedExpiry(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "memcached")
	s := backendstest.Start(t, "memcached")
	const ttl, tries = time.Second, 10
	runs := 0
	decided.Run(t, func() {
		runs++
		var brief atomic.Int32
		var all sync.WaitGroup
		for i := range tries {
			for _, kind := range []clients.Kind{memcached.Add, memcached.BrokenBrief} {
				key := fmt.Sprintf("%s-%d-%d", kind.Name, runs, i)
				first, second := backendstest.Open(t, kind, s, ttl, 1), backendstest.Open(t, kind, s, ttl, 2)
				all.Go(func() {
					// to another place in the server's second
					time.Sleep(time.Duration(i) * time.Second / tries)
					g, err := first.Acquire(backendstest.Limit(t), key)
					if err == nil {
						_, err = second.Acquire(backendstest.Limit(t), key)
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
