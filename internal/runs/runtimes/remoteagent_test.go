package runtimes

import (
	"errors"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime/offset"
)

const ms = int64(time.Millisecond)

// What is certain of a span on another node is less than the span, by what its
// clock may be wrong at both ends.
func TestCertain(t *testing.T) {
	f := &remoteAgent{node: "node-2"}
	if _, _, err := f.certain(0, 0); !errors.Is(err, offset.ErrUnknown) {
		t.Errorf("without a comparison: %v", err)
	}
	f.clock.Add(1000*ms, 1201*ms, 1002*ms) // 200 ms ahead, ± 1 ms and 5 ms of drift
	f.wall, f.last = 7000*ms, 7001*ms
	if from, to, err := f.certain(2200*ms, 3200*ms); err != nil || from != 2006*ms || to != 2994*ms {
		t.Errorf("from %v to %v, %v", time.Duration(from), time.Duration(to), err)
	}
	if from, to, _ := f.certain(2200*ms, 2201*ms); from != to {
		t.Errorf("a span that is shorter than the bound lasts from %v to %v", time.Duration(from), time.Duration(to))
	}
	// Our wall clock is 6000 ms ahead of our monotonic one, theirs 7000 ms and
	// a little more by now.
	if ahead, bound, err := f.ahead(6000 * ms); err != nil || ahead != 1200*ms || bound != 7*ms {
		t.Errorf("%v ± %v, %v", time.Duration(ahead), time.Duration(bound), err)
	}
	f.last = 7100 * ms
	if _, _, err := f.ahead(6000 * ms); err == nil {
		t.Error("a clock that was set is believed")
	}
}
