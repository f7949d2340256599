package director

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// readings are what a fault of clocks has read from them so far; nil of any other fault.
func (d *Director) readings(in nemesis.InEffect) (all []history.ClockReading) {
	c, ok := in.(nemesis.ClockReader)
	if !ok {
		return nil
	}
	for _, r := range c.Readings() {
		all = append(all, history.ClockReading{At: d.set.Recorder.Relative(r.At), Host: r.Host, PID: r.PID, Wall: int64(r.Wall),
			Mono: int64(r.Mono), Step: r.Step})
	}
	return all
}
