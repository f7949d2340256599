package harness

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
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
// meets it.
type director struct {
	rec   *history.Recorder
	procs map[int32]*hosts.Process // the workers, by client number
	ids   *numbers

	mu      sync.Mutex
	faults  []*aimed
	holding map[int32][]int64 // client → its grants, the oldest first
	struck  map[int32]bool    // clients that a fault has in its grip: it lets no other near
	spans   []span            // pauses so far, for telling injected stalls from the machine's own
}

// aimed is one fault of the plan. It is armed, then in effect, then waiting to be armed again.
type aimed struct {
	plan  scenarios.Fault
	aim   nemesis.Aim
	rng   *rand.Rand
	armed bool
	// over is told of the end of each strike: nil, or why it could not be injected or proven.
	over chan error
}

func newDirector(rec *history.Recorder, plan scenarios.Plan, procs map[int32]*hosts.Process, ids *numbers) (*director, error) {
	d := &director{rec: rec, procs: procs, ids: ids, holding: map[int32][]int64{}, struck: map[int32]bool{}}
	for i, f := range plan.Scenario.Faults {
		when, err := nemesis.ParseMoment(f.When)
		if err != nil {
			return nil, fmt.Errorf("fault %d of %s: %w", i, plan.Scenario.Name, err)
		}
		d.faults = append(d.faults, &aimed{plan: f, aim: nemesis.Aim{Target: f.Target, When: when},
			rng: plan.Stream(fmt.Sprintf("fault %d", i)), over: make(chan error, 1)})
	}
	return d, nil
}

// run arms the faults again and again until stop is closed, and returns when every strike is over. Its error is that of a fault
// that could not be injected or proven: such a run is never a pass.
func (d *director) run(ctx context.Context, stop <-chan struct{}) error {
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
			if err := d.strikeHolder(ctx, f); err != nil {
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
	f.armed = false
	d.mu.Unlock()
	if armed {
		return nil
	}
	return <-f.over
}

// reached is called by a client at every step. A fault whose aim fits is in effect when it returns.
func (d *director) reached(ctx context.Context, s nemesis.Step) error {
	d.mu.Lock()
	var hit *aimed
	for _, f := range d.faults {
		if f.armed && f.aim.Strikes(s) && !d.struck[s.Client] {
			f.armed, hit = false, f
			d.struck[s.Client] = true
			break
		}
	}
	d.mu.Unlock()
	if hit == nil {
		return nil
	}
	return d.strike(ctx, hit, s.Client, s.Grant)
}

// strikeHolder strikes whoever holds just now. If nobody does, the fault stays armed until somebody is granted the lock.
func (d *director) strikeHolder(ctx context.Context, f *aimed) error {
	d.mu.Lock()
	holders := slices.DeleteFunc(slices.Sorted(maps.Keys(d.holding)), func(c int32) bool { return d.struck[c] })
	if len(holders) == 0 || !f.armed {
		d.mu.Unlock()
		return nil
	}
	c := holders[f.rng.IntN(len(holders))]
	grant := d.holding[c][0]
	f.armed = false
	d.struck[c] = true
	d.mu.Unlock()
	return d.strike(ctx, f, c, grant)
}

// holds notes what a client holds. A fault for any moment that has been waiting for a holder strikes.
func (d *director) holds(ctx context.Context, client int32, grant int64) error {
	d.mu.Lock()
	d.holding[client] = append(d.holding[client], grant)
	var waiting []*aimed
	for _, f := range d.faults {
		if f.armed && f.aim.When == nemesis.Random {
			waiting = append(waiting, f)
		}
	}
	d.mu.Unlock()
	for _, f := range waiting {
		if err := d.strikeHolder(ctx, f); err != nil {
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

// strike stops a client, records that, and has it go on after the planned time.
func (d *director) strike(ctx context.Context, f *aimed, client int32, grant int64) error {
	info := history.FaultInfo{ID: d.ids.nextFault(), Kind: f.plan.Kind, Phase: "begin", Target: f.plan.Target, When: f.plan.When,
		Clients: []int32{client}, Injected: true}
	d.mu.Lock()
	d.spans = append(d.spans, span{client: client, from: d.rec.Now()})
	at := len(d.spans) - 1
	d.mu.Unlock()
	p, err := nemesis.StartPause(ctx, d.procs[client])
	if err != nil {
		err = fmt.Errorf("fault %d: %w", info.ID, err)
		f.over <- err
		return err
	}
	info.Holding = d.stillHolding(client, grant)
	begin := info
	begin.From = d.rec.Relative(p.From())
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &begin})
	go func() { f.over <- d.heal(ctx, f, p, info, at) }()
	return nil
}

// stillHolding returns the grant if the client holds it now that it is stopped, else 0: struck at a random moment, it may have begun its
// release before the stop took effect, and such a fault met no holder.
func (d *director) stillHolding(client int32, grant int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.holding[client], grant) {
		return 0
	}
	return grant
}

// heal ends a strike: at its planned end, or at once when the run is cancelled.
func (d *director) heal(ctx context.Context, f *aimed, p *nemesis.Pause, info history.FaultInfo, at int) error {
	whole := pause(ctx, nil, f.plan.For.Std())
	effect, err := p.Heal()
	info.Phase, info.Evidence = "end", effect.Proof
	info.Bit = err == nil && effect.Lasted() >= f.plan.For.Std()
	info.From, info.To = d.rec.Relative(effect.From), d.rec.Relative(effect.To)
	d.mu.Lock()
	d.spans[at].to = d.rec.Now()
	delete(d.struck, info.Clients[0])
	d.mu.Unlock()
	d.rec.Record(history.Event{Type: history.Fault, Client: info.Clients[0], Fault: &info})
	if err != nil && whole {
		return fmt.Errorf("fault %d: %w", info.ID, err)
	}
	return nil
}

// stalled is told that a client's heartbeat was late. What is left after taking away the injected pauses was the
// machine's own doing, and is recorded as a fault that nobody injected.
func (d *director) stalled(client int32, from, to int64, late time.Duration) {
	d.mu.Lock()
	from, to = unexplained(from, to, d.spans, client)
	if to-from <= int64(late) {
		d.mu.Unlock()
		return
	}
	info := history.FaultInfo{ID: d.ids.nextFault(), Kind: "stall", Phase: "begin", Clients: []int32{client}, From: from}
	d.mu.Unlock()
	begin := info
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &begin})
	info.Phase, info.To, info.Bit = "end", to, true
	info.Evidence = fmt.Sprintf("the worker's heartbeat was %v late, and no pause was injected", time.Duration(to-from).Round(time.Millisecond))
	d.rec.Record(history.Event{Type: history.Fault, Client: client, Fault: &info})
}
