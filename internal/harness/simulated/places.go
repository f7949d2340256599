package simulated

import "github.com/lockchaos/lockchaos/internal/hosts/sim"

// Place is a place of a run. Its time is from the workload's start.
type Place struct {
	sim.Place
	// Connected are the hosts of clients that have a connection, so that it could be reset.
	Connected []string
}

// tellPlaces has the plan's Places told from now on, the start of the workload, until stop.
func (s *simulation) tellPlaces() (stop func()) {
	tell, began := s.cfg.Places, s.w.Now()
	if tell == nil {
		return func() {}
	}
	s.w.Places(func(p sim.Place) {
		p.At -= began
		here := Place{Place: p}
		for _, c := range s.clients {
			if c.store.open() || c.machine.Connected() {
				here.Connected = append(here.Connected, c.machine.Name)
			}
		}
		tell(here)
	})
	return func() { s.w.Places(nil) }
}
