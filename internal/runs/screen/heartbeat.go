package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

// A log that says nothing for so long makes its reader wonder; on a terminal
// the live line is renewed as often as this.
const (
	quietLimit = 10 * time.Second
	redrawTime = time.Second
)

// startHeartbeat shows, until stop, that the run goes on: on a terminal the live line keeps
// counting, elsewhere a line is printed when nothing else has been for a while.
func (s *Screen) startHeartbeat() {
	every := quietLimit / 4
	if s.Live {
		every = redrawTime
	}
	s.printed = time.Now()
	ticker := time.NewTicker(every)
	done := make(chan struct{})
	s.endHeartbeat = func() { ticker.Stop(); close(done) }
	go func() {
		for {
			select {
			case now := <-ticker.C:
				s.beat(now)
			case <-done:
				return
			}
		}
	}()
}

// beat renews the live line, or prints how far the run is if nothing was printed for quietLimit.
func (s *Screen) beat(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.Live:
		s.draw()
	case len(s.names) > 0 && now.Sub(s.printed) >= quietLimit:
		s.line(s.status(3))
	}
}

// status says how far the run is: what is done, and of at most so many
// scenarios what they are doing.
func (s *Screen) status(most int) string {
	var parts []string
	for i, name := range s.names {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(s.names)-most))
			break
		}
		p := s.running[name]
		parts = append(parts, fmt.Sprintf("%s (%s, %.0f s of %s, %d grants)", name, p.Phase, p.Elapsed.Seconds(),
			scenarios.Estimate(s.Lengths.Of(s.plans[name])), p.Grants))
	}
	done := fmt.Sprintf("%d of %d done", s.ended, s.total)
	if s.Left != nil && s.ended > 0 {
		done += ", " + scenarios.Estimate(s.Left()) + " left"
	}
	return s.stamp() + done + " · " + strings.Join(parts, " · ")
}
