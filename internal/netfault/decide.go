package netfault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Fate is what happens to one packet. The zero value lets it pass at once.
type Fate struct {
	Drop   bool
	Delay  time.Duration
	Hold   bool // until Diversion.Release; with a Delay, for that long at the most
	Copies int  // extra copies, sent when the packet itself is; of outgoing packets only
	// reset the packet's TCP connection, after the rest of the fate has been carried out
	Reset bool
	// the packet is one of ours, to measure with (RoundTrip): the evidence does not count it
	Gauge bool
}

// Decide chooses the fate of a packet. Its answer depends on nothing but the
// packets that it has seen, their stamps, and the random numbers that it was
// given. It is called for one packet after the other, and must not block.
type Decide func(p *Packet) Fate

// Conditions are those of a bad network, in one direction, with the meaning
// that netem gives them (tc-netem(8)), but for MaxBytes, which it does not have.
// The zero value is a good network.
type Conditions struct {
	Delay time.Duration
	// each packet is delayed by Delay ± Jitter, evenly spread; late packets are overtaken
	Jitter time.Duration
	Loss   float64 // probability that a packet is lost
	// probability that a packet is sent twice; on the sender's side (Out) only
	Duplicate float64
	// probability that a packet is not delayed, so that it overtakes those that are
	Reorder float64
	Rate    int64 // bytes a second, IP headers included; 0: without bound
	// packets of more bytes than this, IP headers included, are lost; 0: none for its size
	MaxBytes int
}

// backlog is how many bytes may wait where the rate is bounded; what comes on
// top is lost, as in the full queue of a router.
const backlog = 1000 * 1500

// Validate says what is wrong with the conditions.
func (c Conditions) Validate() error {
	var errs []error
	for _, p := range []struct {
		name  string
		value float64
	}{{"loss", c.Loss}, {"duplicate", c.Duplicate}, {"reorder", c.Reorder}} {
		if !(p.value >= 0 && p.value <= 1) {
			errs = append(errs, fmt.Errorf("%s is %v: want a probability from 0 to 1", p.name, p.value))
		}
	}
	if c.Delay < 0 || c.Jitter < 0 || c.Jitter > c.Delay {
		errs = append(errs, fmt.Errorf("delay %v with jitter %v: want 0 ≤ jitter ≤ delay", c.Delay, c.Jitter))
	}
	if c.Reorder > 0 && c.Delay == 0 {
		errs = append(errs, errors.New("reorder without delay: packets overtake only those that are delayed"))
	}
	if c.Rate < 0 {
		errs = append(errs, fmt.Errorf("rate is %d bytes a second", c.Rate))
	}
	if c.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("packets of at most %d bytes arrive", c.MaxBytes))
	}
	if c == (Conditions{}) {
		errs = append(errs, errors.New("no condition is given: nothing would happen"))
	}
	return errors.Join(errs...)
}

// Degrade makes a network of the given conditions. Every packet takes four
// random numbers, whatever comes of it, so one condition's draws do not depend
// on another's. The rate is shared by all packets that the function sees.
func Degrade(c Conditions, rng *rand.Rand) Decide {
	var free int64 // when the line will have sent all that it has taken
	line := func(p *Packet) (wait, sending int64) {
		return max(free, p.At) - p.At, int64(float64(p.Size) / float64(c.Rate) * 1e9)
	}
	return func(p *Packet) Fate {
		if p.gauges() {
			f := Fate{Delay: c.Delay, Gauge: true}
			if c.Rate > 0 {
				wait, sending := line(p)
				f.Delay += time.Duration(wait + sending)
			}
			return f
		}
		lost, twice, early, spread := rng.Float64() < c.Loss, rng.Float64() < c.Duplicate, rng.Float64() < c.Reorder,
			2*rng.Float64()-1
		if lost || c.MaxBytes > 0 && p.Size > c.MaxBytes {
			return Fate{Drop: true}
		}
		f := Fate{Delay: c.Delay + time.Duration(spread*float64(c.Jitter))}
		if early {
			f.Delay = 0
		}
		if twice {
			f.Copies = 1
		}
		if c.Rate > 0 {
			wait, sending := line(p)
			if float64(wait)*float64(c.Rate) > backlog*1e9 {
				return Fate{Drop: true}
			}
			free = p.At + wait + sending
			f.Delay += time.Duration(wait + sending)
		}
		return f
	}
}
