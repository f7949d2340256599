package nemesis

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/clockskew"
)

// KindClockRate is the fault that lets a clock run faster or slower.
const KindClockRate = "clock-rate"

var clockRate = onClock(KindClockRate, "lets the wall clock or the monotonic clock that a client or a node's processes read run faster or slower",
	history.FaultWords{Did: "off by a clock's rate", Client: "reads a clock that runs wrong",
		Plight: "read a clock that ran wrong"}, func(s Spec) error {
		if s.Rate < clockskew.MinRate || s.Rate > clockskew.MaxRate || s.Rate == 1 {
			return fmt.Errorf("a rate of %v: it may be %v to %v, and other than 1, which is no fault", s.Rate,
				clockskew.MinRate, clockskew.MaxRate)
		}
		return nil
	}, []Draw{
		{Weight: 2, of: func(d Dice) Part {
			p := aimed(pick(d, Holder, AllClients), Random, d.share(0.5, 2, 1))
			p.Clock, p.Rate = pick(d, Wall, Mono), pick(d, 0.2, 0.5, 2, 5)
			return p
		}},
		{Weight: 2, Beside: true, of: func(d Dice) Part {
			p := aimed(d.nodes(), Random, d.share(0.5, 2, 1))
			p.Clock, p.Rate = pick(d, Wall, Mono), pick(d, 0.5, 2, 5)
			return p
		}},
	}, "rate")
