// Package director decides when the planned faults strike, whom, and for how
// long, in real runs and in virtual time. It records each with its evidence.
//
//   - director.go and program.go: the plan's faults, armed when they are due
//   - grip.go: which armed fault strikes at a client's step
//   - strike.go, effects.go, inforce.go, trap.go: what a strike does, until it is healed
//   - presence.go, absence.go, calm.go, stall.go, gap.go: what is known of the clients meanwhile
//   - virtual.go, virtual_faults.go, virtual_trap.go: the same on a simulated network
package director

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/harness/clock"
	"github.com/lockchaos/lockchaos/harness/wire"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/sync/errgroup"
)

// Director decides when the planned faults strike, and records them with their evidence.
//
// A fault of the plan is armed when its schedule says so, strikes at the next step that fits
// its aim, lasts as planned, heals, and waits again. Clients ask at every step (Reached), on
// their own goroutine: when Reached returns, the fault is in effect, and the client's next
// op meets it. A fault aimed into a call strikes while that is under way (underway).
type Director struct {
	rec   *history.Recorder
	ids   *wire.Numbers
	nodes []nemesis.Place // of the lock service
	net   *nemesis.Net
	ttl   time.Duration
	// whole: a client is all that runs on its host, and not one process group.
	whole bool
	// service is the lock service, for faults that ask who is its primary.
	service nemesis.Replicated
	stop    <-chan struct{} // closed when the workload's time is over; run sets it
	// expire ends the sessions of the client that is at the address.
	expire func(ctx context.Context, client int32, at netip.Addr) (ended []string, err error)
	// leader names the node that leads the lock service now.
	leader func(ctx context.Context) (node string, err error)
	// cluster runs the clients, if it is a cluster that does.
	cluster nemesis.Cluster
	traps   *traps
	// carry carries a strike out: strike, or what a simulation has in its place.
	carry func(ctx context.Context, h *hit) error
	// into strikes into a call: underway, or what a simulation has in its place.
	into func(ctx context.Context, s nemesis.Step, longest time.Duration) (answered func() error)
	// noteStall is told of each stall of a client; nil: nobody wants to know.
	noteStall func(lasted time.Duration)

	mu      sync.Mutex
	faults  []*aimed
	procs   map[int32]*hosts.Process      // the workers, by client number
	far     map[int32]nemesis.Place       // where clients are that are on other machines
	apps    map[int32]nemesis.Application // the same, as far as they are held up from inside
	clients int32                         // those of the workload: 1 to clients
	holders []nemesis.Holding             // the oldest grant first
	waiters []nemesis.Waiting             // who has waited longest first
	granted int64                         // grants so far
	// clients that a fault has in its grip: it lets no other near
	struck map[int32]bool
	// clients that were killed, or are closed by an inquiry, and not yet replaced
	killed map[int32]Absence
	down   bool // a fault has nodes in its grip
	// when all that faults on nodes held back has had its time
	wholeAt time.Time
	selves  map[int32]int32 // who has taken a client's place, by its number
	left    map[int32]bool  // clients whose applications are done
	hushed  bool            // an inquiry goes on: no fault strikes
	// when all that the faults so far held back has had its time
	calm time.Time
	// faults so far that delay heartbeats, for telling injected stalls from the machine's own
	spans []span
}

// aimed is one fault of the plan: a schedule, and what it does each time. Its present strike
// is armed, then taken by a step, then in effect; then the next one waits to be armed.
type aimed struct {
	schedule nemesis.Schedule
	program  nemesis.Program
	// stream returns the random numbers for one part of it.
	stream func(name string) *rand.Rand
	// over is told of the end of each strike: nil, or why it could not be injected or proven.
	over chan error
	// turn is the number of the request of a call at which it struck last,
	// where it strikes at each in turn; missed is how many calls in a row had
	// no further one. Both are for whoever has taken it.
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
	Plan     scenarios.Plan
	Recorder *history.Recorder
	IDs      *wire.Numbers
	// Nodes are those of the lock service, and Net is the network of all.
	Nodes []nemesis.Place
	Net   *nemesis.Net
	// Procs are the clients' processes by the clients' numbers; Far says where clients
	// are that are on other machines; Apps are those that are held up from inside.
	Procs map[int32]*hosts.Process
	Far   map[int32]nemesis.Place
	Apps  map[int32]nemesis.Application
	// Whole: a client is all that runs on its host, and not one process group.
	Whole bool
	// Service is the lock service, for faults that ask who is its primary.
	Service nemesis.Replicated
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
}

// New makes a director.
func New(s Setting) (*Director, error) {
	plan := s.Plan
	d := &Director{rec: s.Recorder, procs: s.Procs, far: s.Far, apps: s.Apps, clients: int32(plan.Scenario.Clients),
		nodes: s.Nodes, net: s.Net, ttl: plan.Scenario.TTL.Std(), ids: s.IDs,
		whole: s.Whole, service: s.Service, expire: s.Expire, leader: s.Leader, cluster: s.Cluster,
		noteStall: s.NoteStall, struck: map[int32]bool{}, killed: map[int32]Absence{}, selves: map[int32]int32{},
		left: map[int32]bool{}}
	d.carry, d.into = d.strike, d.underway
	place := 0 // of each single fault, from 1: as in the history's header
	for i, f := range plan.Scenario.Faults {
		for _, single := range f.Singles() {
			if n := nemesis.Target(single.Target).Number(); n > d.clients {
				return nil, fmt.Errorf("fault %d of %s: target %s, and there are %d clients", i, plan.Scenario.Name,
					single.Target, d.clients)
			}
		}
		d.faults = append(d.faults, &aimed{schedule: schedule(f), program: program(f, &place),
			over:   make(chan error, 1),
			stream: func(name string) *rand.Rand { return plan.Stream(fmt.Sprintf("fault %d %s", i, name)) }})
	}
	d.traps = newTraps(plan.Scenario.Faults)
	d.traps.wire = s.OnWire
	return d, nil
}

func (d *Director) nodeNames() (names []string) {
	for _, n := range d.nodes {
		names = append(names, n.Name)
	}
	return names
}

// Run arms the faults again and again until stop is closed, and returns when every strike is over.
// Its error is that of a fault that could not be injected or proven: such a run is never a pass.
func (d *Director) Run(ctx context.Context, stop <-chan struct{}) (err error) {
	// heals nothing any more, but takes the filters away
	defer func() { err = errors.Join(err, d.net.Close()) }()
	d.stop = stop
	began := time.Now()
	var all errgroup.Group
	for _, f := range d.faults {
		all.Go(func() error { return d.cycle(ctx, stop, f, began) })
	}
	return all.Wait()
}

// cycle goes through the rounds of one fault.
func (d *Director) cycle(ctx context.Context, stop <-chan struct{}, f *aimed, began time.Time) error {
	return d.rounds(f, func() time.Duration { return time.Since(began) },
		func(t time.Duration) bool { return clock.Pause(ctx, stop, t) && !clock.Closed(stop) },
		func(grant int64) (bool, error) { return d.once(ctx, stop, f, grant) })
}

// rounds loads the strikes of one fault, each when it is due, and has it made
// once. since tells how long the workload has gone on, and wait waits; it is
// false, as once is, when the time for faults is over.
func (d *Director) rounds(f *aimed, since func() time.Duration, wait func(time.Duration) bool,
	once func(grant int64) (over bool, err error)) error {
	for round := 0; ; round++ {
		rng := f.stream(fmt.Sprintf("round %d", round))
		cue, more := f.schedule.Cue(round, rng)
		if !more {
			return nil
		}
		if cue.Timed {
			cue.Wait = cue.At - since()
		}
		for i, s := range f.program.Strikes(rng) {
			if i > 0 {
				cue = nemesis.Cue{Wait: s.After}
			}
			if !wait(cue.Wait) {
				return nil
			}
			d.load(f, s, fmt.Sprintf("round %d strike %d", round, i))
			if over, err := once(cue.Grant); !over || err != nil {
				return err
			}
		}
	}
}

// once arms the strike that is loaded, at once or with a grant, and waits until
// it is over. It is false when the time for faults is over first.
func (d *Director) once(ctx context.Context, stop <-chan struct{}, f *aimed, grant int64) (over bool, err error) {
	d.arm(f, grant)
	var look <-chan time.Time
	if f.strike.When == nemesis.Random {
		tick := time.NewTicker(turnStep)
		defer tick.Stop()
		look = tick.C
		if err := d.strikeNow(ctx, f); err != nil {
			return true, err
		}
	}
	for {
		select {
		case err := <-f.over:
			return true, err
		case <-look: // another fault may have let go of whom it is aimed at, or there is somebody now
			if err := d.strikeNow(ctx, f); err != nil {
				return true, err
			}
		case <-ctx.Done():
			return false, d.disarm(f)
		case <-stop:
			return false, d.disarm(f)
		}
	}
}

// turnStep is the pause between two looks whether a fault has let go.
const turnStep = time.Millisecond

// load makes a strike the fault's present one, with random numbers of its own:
// what one strike draws changes no other.
func (d *Director) load(f *aimed, s nemesis.Strike, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.strike, f.draws, f.delays = s, f.stream(name), f.stream(name+" delay")
}

// arm arms a fault: now, or with a grant of that number.
func (d *Director) arm(f *aimed, grant int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.armed, f.awaits, f.only = grant == 0, grant, 0
}

// disarm takes a fault back, or waits for the end of its strike if it has struck meanwhile.
func (d *Director) disarm(f *aimed) error {
	if d.takeBack(f) {
		return nil
	}
	return <-f.over
}

// takeBack takes a fault back, and reports whether it had not struck.
func (d *Director) takeBack(f *aimed) (waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting = f.armed || f.awaits != 0
	f.armed, f.awaits, f.retired = false, 0, true
	return waiting
}
