package nemesis

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Program is what a planned fault does each time that its schedule says so.
// Exactly one of its fields is set.
type Program struct {
	// Strike is one fault, or several on the same victims.
	Strike *Strike
	// Sequence are programs one after the other: the next begins when the one before is healed.
	Sequence []Program
	// Mix is one of several, drawn by weight: Jepsen's combined nemesis.
	Mix []Choice

	// After is the quiet time before it, where it is not the first of a sequence's.
	After time.Duration
}

// Choice is one that may be drawn, so many times as often as one of weight 1.
type Choice struct {
	Weight int
	Program
}

// Strike is what hits the same victims at the same moment.
type Strike struct {
	Aim
	Parts []Part
	// After is the quiet time between the end of the strike before, in the same
	// sequence, and this one's arming.
	After time.Duration
}

// Part is one fault of a strike, and how long it lasts; of a kill, how long the client stays away.
type Part struct {
	Spec
	For time.Duration
	// Place is which of the plan's single faults it is, from 1.
	Place int
}

// Strikes unfolds one round of the program: what strikes, one after the other.
// It is a pure function: the same random numbers draw the same.
func (p Program) Strikes(rng *rand.Rand) []Strike {
	var all []Strike
	switch {
	case p.Strike != nil:
		all = []Strike{*p.Strike}
		all[0].Parts = inOrder(p.Strike.Parts)
	case len(p.Mix) > 0:
		all = p.Mix[drawn(p.Mix, rng)].Strikes(rng)
	default:
		for _, one := range p.Sequence {
			all = append(all, one.Strikes(rng)...)
		}
	}
	if len(all) > 0 {
		all[0].After += p.After
	}
	return all
}

// drawn takes a choice by weight.
func drawn(mix []Choice, rng *rand.Rand) int {
	total := 0
	for _, c := range mix {
		total += c.Weight
	}
	at := rng.IntN(total)
	for i, c := range mix {
		if at -= c.Weight; at < 0 {
			return i
		}
	}
	panic("weights that do not add up to their sum")
}

// inOrder puts the faults that strike together into the order in which they are
// injected: links first, for the processes still run; then clocks, which cannot
// be changed in a process that is stopped; stops last.
func inOrder(parts []Part) []Part {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return a.rank() - b.rank() })
	return parts
}

func (s Spec) rank() int {
	switch {
	case s.Stops():
		return 3
	case s.OnClocks():
		return 2
	case s.OnLinks():
		return 0
	}
	return 1
}
