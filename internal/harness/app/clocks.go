package app

import (
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
)

// align brings the stamps of all clients to this machine's clock, each by how
// far its own was ahead, and returns by how much one may still be wrong.
func align(logs []audit.ProcessLog, of Ahead) (clockError time.Duration, err error) {
	for _, l := range logs {
		if len(l.Lines) == 0 {
			continue
		}
		ahead, bound, err := of(l.Name)
		if err != nil {
			return 0, fmt.Errorf("%s: how far is the clock of its node ahead? %w", l.Name, err)
		}
		clockError = max(clockError, time.Duration(bound))
		for i := range l.Lines {
			l.Lines[i].Began -= ahead
			l.Lines[i].Ended -= ahead
		}
	}
	return clockError, nil
}

// aligned are the logs of all clients, cut to the run and brought to one clock.
func (a *run) aligned() ([]audit.ProcessLog, error) {
	logs := make([]audit.ProcessLog, len(a.clients))
	for i, c := range a.clients {
		logs[i] = c.ProcessLog
	}
	if a.cfg.Ahead != nil && !a.app.Hooks.Given() { // whose ops are stamped here
		var err error
		if a.clockError, err = align(logs, a.cfg.Ahead); err != nil {
			return nil, err
		}
	}
	for i := range logs {
		if !a.app.Hooks.Given() {
			logs[i].Lines = audit.Trim(logs[i].Lines, a.from, a.until)
		}
	}
	return logs, nil
}

// clocks says in a history's header by how much stamps may be wrong.
func (a *run) clocks() []history.Part {
	if a.clockError == 0 {
		return nil
	}
	return []history.Part{{Name: "clock error", Version: a.clockError.Round(time.Microsecond).String()}}
}
