package director

import (
	"maps"

	"github.com/lockchaos/lockchaos/nemesis"
)

// activeStrike is a planned fault that strikes now: whom, and at which step of a client.
type activeStrike struct {
	*plannedFault
	victims []nemesis.Victim // clients; none: nodes
	nodes   []string         // those that were chosen
	leader  string           // whom the service named, if it was asked
	at      nemesis.Step
	taken   int64 // when, as a stamp of the setting's time

	begun  chan struct{}  // closed when all that strikes together has begun
	active []*activeFault // what has; complete when begun is closed
	// left is how many of them are not over, and 1 more until all have begun or a trap has struck;
	// failed is what went wrong with them. The director's lock guards both.
	left   int
	failed error
}

// clients are the numbers of the victims.
func (a *activeStrike) clients() (all []int32) {
	for _, v := range a.victims {
		all = append(all, v.Client)
	}
	return all
}

// scene is what is known of the clients. The caller holds the lock.
func (d *Director) scene() nemesis.ClientStates {
	s := nemesis.ClientStates{Holders: d.holders, Waiters: d.waiters, Selves: maps.Clone(d.selves)}
	for c := int32(1); c <= d.clients; c++ {
		if _, dead := d.killed[c]; !dead && !d.struck[c] {
			s.Free = append(s.Free, c)
		}
	}
	return s
}

// take has an armed fault strike whom it means at the step; nil: another fault strikes them, or
// there is nobody. The caller holds the lock.
func (d *Director) take(f *plannedFault, at nemesis.Step) *activeStrike {
	if !f.armed || d.suspended {
		return nil
	}
	a := &activeStrike{plannedFault: f, at: at, taken: d.set.Time.Now(), begun: make(chan struct{}), left: 1}
	if f.strike.Target.Client() {
		if a.victims = f.strike.Target.Clients(d.scene(), at, f.draws); len(a.victims) == 0 {
			return nil
		}
		for _, c := range a.clients() {
			d.struck[c] = true
		}
	} else {
		if d.down {
			return nil
		}
		d.down = true
	}
	f.armed = false
	return a
}

// putBack arms a fault again that was taken and has not struck.
func (d *Director) putBack(a *activeStrike) {
	d.mu.Lock()
	d.release(a)
	if a.retired {
		a.over <- nil
	} else {
		a.armed = true
	}
	d.mu.Unlock()
	a.wake()
}

// release lets other faults strike the victims. The caller holds the lock.
func (d *Director) release(a *activeStrike) {
	if !a.strike.Target.Client() {
		d.down = false
	}
	for _, c := range a.clients() {
		delete(d.struck, c)
	}
}
