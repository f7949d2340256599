package scenarios

import (
	"math/rand/v2"
	"time"
)

// weapon draws a fault of one sort, for a lock with such a TTL.
type weapon struct {
	weight int
	// service tells that it strikes nodes, and not by their links: it may strike while another fault lies on a client or on links. So does the end of a
	// session, for which the service must answer: it comes when no node is down.
	service bool
	draw    func(d dice) Fault
}

// dice are random numbers and the measure of time.
type dice struct {
	*rand.Rand
	ttl Duration
	// most bounds how long a fault lasts: a run is to have several.
	most Duration
}

// share draws a part of the TTL, from least to most, in whole milliseconds, and at least floor.
func (d dice) share(least, most float64, floor Duration) Duration {
	v := Duration((least + d.Float64()*(most-least)) * float64(d.ttl))
	return max(floor, min(v, d.most).round())
}

func (d Duration) round() Duration { return Duration(d.Std().Round(time.Millisecond)) }

func pick[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// linkFloor is how long a fault of links lasts at least: after a cut TCP waits for a while before it sends again, and shorter ones may meet nobody.
const linkFloor = Duration(500 * time.Millisecond)

// nodeFloor is the same for links of nodes: a client that could not reach a server stays away from it for a second (go-redis).
const nodeFloor = Duration(1500 * time.Millisecond)

// step draws a step of a holder.
func (d dice) step() string {
	return pick(d, "after-grant", "between-read-and-write", "before-write", "before-release")
}

// holderAt is a fault of a holder at a step, of links where packets are to be met.
func (d dice) holder(kind string) Fault {
	return Fault{Kind: kind, Target: "holder", When: pick(d, "after-grant", "between-read-and-write"), For: d.share(0.5, 2.5, linkFloor)}
}

func (d dice) nodes() string { return pick(d, "nodes:1", "minority", "majority", "leader", "primary") }

// arsenal are the faults that a random scenario draws from. What does not fit a lock, or a machine, is not drawn for it.
func arsenal() []weapon {
	return []weapon{
		{4, false, func(d dice) Fault {
			return Fault{Kind: "pause", Target: pick(d, "holder", "holder", "random-client", "all-clients"), When: pick(d, d.step(), "random"), For: d.share(0.2, 2.5, 1)}
		}},
		{1, false, func(d dice) Fault {
			return Fault{Kind: "pause", Target: "next-waiter", When: pick(d, "before-release", "random"), For: d.share(0.2, 2.5, 1)}
		}},
		{2, false, func(d dice) Fault {
			return Fault{Kind: "pause", Target: "holder", When: "acquiring", For: d.share(0.5, 2, 1)}
		}},
		{2, false, func(d dice) Fault {
			return Fault{Kind: "kill", Target: pick(d, "holder", "random-client"), When: pick(d, d.step(), "random"), For: d.share(0, 0.5, 0)}
		}},
		{1, false, func(d dice) Fault {
			return Fault{Kind: "throttle", Target: "holder", When: "after-grant", Share: pick(d, 0.1, 0.3), For: d.share(1, 3, 1)}
		}},
		{1, false, func(d dice) Fault {
			return Fault{Kind: pick(d, "stall", "renewer-stall"), Target: "holder", When: "after-grant", For: d.share(0.5, 2.5, 1)}
		}},
		{3, false, func(d dice) Fault {
			f := d.holder("partition")
			f.Peers, f.Way = pick(d, "all", "store", "service"), pick(d, "both", "in", "out")
			if f.Peers == "service" {
				f.When = "before-release"
			}
			return f
		}},
		{1, false, func(d dice) Fault {
			f := d.holder("delay")
			f.Delay, f.Jitter = d.share(0.02, 0.4, 1), d.share(0, 0.02, 0)
			return f
		}},
		{1, false, func(d dice) Fault {
			f := d.holder("loss")
			f.Probability = 0.5
			return f
		}},
		{2, false, func(d dice) Fault {
			f := Fault{Kind: "hold", Target: "holder", When: pick(d, "after-grant", "before-write"), Request: "write", For: d.share(0.5, 2.5, 1)}
			if d.IntN(3) == 0 {
				f.When, f.Request, f.Way = "acquiring", "acquire", "in"
			}
			return f
		}},
		{1, false, func(d dice) Fault {
			return Fault{Kind: "cut", Target: "holder", When: "before-write", Request: "write", Point: pick(d, "before-request", "after-request", "after-reply")}
		}},
		{1, false, func(d dice) Fault {
			return Fault{Kind: "reset", Target: "holder", When: "between-read-and-write", Peers: pick(d, "all", "store")}
		}},
		{2, false, func(d dice) Fault {
			f := Fault{Kind: "clock-jump", Target: pick(d, "holder", "random-client", "all-clients"), When: "random", Clock: "wall", For: d.share(0.5, 2, 1)}
			f.By = Offset(pick(d, time.Hour, -time.Hour, time.Second, -time.Second))
			if d.IntN(3) == 0 {
				f.Clock, f.By = "mono", Offset(pick(d, time.Second, time.Minute))
			}
			return f
		}},
		{1, false, func(d dice) Fault {
			return Fault{Kind: "clock-rate", Target: pick(d, "holder", "all-clients"), When: "random", Clock: pick(d, "wall", "mono"), Rate: pick(d, 0.2, 0.5, 2, 5),
				For: d.share(0.5, 2, 1)}
		}},
		{2, false, func(d dice) Fault {
			return Fault{Kind: "partition", Target: pick(d, "nodes:1", "leader", "primary"), When: "random", For: d.share(1, 3, nodeFloor)} // from everybody: a client of ZooKeeper talks to one member alone
		}},
		{1, false, func(d dice) Fault {
			return Fault{Kind: "delay", Target: d.nodes(), When: "random", Delay: d.share(0.02, 0.3, 1), For: d.share(1, 3, nodeFloor)}
		}},

		{3, true, func(d dice) Fault {
			return Fault{Kind: "pause", Target: d.nodes(), When: pick(d, "random", "acquiring", "after-grant"), For: d.share(0.3, 2, 1)}
		}},
		{2, true, func(d dice) Fault {
			return Fault{Kind: "crash-restart", Target: pick(d, "nodes:1", "leader"), When: "random", Data: pick(d, "kept", "lost"), For: d.share(0.2, 1, 1)}
		}},
		{1, true, func(d dice) Fault {
			return Fault{Kind: "throttle", Target: d.nodes(), When: "random", Share: pick(d, 0.2, 0.5), For: d.share(1, 3, 1)}
		}},
		{2, true, func(d dice) Fault {
			f := Fault{Kind: "clock-jump", Target: d.nodes(), When: "random", Clock: "wall", For: d.share(0.2, 1, 1)}
			f.By = Offset(pick(d, time.Hour, -time.Hour, 2*d.ttl.Std()))
			return f
		}},
		{1, true, func(d dice) Fault {
			return Fault{Kind: "clock-rate", Target: d.nodes(), When: "random", Clock: pick(d, "wall", "mono"), Rate: pick(d, 0.5, 2, 5), For: d.share(0.5, 2, 1)}
		}},
		{1, true, func(d dice) Fault {
			return Fault{Kind: "expire-session", Target: "holder", When: pick(d, "after-grant", "before-write")}
		}},
	}
}
