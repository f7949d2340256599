package nemesis

import (
	"errors"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// KindClockStrobe is the fault that lets a clock jump to and fro.
const KindClockStrobe = "clock-strobe"

var clockStrobe = onClock(KindClockStrobe,
	"lets the wall clock that a client or a node's processes read jump to and fro",
	history.FaultWords{Did: "off by a clock's strobe", Client: "reads a clock that jumps to and fro",
		Plight: "read a clock that jumped to and fro"}, func(s Spec) error {
		if err := s.checkOffset(); err != nil {
			return err
		}
		switch {
		case s.Clock == Mono:
			return errors.New("a strobe jumps to and fro, and a monotonic clock does not go back: clock wall")
		case s.Period < shortestPeriod:
			return fmt.Errorf("period %v: how often a strobe jumps must be given, %v or longer", s.Period,
				shortestPeriod)
		}
		return nil
	}, nil, "by", "period")
