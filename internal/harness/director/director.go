// Package director decides when the planned faults strike, whom, and for how
// long, in real runs and in virtual time. It records each with its evidence.
//
//   - director.go, program.go, run.go: the plan's faults, armed when they are due
//   - steps.go, activestrike.go: which armed fault strikes at a client's step, and whom
//   - strike.go, effects.go, activefault.go: what a strike does, until it is healed
//   - traps.go, trap.go: the faults that wait for a packet
//   - members.go, absence.go, disturbance.go, stall.go, nextgrant.go: what is known meanwhile
//
// The Setting says how time passes and what injects a fault. All else is the same in both times.
//
// A simulation draws a number for each event that it queues, so one event more or less changes
// all that follows. These are the director's: a task for each fault; each wait of a fault's
// rounds, every millisecond while it looks for a victim; a strike into a call; the end of each
// fault of a strike, queued as soon as that is in effect, and of a trap before all else that its
// packet causes; and the wakes at the end of a strike, of its fault first.
package director

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Director decides when the planned faults strike, and records them with their evidence.
//
// A fault of the plan is armed when its schedule says so, strikes at the next step that fits
// its aim, lasts as planned, heals, and waits again. Clients ask at every step (Reached), on
// their own goroutine: when Reached returns, the fault is in effect, and the client's next
// op meets it. A fault aimed into a call strikes while that is under way (underway).
type Director struct {
	set   Setting
	ttl   time.Duration
	traps *traps
	stop  <-chan struct{} // closed when the time for faults is over; Begin sets it

	mu      sync.Mutex
	faults  []*plannedFault
	procs   map[int32]*hosts.Process      // the workers, by client number
	far     map[int32]nemesis.Place       // where clients are that are on other machines
	apps    map[int32]nemesis.Application // the same, as far as they are held up from inside
	clients int32                         // those of the workload: 1 to clients
	holders []nemesis.Holding             // the oldest grant first
	waiters []nemesis.Waiting             // who has waited longest first
	granted int64                         // grants so far
	// clients that a fault strikes now: no other one may
	struck map[int32]bool
	// clients that were killed, or are closed to free a stuck key, and not yet replaced
	killed map[int32]Absence
	down   bool // a fault strikes nodes now
	// when all that faults on nodes held back has had its time, as a stamp of set.Time
	wholeAt   int64
	selves    map[int32]int32 // who has taken a client's place, by its number
	left      map[int32]bool  // clients whose applications are done
	suspended bool            // a stuck key is diagnosed: no fault strikes
	// when all that the faults so far held back has had its time, as a stamp of set.Time
	undisturbed int64
	// faults so far that delay heartbeats, for telling injected stalls from the machine's own
	spans []span
}

// plannedFault is one fault of the plan: a schedule, and what it does each time. Its present strike
// is armed, then taken by a step, then in effect; then the next one waits to be armed.
type plannedFault struct {
	schedule nemesis.Schedule
	program  nemesis.Program
	// stream returns the random numbers for one part of it.
	stream func(name string) *rand.Rand
	// waiter goes through its rounds; nil: nobody does.
	waiter clock.Waiter
	// over is told of the end of each strike: nil, or why it could not be injected or proven.
	// The sender wakes the waiter.
	over chan error
	// turn is the number of the request of a call at which it struck last,
	// where it strikes at each in turn; missed is how many calls in a row had
	// no further one. Both are for the strike that has taken it.
	turn, missed int

	// The rest is guarded by the director's lock.
	strike nemesis.Strike
	draws  *rand.Rand // whom the strike hits
	delays *rand.Rand // when, into a call
	armed  bool
	// awaits is the number of the grant that arms it; 0: none does. only is the
	// grant at whose steps it strikes, while it is held; 0: any.
	awaits, only int64
	// retired: its time is over. Who has taken it and does not strike must say
	// so (over), not arm it again.
	retired bool
}

// Setting is what a director is made for.
type Setting struct {
	// Plan has the faults. They are known to be possible.
	Plan scenarios.Plan
	// Time is how time passes; nil: as the machine's does (clock.Real).
	Time     clock.Time
	Recorder *history.Recorder
	IDs      *wire.Numbers
	// Nodes are those of the lock service, and Net is the network of all.
	Nodes []nemesis.Place
	Net   *nemesis.Net
	// Procs are the clients' processes by the clients' numbers; Far says where clients
	// are that are on other machines or have no process; Apps are those that are held up
	// from inside. The director keeps these up to date.
	Procs map[int32]*hosts.Process
	Far   map[int32]nemesis.Place
	Apps  map[int32]nemesis.Application
	// Whole: a client is all that runs on its host, and not one process group.
	Whole bool
	// Service is the lock service, for faults that ask who is its primary.
	Service nemesis.Replicated
	// FailOver has a service of the user's fail over; nil: it is not one.
	FailOver func(context.Context) (nemesis.TriggeredFailover, error)
	// Expire ends the sessions of the client that is at the address.
	Expire func(ctx context.Context, client int32, at netip.Addr) (ended []string, err error)
	// Leader names the node that leads the lock service now.
	Leader func(ctx context.Context) (node string, err error)
	// Cluster runs the clients, if it is a cluster that does.
	Cluster nemesis.Cluster
	// OnWire returns the text that a key has in the lock's packets; nil: the key itself.
	OnWire func(key string) string
	// NoteStall is told of each stall of a client; nil: nobody wants to know.
	NoteStall func(lasted time.Duration)
	// Inject puts a fault into effect; nil: nemesis.Inject.
	Inject func(context.Context, nemesis.Site) (nemesis.InEffect, error)
	// Freed is called when a strike has let go of its victims; nil: nobody wants to know.
	Freed func()
	// RecordsLate: the beginning of a fault is recorded when it is in effect. Nothing happens
	// meanwhile in virtual time, and a fault of clocks has its first readings by then. A real fault
	// may bite before it is proven, and is recorded before.
	RecordsLate bool
	// ClocksOfStopped: clocks can be set right while what reads them is stopped. Those of real
	// processes are set right by code that runs in them.
	ClocksOfStopped bool
}

// New makes a director.
func New(s Setting) (*Director, error) {
	if s.Time == nil {
		s.Time = clock.Real{}
	}
	if s.Inject == nil {
		s.Inject = nemesis.Inject
	}
	plan := s.Plan
	d := &Director{set: s, ttl: plan.Scenario.TTL.Std(), traps: newTraps(s), clients: int32(plan.Scenario.Clients),
		procs: s.Procs, far: s.Far, apps: s.Apps, struck: map[int32]bool{}, killed: map[int32]Absence{},
		selves: map[int32]int32{}, left: map[int32]bool{}}
	if d.procs == nil {
		d.procs = map[int32]*hosts.Process{}
	}
	if d.apps == nil {
		d.apps = map[int32]nemesis.Application{}
	}
	place := 0 // of each single fault, from 1: as in the history's header
	for i, f := range plan.Scenario.Faults {
		for _, single := range f.Singles() {
			if n := nemesis.Target(single.Target).Number(); n > d.clients {
				return nil, fmt.Errorf("fault %d of %s: target %s, and there are %d clients", i, plan.Scenario.Name,
					single.Target, d.clients)
			}
		}
		d.faults = append(d.faults, &plannedFault{schedule: schedule(f), program: program(f, &place),
			over:   make(chan error, 1),
			stream: func(name string) *rand.Rand { return plan.Stream(fmt.Sprintf("fault %d %s", i, name)) }})
	}
	return d, nil
}

func (d *Director) nodeNames() (names []string) {
	for _, n := range d.set.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// span is a time in which a client was stopped on purpose, or is known to have
// stalled (ns since the history's origin); to is 0 while it lasts.
type span struct {
	frozen   bool // its processes are stopped
	client   int32
	from, to int64
}
