//go:build linux

package hosts_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Four processes on one processor wait for three quarters of the time, and that
// is noticed on their host.
func TestStarvedProcessesAreNoticed(t *testing.T) {
	if !inside(t) {
		return
	}
	const bound = 50 * time.Millisecond
	_, hs := network(t, "idle", "busy")
	began := monotime.Now()
	waits, err := hosts.WatchWaits(bound, hs...)
	if err != nil {
		t.Fatal(err)
	}
	pids := map[int]bool{}
	for range 4 {
		p, err := hs[1].Start(exec.Command("/proc/self/exe", "burn"))
		if err != nil {
			t.Fatal(err)
		}
		pids[p.PID()] = true
	}
	decided.Await(t, "a host is starved", func() bool {
		long, err := waits.Look()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range long {
			if w.Host != hs[1] || !pids[w.PID] || w.For < bound || w.From < began-int64(w.For) ||
				w.To > monotime.Now() || time.Duration(w.To-w.From) < w.For {
				t.Errorf("%s: %+v", w.Host.Name, w)
			}
		}
		return len(long) > 0
	})
}
