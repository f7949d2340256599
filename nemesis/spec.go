package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Spec is a fault as it is planned. Fields that its kind does not take are zero.
type Spec struct {
	Kind string
	Aim
	// Peers (faults of links) says at the other ends of which links of the target the fault lies.
	Peers Peers
	// Way (faults of links) says in which direction.
	Way Way
	// Shape (partition of Service) says how the service is split.
	Shape string
	// Clock (faults of clocks) says which; By how far it jumps, Rate how fast
	// it runs, Period how often a strobe jumps to and fro.
	Clock  Clock
	By     time.Duration
	Rate   float64
	Period time.Duration
	// Delay, Jitter, Probability, BytesPerSecond, MaxBytes (bad networks) are
	// the conditions, in the words of netfault.Conditions.
	Delay, Jitter  time.Duration
	Probability    float64
	BytesPerSecond int64
	MaxBytes       int
	// Request (hold, cut, kill-at-reply) says which request of a client is meant, Point
	// (cut) at which point of it. Silent (cut): nobody is told. InTurn: the first request of
	// one call is meant, the second of another, and so on; Nth is whose turn it is, from 1.
	Request Request
	InTurn  bool
	Nth     int
	Point   Point
	Silent  bool
	// Share (throttle) is the part of the time in which the target runs; Period
	// is how long a round of running and standing still takes.
	Share float64
	// Data (crash-restart) says what the node knows when it is started again.
	Data Data
}

// InEffect is a fault that has been injected and lasts.
type InEffect interface {
	// From is since when the fault has certainly been in effect (a monotime.Now stamp).
	From() int64
	// Heal ends the fault and tells what it did. The error says that the
	// evidence is broken or, worse, that something could not be undone.
	Heal() (Effect, error)
}

// ClockReader is a fault in effect that has read the clocks on which it lies.
type ClockReader interface {
	// Readings are what the clocks showed so far, those of each process in order of time.
	Readings() []ClockReading
}

// GrantFinder is a fault in effect that knows by itself which grant it has met.
type GrantFinder interface {
	Holding() int64
}

// Pending is a fault that waits for a packet, and is in effect from that on. It is a Trap, or
// that of a simulation.
type Pending interface {
	InEffect
	// Watch waits beside its caller. It calls done once: when the packet has come (sprung), or
	// when ctx has ended or giveUp been called before that.
	Watch(ctx context.Context, done func(sprung bool)) (giveUp func())
	// Met reports whether the request has been sent, so that its packet may still come.
	Met() bool
	// Kill ends the process of the client, where the fault is one that kills.
	Kill(ctx context.Context) (Effect, error)
}

// given names the fields that are set, of those that not every kind takes.
func (s Spec) given() (names []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"peers", s.Peers != ""}, {"way", s.Way != ""}, {"shape", s.Shape != ""},
		{"clock", s.Clock != ""}, {"by", s.By != 0}, {"rate", s.Rate != 0}, {"period", s.Period != 0},
		{"delay", s.Delay != 0}, {"jitter", s.Jitter != 0}, {"probability", s.Probability != 0},
		{"bytes_per_second", s.BytesPerSecond != 0}, {"max_bytes", s.MaxBytes != 0},
		{"request", s.Request != ""}, {"in_turn", s.InTurn}, {"point", s.Point != ""}, {"silent", s.Silent},
		{"data", s.Data != ""}, {"share", s.Share != 0},
	} {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

// takesNot is the error of a field that the kind does not take; nil if all that are set are taken.
func (s Spec) takesNot(takes []string) error {
	for _, name := range s.given() {
		if !slices.Contains(takes, name) {
			if len(takes) == 0 {
				return fmt.Errorf("a %s takes no %s", s.Kind, name)
			}
			return fmt.Errorf("a %s takes no %s, only %s", s.Kind, name, strings.Join(takes, ", "))
		}
	}
	return nil
}
