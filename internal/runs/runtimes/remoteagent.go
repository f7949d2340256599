package runtimes

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/app"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/kubernetes"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/monotime/offset"
	"github.com/lockchaos/lockchaos/nemesis"
)

// What the inner program asks of the agent on another node.
const (
	farInject  = "inject"
	farHeal    = "heal"
	farEmptied = "await its end"
	farClock   = "tell the time"
)

// injection is a fault for another agent.
type injection struct {
	Part  nemesis.Part
	Tag   string
	Names []string
	Seed  uint64
}

// injected is what became of it.
type injected struct {
	ID     int
	From   int64
	Missed string // why nobody was struck
}

// clockRead is what the clocks of another machine showed: the monotonic one,
// and how far the wall clock was ahead of that.
type clockRead struct{ Mono, Wall int64 }

// compareEvery is how often the clock of another node is looked at, and
// compareLimit how long an answer is waited for.
const (
	compareEvery = 500 * time.Millisecond
	compareLimit = 3 * time.Second
)

// remoteAgent is another node of the cluster, with its agent.
type remoteAgent struct {
	joined *kubernetes.Joined
	node   string
	via    string // a pod there

	mu    sync.Mutex
	clock offset.Comparison // of the monotonic ones
	// how far the wall clock there was ahead of the monotonic one, at first and now
	wall, last int64
}

// ask has the agent there do something to a pod.
func (f *remoteAgent) ask(ctx context.Context, pod, act string, input, answer any) error {
	text, err := json.Marshal(input)
	if err != nil {
		return err
	}
	got, err := f.joined.There(ctx, pod, act, text)
	if err != nil {
		return fmt.Errorf("on node %s: %w", f.node, err)
	}
	return json.Unmarshal(got, answer)
}

// compare makes one round trip.
func (f *remoteAgent) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, compareLimit)
	defer cancel()
	var there clockRead
	before := monotime.Now()
	err := f.ask(ctx, f.via, farClock, nil, &there)
	after := monotime.Now()
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock.Add(before, there.Mono, after)
	if f.wall == 0 {
		f.wall = there.Wall
	}
	f.last = there.Wall
	return nil
}

// keepComparing goes on until ctx ends. A trip that is not answered says
// nothing: that it is missing makes the bound wider.
func (f *remoteAgent) keepComparing(ctx context.Context) {
	for ctx.Err() == nil {
		_ = f.compare(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(compareEvery):
		}
	}
}

// ahead is how far the wall clock there is ahead of the one here.
func (f *remoteAgent) ahead(here int64) (ahead, bound int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if moved := time.Duration(f.last - f.wall).Abs(); moved > app.ClockStep {
		return 0, 0, fmt.Errorf("the clock of node %s was set by %v during the run: run it again", f.node, moved)
	}
	ahead, bound, err = f.clock.Ahead()
	return ahead + f.wall - here, bound + int64(time.Duration(f.last-f.wall).Abs()), err
}

// certain is a span there by the clock here, as far as it is certain.
func (f *remoteAgent) certain(from, to int64) (int64, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ahead, bound, err := f.clock.Ahead()
	from = from - ahead + bound
	return from, max(from, to-ahead-bound), err
}

// certainly waits for as long as the clocks may be wrong at both ends of a
// span: so what is certain of it lasts as long as was planned.
func (f *remoteAgent) certainly() {
	f.mu.Lock()
	_, bound, _ := f.clock.Ahead() // without one nothing is certain, which Heal says
	f.mu.Unlock()
	time.Sleep(2*time.Duration(bound) + time.Millisecond)
}

// Inject has a fault put into effect there.
func (f *remoteAgent) Inject(ctx context.Context, p nemesis.Part, tag string, names []string) (nemesis.InEffect, error) {
	var got injected
	if err := f.ask(ctx, names[0], farInject, injection{p, tag, names, rand.Uint64()}, &got); err != nil {
		return nil, err
	}
	if got.Missed != "" {
		return nil, fmt.Errorf("%w: %s", nemesis.ErrMissed, got.Missed)
	}
	from, _, err := f.certain(got.From, got.From)
	return &remoteEffect{far: f, id: got.ID, from: from}, err
}

// Emptied waits until a pod there has no process.
func (f *remoteAgent) Emptied(ctx context.Context, name string) error {
	return f.ask(ctx, name, farEmptied, nil, &struct{}{})
}

// remoteEffect is a fault in effect on another node.
type remoteEffect struct {
	far  *remoteAgent
	id   int
	from int64
}

// From is since when it is certainly in effect.
func (e *remoteEffect) From() int64 { return e.from }

// farHealLimit bounds how long the healing of a fault on another node may take.
const farHealLimit = time.Minute

// Heal ends it.
func (e *remoteEffect) Heal() (effect nemesis.Effect, err error) {
	// also at the end of the run
	ctx, cancel := context.WithTimeout(context.Background(), farHealLimit)
	defer cancel()
	e.far.certainly()
	if err := e.far.ask(ctx, e.far.via, farHeal, e.id, &effect); err != nil {
		return effect, err
	}
	effect.From, effect.To, err = e.far.certain(effect.From, effect.To)
	effect.Proof = "on " + e.far.node + ": " + effect.Proof
	return effect, err
}

// remoteAgents are the other nodes, as the inner program meets them. Safe for concurrent use.
type remoteAgents struct {
	ctx    context.Context
	joined *kubernetes.Joined

	mu     sync.Mutex
	byNode map[string]*remoteAgent
	byName map[string]*remoteAgent
	addrs  map[string]netip.Addr
}

// meet notes somebody who may be on another node.
func (f *remoteAgents) meet(a agent.Attached) error {
	if a.On == "" {
		return nil
	}
	f.mu.Lock()
	at := f.byNode[a.On]
	known := at != nil
	if !known {
		at = &remoteAgent{joined: f.joined, node: a.On, via: a.Name}
		f.byNode[a.On] = at
	}
	f.byName[a.Name], f.addrs[a.Name] = at, a.Addr
	f.mu.Unlock()
	if known {
		return nil
	}
	if err := at.compare(f.ctx); err != nil {
		return fmt.Errorf("compare the clocks: %w", err)
	}
	go at.keepComparing(f.ctx)
	return nil
}

// on returns the agent on the node where a client or server is, and the address that it has there;
// nil: it is on this node.
func (f *remoteAgents) on(name string) (*remoteAgent, netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byName[name], f.addrs[name]
}

// elsewhere: see app.Config.
func (f *remoteAgents) elsewhere(name string) (nemesis.RemoteAgent, netip.Addr) {
	if at, addr := f.on(name); at != nil {
		return at, addr
	}
	return nil, netip.Addr{}
}

// inCluster is what a run on an application needs of the cluster.
func inCluster(ctx context.Context, joined *kubernetes.Joined) (app.Config, error) {
	others := &remoteAgents{ctx: ctx, joined: joined, byNode: map[string]*remoteAgent{}, byName: map[string]*remoteAgent{},
		addrs: map[string]netip.Addr{}}
	for _, n := range joined.Nodes {
		if err := others.meet(n); err != nil {
			return app.Config{}, err
		}
	}
	here := app.WallOffset()
	changes := make(chan agent.Change)
	go others.pass(changes)
	return app.Config{Execute: joined.Exec, Restarts: true, Cluster: joined, Changes: changes,
		Elsewhere: others.elsewhere, Ahead: func(client string) (int64, int64, error) {
			at, _ := others.on(client)
			if at == nil {
				return 0, 0, nil
			}
			return at.ahead(here)
		}}, nil
}

// pass passes on what becomes of clients.
func (f *remoteAgents) pass(to chan<- agent.Change) {
	for {
		var change agent.Change
		select {
		case <-f.ctx.Done():
			return
		case change = <-f.joined.Changes:
			if c := change.Comes; c != nil {
				if err := f.meet(*c); err != nil {
					fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
				}
			}
		}
		select {
		case to <- change:
		case <-f.ctx.Done():
			return
		}
	}
}
