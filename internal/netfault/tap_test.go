//go:build linux

package netfault

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// TestTap: the bounds of a call lie between its stamps, those of a request
// before those of its answer.
func TestTap(t *testing.T) {
	_, hs := hoststest.Network(t, "redis", "client")
	startRedis(t, hs[0])
	tap := must[*Tap](t)(OpenTap(hs[1], hs[0].Addr))
	t.Cleanup(func() {
		if err := tap.Close(); err != nil {
			t.Error(err)
		}
	})
	conn := connect(t, hs[1], hs[0])
	// asks makes a call of the requests, until the tap has seen all of it: a
	// busy machine may not let it read its clocks.
	asks := func(requests ...string) (from, between, to int64, b Bounds) {
		decided.Await(t, "all packets of a call are seen", func() bool {
			tap.Begin()
			from = monotime.Now()
			for _, key := range requests {
				between = monotime.Now()
				must[string](t)(conn.do(limit, "GET", key))
			}
			to = monotime.Now()
			b = tap.End(to)
			return b != Bounds{}
		})
		return from, between, to, b
	}
	if from, _, to, b := asks("a"); b.Sent < from-blur || b.Came < b.Sent || b.Came > to+blur {
		t.Errorf("one request: %+v, want bounds between %d and %d", b, from, to)
	}
	if _, between, to, b := asks("a", "b", "c"); b.Sent < between-blur || b.Came > to+blur {
		t.Errorf("three requests: %+v, want the last one's, between %d and %d", b, between, to)
	}
	tap.Begin()
	if b := tap.End(monotime.Now()); b != (Bounds{}) {
		t.Errorf("nothing was said, and the bounds are %+v", b)
	}
}
