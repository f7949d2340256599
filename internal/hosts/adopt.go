//go:build linux

package hosts

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Seat is a network namespace that somebody else has made and linked, a pod's
// say, on which a host of ours may live.
type Seat struct {
	// PID is a process there, which is not ours, Addr the address of its network.
	PID  int
	Addr netip.Addr
}

// NewSeats returns a network whose hosts take the given seats, one after
// another. Close kills what ran on them of ours, and leaves the rest.
func NewSeats(seats []Seat) (*Network, error) {
	if !Inside() {
		return nil, fmt.Errorf("take %d seats: %w", len(seats), ErrOutside)
	}
	return &Network{joined: true, seats: seats}, nil
}

// take makes a host of the next seat.
func (n *Network) take(name string) (*Host, error) {
	if len(n.seats) == 0 {
		return nil, fmt.Errorf("add host %s: no seat is left", name)
	}
	h, err := adopt(name, n.seats[0])
	if err != nil {
		return nil, fmt.Errorf("add host %s (%s): %w", name, n.seats[0].Addr, err)
	}
	n.seats = n.seats[1:]
	return h, nil
}

// adopt makes a host of a seat. What runs there already is none of its processes.
func adopt(name string, s Seat) (*Host, error) {
	h, err := Visit(name, s)
	if err != nil {
		return nil, err
	}
	there, err := h.PIDs()
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.tenants = map[int]bool{}
	for _, pid := range there {
		h.tenants[pid] = true
	}
	return h, nil
}

// Visit returns the host of a seat, in whatever state its processes are: for
// one who heals it. Close lets go of it.
func Visit(name string, s Seat) (*Host, error) {
	if !Inside() {
		return nil, fmt.Errorf("visit %s: %w", name, ErrOutside)
	}
	h := visitor(name, s.Addr)
	ready := make(chan error)
	aside(func() { h.live(func() error { return enter(s.PID) }, ready) })
	err := <-ready
	if err == nil {
		err = h.foreign()
	}
	if err != nil {
		return nil, fmt.Errorf("visit %s (process %d): %w", name, s.PID, errors.Join(err, h.Close()))
	}
	return h, nil
}

// visitor is a host that was there before us, before its thread lives.
func visitor(name string, addr netip.Addr) *Host {
	return &Host{Name: name, Addr: addr, NetNS: -1, guest: true, jobs: make(chan func()), closed: make(chan struct{}),
		gone: make(chan struct{})}
}

// Revive lets every process run on that is stopped on the host, and tells how many there were.
// It is for a host on which none was stopped when a run took it over that was killed since.
func (h *Host) Revive() (woken int, err error) {
	pids, err := h.PIDs()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		threads, err := living([]int{pid}, nil)
		if err != nil {
			return woken, err
		}
		if stopped(threads) == 0 {
			continue
		}
		if err := unix.Kill(pid, unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
			return woken, fmt.Errorf("host %s: let process %d run on: %w", h.Name, pid, err)
		}
		woken++
	}
	return woken, nil
}
