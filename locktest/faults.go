package locktest

import (
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// noFault is the name of a run that nothing disturbs.
const noFault = "none"

// fault is a fault by its name: how it is made for a TTL, and how often it must
// have struck for a run to mean anything.
type fault struct {
	name, about string
	// smoke: it is run with -short, too.
	smoke bool
	// check: the application asks the lock before it writes.
	check bool
	bites int
	make  func(ttl scenarios.Duration) scenarios.Fault
}

const second = scenarios.Duration(time.Second)

// ms is a range of milliseconds.
func ms(least, most int) scenarios.Range {
	return scenarios.Range{Min: scenarios.Duration(least) * scenarios.Duration(time.Millisecond),
		Max: scenarios.Duration(most) * scenarios.Duration(time.Millisecond)}
}

// outlasting is how long a fault lasts that is to outlast a lease.
func outlasting(ttl scenarios.Duration) scenarios.Duration { return ttl * 19 / 10 }

// aimed is a fault of the holder that comes every so often.
func aimed(kind, when string, length scenarios.Duration) scenarios.Fault {
	return scenarios.Fault{Kind: kind, Target: "holder", When: when, For: length, After: ms(100, 0).Min,
		Every: ms(200, 400)}
}

// faults are in the order in which RunAll takes them.
var faults = []fault{
	{name: noFault, about: "nothing is disturbed (the control)", smoke: true},
	{name: "pause-holder", about: "the holder is frozen past its lease, between read and write", smoke: true, bites: 2,
		make: func(ttl scenarios.Duration) scenarios.Fault {
			return aimed(nemesis.KindPause, "between-read-and-write", outlasting(ttl))
		}},
	{name: "kill-holder", about: "the holder is killed between read and write", smoke: true, bites: 2,
		make: func(scenarios.Duration) scenarios.Fault {
			return aimed(nemesis.KindKill, "between-read-and-write", ms(100, 0).Min)
		}},
	{name: "pause-after-check", about: "the application asks the lock right before it writes, and is frozen between the answer and the write", check: true, bites: 2,
		make: func(ttl scenarios.Duration) scenarios.Fault {
			return aimed(nemesis.KindPause, "before-write", outlasting(ttl))
		}},
	{name: "pause-acquiring", about: "a client is frozen past its lease while its acquire is under way", bites: 2,
		make: func(ttl scenarios.Duration) scenarios.Fault {
			return aimed(nemesis.KindPause, "acquiring", outlasting(ttl))
		}},
	{name: "partition-holder", about: "the holder is cut off from the lock service past its lease", bites: 1,
		make: func(ttl scenarios.Duration) scenarios.Fault {
			f := aimed(nemesis.KindPartition, "between-read-and-write", outlasting(ttl))
			f.Peers = "service"
			return f
		}},
	{name: "partition-store", about: "the holder is cut off from the store past its lease", bites: 1,
		make: func(ttl scenarios.Duration) scenarios.Fault {
			f := aimed(nemesis.KindPartition, "after-grant", outlasting(ttl))
			f.Peers = "store"
			return f
		}},
	{name: "hold-write", about: "the holder's write is kept on the wire past its lease", bites: 1,
		make: func(ttl scenarios.Duration) scenarios.Fault {
			f := aimed(nemesis.KindHold, "before-write", outlasting(ttl)*2)
			f.Request = "write"
			return f
		}},
	{name: "hold-replies", about: "the service's answers to an acquire are kept on the wire past the lease", bites: 1,
		make: func(ttl scenarios.Duration) scenarios.Fault {
			f := aimed(nemesis.KindHold, "acquiring", outlasting(ttl))
			f.Request, f.Way = "acquire", "in"
			return f
		}},
	{name: "cut-acquire", about: "the connection breaks when the request for the lock has been sent, and nobody knows whether it was granted", bites: 1,
		make: func(scenarios.Duration) scenarios.Fault {
			f := aimed(nemesis.KindCut, "acquiring", 0)
			f.Request, f.Point = "acquire", "after-request"
			return f
		}},
	{name: "clock-back", about: "the holder's wall clock jumps back", bites: 1,
		make: func(ttl scenarios.Duration) scenarios.Fault {
			f := aimed(nemesis.KindClockJump, "after-grant", outlasting(ttl))
			f.Clock, f.By = "wall", scenarios.Offset(-20*ttl)
			return f
		}},
}

// Faults lists the names of faults that a Scenario may have.
func Faults() []string {
	var names []string
	for _, f := range faults {
		names = append(names, f.name)
	}
	return names
}
