package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/sync/errgroup"
)

// director decides when the planned faults strike, and records them with their evidence.
//
// A fault of the plan is armed after its waiting time, strikes at the next step that fits its aim, lasts as planned, heals, and waits again.
// Clients ask at every step (reached), on their own goroutine: when reached returns, the fault is in effect, and the client's next op
// meets it. A fault aimed into an acquire strikes while that is under way (acquiring).
type director struct {
	rec   *history.Recorder
	ids   *numbers
	nodes []nemesis.Place // of the lock service
	net   *nemesis.Net
	ttl   time.Duration
	// service is the lock service, for faults that ask who is its primary.
	service nemesis.Replicated
	stop    <-chan struct{} // closed when the workload's time is over; run sets it
	// expire ends the sessions of the client that is at the address.
	expire func(ctx context.Context, client int32, at netip.Addr) (ended []string, err error)
	// leader names the node that leads the lock service now.
	leader func(ctx context.Context) (node string, err error)
	traps  *traps

	mu      sync.Mutex
	faults  []*aimed
	procs   map[int32]*hosts.Process // the workers, by client number
	apps    map[int32]*client        // the same, as far as they are held up from inside
	holding map[int32][]int64        // client → its grants, the oldest first
	struck  map[int32]bool           // clients that a fault has in its grip: it lets no other near
	killed  map[int32]time.Duration  // clients that were killed and not yet replaced → how long they are to stay away
	down    bool                     // a fault has nodes in its grip
	spans   []span                   // faults so far that delay heartbeats, for telling injected stalls from the machine's own
}

// errKilled says that a fault has killed the client: the application's round is over.
var errKilled = errors.New("the client was killed by a fault")

// aimed is one fault of the plan. It is armed, then taken by a step, then in effect, then waiting to be armed again.
type aimed struct {
	plan  scenarios.Fault
	place int // in the plan, from 1
	spec  nemesis.Spec
	aim   nemesis.Aim // that of spec
	rng   *rand.Rand
	armed bool
	// retired: its time is over. Who has taken it and does not strike must say so (over), not arm it again.
	retired bool
	// over is told of the end of each strike: nil, or why it could not be injected or proven.
	over chan error
}

func newDirector(rec *history.Recorder, plan scenarios.Plan, procs map[int32]*hosts.Process, nodes []nemesis.Place, net *nemesis.Net,
	ids *numbers, traits ...nemesis.Trait) (*director, error) {
	d := &director{rec: rec, procs: procs, nodes: nodes, net: net, ttl: plan.Scenario.TTL.Std(), ids: ids,
		holding: map[int32][]int64{}, struck: map[int32]bool{}, killed: map[int32]time.Duration{}}
	for i, f := range plan.Scenario.Faults {
		spec := FaultSpec(f)
		if err := nemesis.Check(spec, d.nodeNames(), traits...); err != nil {
			return nil, fmt.Errorf("fault %d of %s: %w", i, plan.Scenario.Name, err)
		}
		d.faults = append(d.faults, &aimed{plan: f, place: i + 1, spec: spec, aim: spec.Aim, rng: plan.Stream(fmt.Sprintf("fault %d", i)), over: make(chan error, 1)})
	}
	d.traps = newTraps(d.faults)
	return d, nil
}

func (d *director) nodeNames() (names []string) {
	for _, n := range d.nodes {
		names = append(names, n.Name)
	}
	return names
}

// run arms the faults again and again until stop is closed, and returns when every strike is over. Its error is that of a fault
// that could not be injected or proven: such a run is never a pass.
func (d *director) run(ctx context.Context, stop <-chan struct{}) (err error) {
	defer func() { err = errors.Join(err, d.net.Close()) }() // heals nothing any more, but takes the filters away
	d.stop = stop
	var all errgroup.Group
	for _, f := range d.faults {
		all.Go(func() error { return d.cycle(ctx, stop, f) })
	}
	return all.Wait()
}

func (d *director) cycle(ctx context.Context, stop <-chan struct{}, f *aimed) error {
	for wait := f.plan.After.Std(); ; wait = f.plan.Every.Draw(f.rng).Std() {
		if !pause(ctx, stop, wait) || closed(stop) {
			return nil
		}
		d.arm(f)
		if f.aim.When == nemesis.Random {
			if err := d.strikeNow(ctx, stop, f); err != nil {
				return err
			}
		}
		select {
		case err := <-f.over:
			if err != nil {
				return err
			}
			continue
		case <-ctx.Done():
		case <-stop:
		}
		return d.disarm(f)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (d *director) arm(f *aimed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.armed = true
}

// disarm takes a fault back, or waits for the end of its strike if it has struck meanwhile.
func (d *director) disarm(f *aimed) error {
	d.mu.Lock()
	armed := f.armed
	f.armed, f.retired = false, true
	d.mu.Unlock()
	if armed {
		return nil
	}
	return <-f.over
}

// take takes an armed fault for a strike, on the client if its target is one, else on nodes. The caller holds the lock.
func (d *director) take(f *aimed, client int32) bool {
	if f.aim.Target.Client() {
		if _, dead := d.killed[client]; !f.armed || d.struck[client] || dead {
			return false
		}
		d.struck[client] = true
	} else {
		if !f.armed || d.down {
			return false
		}
		d.down = true
	}
	f.armed = false
	return true
}

// putBack arms a fault again that was taken and has not struck.
func (d *director) putBack(f *aimed, client int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.letGo(f, client)
	if f.retired {
		f.over <- nil
		return
	}
	f.armed = true
}

// letGo ends a fault's grip. The caller holds the lock.
func (d *director) letGo(f *aimed, client int32) {
	if f.aim.Target.Client() {
		delete(d.struck, client)
	} else {
		d.down = false
	}
}

// reached is called by a client at every step. A fault whose aim fits is in effect when it returns.
func (d *director) reached(ctx context.Context, s nemesis.Step) error {
	if hit := d.taken(s); hit != nil {
		return d.strike(ctx, hit, s.Client, s.Grant)
	}
	return nil
}

// taken takes the fault that strikes at the step; nil: none does.
func (d *director) taken(s nemesis.Step) *aimed {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.faults {
		if f.aim.Strikes(s) && d.take(f, s.Client) {
			return f
		}
	}
	return nil
}

// acquiring is called by a client right before it sends an acquire. A fault aimed into the acquire strikes a while later, if the answer has
// not come by then. The client calls answered when it has; a fault that strikes just then is in effect when that returns.
func (d *director) acquiring(ctx context.Context, client int32) (answered func() error) {
	hit := d.taken(nemesis.Step{Moment: nemesis.Acquiring, Client: client})
	if hit == nil {
		return func() error { return nil }
	}
	if hit.spec.Waits() { // for the acquire that is about to be sent
		struck := d.strike(ctx, hit, client, 0)
		return func() error { return struck }
	}
	came, struck := make(chan struct{}), make(chan error, 1)
	delay := nemesis.Delay(hit.rng, d.ttl)
	go func() {
		if !pause(ctx, came, delay) || closed(came) {
			d.putBack(hit, client)
			struck <- nil
			return
		}
		struck <- d.strike(ctx, hit, client, 0)
	}()
	return func() error {
		close(came)
		return <-struck
	}
}

// strikeNow strikes at once: nodes, or whoever holds just now. If nobody does, the fault stays armed until somebody is granted the lock.
func (d *director) strikeNow(ctx context.Context, stop <-chan struct{}, f *aimed) error {
	if f.aim.Target.Client() {
		return passed(d.strikeHolder(ctx, f))
	}
	for !closed(stop) {
		d.mu.Lock()
		mine := d.take(f, 0)
		d.mu.Unlock()
		if mine {
			return d.strike(ctx, f, 0, 0)
		}
		if !pause(ctx, stop, turnStep) { // another fault has nodes in its grip
			return nil
		}
	}
	return nil
}

// turnStep is the pause between two looks whether a fault has let go.
const turnStep = time.Millisecond

// passed drops the news that a client was killed: it is for that client alone.
func passed(err error) error {
	if errors.Is(err, errKilled) {
		return nil
	}
	return err
}

// strikeHolder strikes whoever holds just now, if anybody does.
func (d *director) strikeHolder(ctx context.Context, f *aimed) error {
	d.mu.Lock()
	holders := slices.DeleteFunc(slices.Sorted(maps.Keys(d.holding)), func(c int32) bool { return d.struck[c] })
	if len(holders) == 0 {
		d.mu.Unlock()
		return nil
	}
	c := holders[f.rng.IntN(len(holders))]
	grant := d.holding[c][0]
	mine := d.take(f, c)
	d.mu.Unlock()
	if !mine {
		return nil
	}
	return d.strike(ctx, f, c, grant)
}

// holds notes what a client holds. A fault for any moment that has been waiting for a holder strikes.
func (d *director) holds(ctx context.Context, client int32, grant int64) error {
	d.mu.Lock()
	if _, dead := d.killed[client]; dead {
		d.mu.Unlock()
		return errKilled
	}
	d.holding[client] = append(d.holding[client], grant)
	var waiting []*aimed
	for _, f := range d.faults {
		if f.armed && f.aim.When == nemesis.Random && f.aim.Target.Client() {
			waiting = append(waiting, f)
		}
	}
	d.mu.Unlock()
	for _, f := range waiting {
		if err := passed(d.strikeHolder(ctx, f)); err != nil {
			return err
		}
	}
	return nil
}

// releases notes that a client does not hold the grant any more, as far as it knows.
func (d *director) releases(client int32, grant int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holding[client] = slices.DeleteFunc(d.holding[client], func(g int64) bool { return g == grant })
	if len(d.holding[client]) == 0 {
		delete(d.holding, client)
	}
}
