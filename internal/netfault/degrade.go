//go:build linux

package netfault

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Degrade makes the conditions of a bad network for all packets that match. The
// generator belongs to the fault from then on. Packets of all matches share one line
// where the rate is bounded; use a fault for each direction if each is to have its own.
func (f *Filter) Degrade(tag string, c Conditions, rng *rand.Rand, matches ...Match) (*Diversion, error) {
	err := c.Validate()
	for _, m := range matches {
		if m.Dir == In && c.Duplicate > 0 {
			err = errors.Join(err, fmt.Errorf("match %s: packets can be duplicated on the sender's side only", m))
		}
	}
	if err != nil {
		return nil, f.failed("degrade", tag, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.divert(tag, Degrade(c, rng), matches)
	if err != nil {
		return nil, f.failed("degrade", tag, err)
	}
	return d, nil
}
