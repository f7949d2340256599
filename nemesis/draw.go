package nemesis

import (
	"math/rand/v2"
	"time"
)

// Draw is one way to draw a fault for a random scenario.
type Draw struct {
	Kind string
	// Weight is how many times as often it is drawn as one of weight 1.
	Weight int
	// Beside tells that it strikes nodes, and not by their links: it may strike
	// while another fault lies on a client or on links. So does the end of a
	// session, for which the service must answer: it comes when no node is down.
	Beside bool

	of func(d Dice) Part
}

// Draws lists the ways to draw faults of all kinds.
func Draws() (all []Draw) {
	for _, k := range kinds() {
		for _, d := range k.draws {
			d.Kind = k.Name
			all = append(all, d)
		}
	}
	return all
}

// Of draws a fault. Whether it fits a lock, or a machine, is not looked at.
func (w Draw) Of(d Dice) Part {
	p := w.of(d)
	p.Kind = w.Kind
	return p
}

// Dice are random numbers and the measure of time.
type Dice struct {
	*rand.Rand
	// TTL is that of the lock; Most bounds how long a fault lasts: a run is to have several.
	TTL, Most time.Duration
}

// share draws a part of the TTL, from least to most, in whole milliseconds, and at least floor.
func (d Dice) share(least, most float64, floor time.Duration) time.Duration {
	v := time.Duration((least + d.Float64()*(most-least)) * float64(d.TTL))
	return max(floor, min(v, d.Most).Round(time.Millisecond))
}

// LinkFloor is how long a fault of links lasts at least: after a cut TCP waits
// for a while before it sends again, and shorter ones may meet nobody.
const LinkFloor = 500 * time.Millisecond

// nodeFloor is the same for links of nodes: a client that could not reach a
// server stays away from it for a second (go-redis).
const nodeFloor = 1500 * time.Millisecond

func pick[T any](d Dice, of ...T) T { return of[d.IntN(len(of))] }

// step draws a step of a holder.
func (d Dice) step() Moment {
	return pick(d, AfterGrant, BetweenReadAndWrite, BeforeWrite, BeforeRelease)
}

// onHolder is a fault of a holder at a step, of links where packets are to be met.
func (d Dice) onHolder() Part {
	return aimed(Holder, pick(d, AfterGrant, BetweenReadAndWrite), d.share(0.5, 2.5, LinkFloor))
}

func (d Dice) nodes() Target { return pick(d, oneNode, minority, majority, Leader, Primary) }

// oneNode is any node.
const oneNode Target = "nodes:1"

// aimed is a fault that lasts so long.
func aimed(target Target, when Moment, lasts time.Duration) Part {
	return Part{Spec: Spec{Aim: Aim{target, when}}, For: lasts}
}
