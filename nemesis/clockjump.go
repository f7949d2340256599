package nemesis

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// KindClockJump is the fault that moves a clock.
const KindClockJump = "clock-jump"

var clockJump = onClock(KindClockJump, "moves the wall clock, forward or back, or the monotonic clock, forward, that a client or a node's processes read",
	history.FaultWords{Did: "off by a clock jump", Client: "reads a clock that jumps", Plight: "read a clock that had jumped"}, func(s Spec) error {
		if err := s.checkOffset(); err != nil || s.Clock == Wall || s.By > 0 {
			return err
		}
		return fmt.Errorf("by %v: a monotonic clock does not go back", s.By)
	}, "by")
