package history

import (
	"fmt"
	"math"
	"time"
)

// The bounds of what a history may say. Every stamp and length that passes can
// be added to a few others without overflow, and every number can be counted up
// to. A history that was made by hand, or damaged, is refused with its line.
const (
	// MaxValidFor bounds stamps and Event.ValidFor, in either direction (ns).
	MaxValidFor = int64(100 * 365 * 24 * time.Hour)
	// MaxLength bounds the lengths of time in a header (ns).
	MaxLength = int64(30 * 365 * 24 * time.Hour)
	// MaxClients bounds how many clients and nodes a history may have.
	MaxClients = 1 << 20
)

// maxStamped is how many bits the stamps have that surely lie within MaxValidFor.
const maxStamped = 61

// checkStamps refuses stamps that lie a hundred years away.
func checkStamps(e *Event) error {
	if uint64(e.Time|e.Start|e.End|e.Attempt|e.First|e.Enqueued|e.Ended|e.Sent|e.Came)>>maxStamped == 0 &&
		e.Fault == nil {
		return nil // all of nearly every history
	}
	stamps := []int64{e.Time, e.Start, e.End, e.Attempt, e.First, e.Enqueued, e.Ended, e.Sent, e.Came}
	if f := e.Fault; f != nil {
		stamps = append(stamps, f.From, f.To)
		for _, c := range f.Clocks {
			stamps = append(stamps, c.At, c.Wall, c.Mono)
		}
	}
	for _, t := range stamps {
		if t > MaxValidFor || t < -MaxValidFor {
			return fmt.Errorf("a time is %d ns: no run is longer than a hundred years", t)
		}
	}
	return nil
}

// checkNumbers refuses numbers that no run has.
func (h *Header) checkNumbers() error {
	for _, n := range []struct {
		field string
		value int64
		most  int64
	}{
		{"clients", int64(h.Clients), MaxClients},
		{"nodes", int64(h.Nodes), MaxClients},
		{"claims.permits", int64(h.Claims.Permits), math.MaxInt32},
		{"claims.permits_per_acquire", int64(h.Claims.PerAcquire), MaxPerAcquire},
		{"claims.multi_key", int64(h.Claims.MultiKey), MaxMultiKey},
		{"ttl_ns", h.TTL, MaxLength},
		{"slack_ns", h.Slack, MaxLength},
		{"bound_ns", h.Bound, MaxLength},
		{"stall_ns", h.Stall, MaxLength},
		{"ready_ns", h.Ready, MaxLength},
		{"duration_ns", h.Duration, MaxLength},
		{"claims.lost_grace_ns", h.Claims.LostGrace, MaxLength},
		{"claims.abandons_ns", h.Claims.Abandons, MaxLength},
	} {
		if n.value < 0 || n.value > n.most {
			return fmt.Errorf("%s is %d: it lies between 0 and %d", n.field, n.value, n.most)
		}
	}
	return nil
}
