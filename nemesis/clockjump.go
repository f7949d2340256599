package nemesis

import (
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// KindClockJump is the fault that moves a clock.
const KindClockJump = "clock-jump"

var clockJump = onClock(KindClockJump, "moves the wall clock, forward or back, or the monotonic clock, forward, that a client or a node's processes read",
	history.FaultWords{Did: "off by a clock jump", Client: "reads a clock that jumps",
		Plight: "read a clock that had jumped"}, func(s Spec) error {
		if err := s.checkOffset(); err != nil || s.Clock == Wall || s.By > 0 {
			return err
		}
		return fmt.Errorf("by %v: a monotonic clock does not go back", s.By)
	}, []Draw{
		{Weight: 4, of: func(d Dice) Part {
			p := aimed(pick(d, Holder, RandomClient, AllClients), Random, d.share(0.5, 2, 1))
			p.Clock, p.By = Wall, pick(d, time.Hour, -time.Hour, time.Second, -time.Second)
			if d.IntN(3) == 0 {
				p.Clock, p.By = Mono, pick(d, time.Second, time.Minute)
			}
			return p
		}},
		{Weight: 4, Beside: true, of: func(d Dice) Part {
			p := aimed(d.nodes(), Random, d.share(0.2, 1, 1))
			p.Clock, p.By = Wall, pick(d, time.Hour, -time.Hour, 2*d.TTL)
			return p
		}},
	}, "by")
