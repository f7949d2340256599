package sim

import (
	"fmt"
	"time"
)

// Host is one machine of a World: an address, two clocks, and what runs on it.
type Host struct {
	Name string
	// Addr is its IP address.
	Addr       string
	w          *World
	frozen     bool
	since      int64         // when it was frozen
	stood      time.Duration // before that
	wall, mono Clock
	lastMono   int64
	instances  []*Instance
	node       *Node
	steady     bool // how long a program takes to run is not drawn
}

// AddHost adds a host.
func (w *World) AddHost(name string) *Host {
	h := &Host{Name: name, w: w, steady: w.steady[HostDraws(name)],
		Addr: fmt.Sprintf("10.88.%d.%d", len(w.hosts)/250, len(w.hosts)%250+2)}
	w.hosts = append(w.hosts, h)
	return h
}

// Frozen reports whether nothing runs on the host.
func (h *Host) Frozen() bool { return h.frozen }

// Freeze stops everything that runs on the host, at its next host call.
func (h *Host) Freeze() {
	if !h.frozen {
		h.frozen, h.since = true, h.w.now
	}
}

// Stood is how long the host has stood still so far.
func (h *Host) Stood() time.Duration {
	d := h.stood
	if h.frozen {
		d += time.Duration(h.w.now - h.since)
	}
	return d
}

// Thaw lets it go on.
func (h *Host) Thaw() {
	if !h.frozen {
		return
	}
	h.stood = h.Stood()
	h.frozen = false
	for _, t := range h.w.tasks {
		if t.host == h && t.owed {
			t.owed = false
			t.Wake()
		}
	}
	if h.node != nil {
		h.node.catchUp()
	}
}

// Clock is how far a clock is off.
type Clock struct {
	// Offset is how far it is ahead, beside what its rate adds.
	Offset int64
	rate   float64 // less 1: 0 is a clock that runs true
	since  int64
}

// read returns the clock's reading at a true time.
func (c *Clock) read(at int64) int64 {
	return at + c.Offset + int64(float64(at-c.since)*c.rate)
}

// trueTime is how long a time of the clock is.
func (c *Clock) trueTime(d int64) int64 { return int64(float64(d) / (1 + c.rate)) }

// Jump sets the clock ahead.
func (c *Clock) Jump(by time.Duration) { c.Offset += int64(by) }

// Run has the clock run at a rate from now on; 1 is true.
func (c *Clock) run(rate float64, now int64) {
	c.Offset = c.read(now) - now
	c.since, c.rate = now, rate-1
}

// Skew changes one of the host's clocks and has programs look at their timers again.
func (h *Host) Skew(wall bool, change func(c *Clock, run func(rate float64))) {
	c := &h.mono
	if wall {
		c = &h.wall
	}
	change(c, func(rate float64) { c.run(rate, h.w.now) })
	for _, in := range h.instances {
		if in.polling {
			in.task.Wake()
		}
	}
}

// Off returns how far the wall clock and the monotonic clock are ahead (ns).
func (h *Host) Off() (wall, mono int64) {
	return h.wall.read(h.w.now) - h.w.now, h.Mono() - h.w.now
}

// Mono reads the monotonic clock, which never goes back.
func (h *Host) Mono() int64 {
	h.lastMono = max(h.lastMono, h.mono.read(h.w.now))
	return h.lastMono
}

// Wall reads the time of day.
func (h *Host) Wall() time.Time { return Epoch.Add(time.Duration(h.wall.read(h.w.now))) }
