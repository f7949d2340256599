package runtimes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/app"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/kubernetes"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/nemesis"
)

// helperAgent is an agent that strikes on its node for the inner program, which is on another one.
type helperAgent struct {
	joined *kubernetes.Joined
	net    *nemesis.Net
	nodes  []nemesis.Place

	mu      sync.Mutex
	places  map[string]nemesis.Place
	procs   map[string]*hosts.Process
	effects []*timedEffect
}

// timedEffect is a fault that heals after its time, whether anybody asks for it or
// not: who would may be cut off.
type timedEffect struct {
	nemesis.InEffect
	timer *time.Timer
	once  sync.Once
	did   nemesis.Effect
	err   error
}

// overdue is how much longer than planned a fault may last before its agent heals it unasked.
const overdue = 10 * time.Second

// unasked is the same of a fault by which the agent itself may be cut off: more than
// its clock may be wrong, so that the fault lasts as long as planned for certain.
const unasked = time.Second

// heal heals it once.
func (a *timedEffect) heal() (nemesis.Effect, error) {
	a.once.Do(func() {
		a.timer.Stop()
		a.did, a.err = a.Heal()
	})
	return a.did, a.err
}

// help does what the inner program asks for until the run is over, and heals.
func help(ctx context.Context, cfg harness.Config, joined *kubernetes.Joined) error {
	h := newHelperAgent(possible.AppPlaces(cfg.Plan.Scenario.App), joined)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case c := <-joined.Changes:
				if c.Comes != nil {
					h.comes(*c.Comes)
				}
			}
		}
	}()
	err := joined.Serve(ctx, h.do)
	return errors.Join(err, h.close())
}

func newHelperAgent(all []possible.AppPlace, joined *kubernetes.Joined) *helperAgent {
	h := &helperAgent{joined: joined, places: map[string]nemesis.Place{}, procs: map[string]*hosts.Process{}}
	var clients []nemesis.Place
	var store nemesis.Place
	for _, n := range joined.Nodes {
		p := nemesis.Place{Name: n.Name, Host: n.Host, Addr: n.Addr}
		h.places[n.Name], h.procs[n.Name] = p, n.Process
		role := possible.RoleClient // of those who have come in the place of one
		if i := slices.IndexFunc(all, func(a possible.AppPlace) bool { return a.Name == n.Name }); i >= 0 {
			role = all[i].Role
		}
		switch role {
		case possible.RoleService:
			h.nodes = append(h.nodes, p)
		case possible.RoleStore:
			store = p
		default:
			clients = append(clients, p)
		}
	}
	h.net = nemesis.NewNet(h.nodes, clients, store)
	return h
}

// comes is told of a client that has come in the place of one.
func (h *helperAgent) comes(n agent.Attached) {
	p := nemesis.Place{Name: n.Name, Host: n.Host, Addr: n.Addr}
	if p.Host == nil && !p.Addr.IsValid() {
		return // it has ended already
	}
	h.mu.Lock()
	h.places[n.Name], h.procs[n.Name] = p, n.Process
	h.mu.Unlock()
	h.net.Join(p)
}

// do does one thing.
func (h *helperAgent) do(ctx context.Context, pod, act string, input []byte) ([]byte, error) {
	var answer any
	var err error
	switch act {
	case farClock:
		answer = clockRead{Mono: monotime.Now(), Wall: app.WallOffset()}
	case farEmptied:
		answer, err = struct{}{}, h.emptied(ctx, pod)
	case farInject:
		answer, err = h.inject(ctx, input)
	case farHeal:
		answer, err = h.heal(input)
	default:
		err = fmt.Errorf("unknown act %q", act)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

func (h *helperAgent) place(name string) (nemesis.Place, *hosts.Process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[name]
	if p.Host == nil {
		return p, nil, fmt.Errorf("%s is not on this node", name)
	}
	return p, h.procs[name], nil
}

func (h *helperAgent) emptied(ctx context.Context, pod string) error {
	p, _, err := h.place(pod)
	if err != nil {
		return err
	}
	return nemesis.AwaitNoProcess(ctx, p.Host)
}

// inject puts a fault into effect on pods of this node.
func (h *helperAgent) inject(ctx context.Context, input []byte) (got injected, err error) {
	var want injection
	if err := json.Unmarshal(input, &want); err != nil {
		return got, fmt.Errorf("read which fault: %w", err)
	}
	site := nemesis.Site{Part: want.Part, Resources: nemesis.Resources{Net: h.net, All: h.nodes, Cluster: h.joined},
		Tag: want.Tag, Rand: rand.New(rand.NewPCG(want.Seed, 0))}
	for i, name := range want.Names {
		p, proc, err := h.place(name)
		switch {
		case err != nil:
			return got, err
		case want.Part.Target.Client():
			site.Clients = append(site.Clients, nemesis.Client{Number: int32(i + 1), Proc: proc, Whole: true})
		default:
			site.Nodes = append(site.Nodes, p)
		}
	}
	effect, err := nemesis.Inject(ctx, site)
	if errors.Is(err, nemesis.ErrMissed) {
		return injected{Missed: err.Error()}, nil
	}
	if err != nil {
		return got, err
	}
	a := &timedEffect{InEffect: effect}
	late := overdue
	if want.Part.NeedsCluster() {
		late = unasked // it may be what keeps us from being asked
	}
	// who asks for it gets what came of it
	a.timer = time.AfterFunc(want.Part.For+late, func() { _, _ = a.heal() })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.effects = append(h.effects, a)
	return injected{ID: len(h.effects), From: effect.From()}, nil
}

// errNoFault says that a fault is to be healed that was not injected.
var errNoFault = errors.New("there is no such fault here")

// heal ends a fault.
func (h *helperAgent) heal(input []byte) (nemesis.Effect, error) {
	var id int
	if err := json.Unmarshal(input, &id); err != nil {
		return nemesis.Effect{}, err
	}
	h.mu.Lock()
	if id < 1 || id > len(h.effects) {
		h.mu.Unlock()
		return nemesis.Effect{}, errNoFault
	}
	a := h.effects[id-1]
	h.mu.Unlock()
	return a.heal()
}

// close heals whatever is left.
func (h *helperAgent) close() error {
	h.mu.Lock()
	effects := slices.Clone(h.effects)
	h.mu.Unlock()
	var errs []error
	for _, a := range effects {
		_, err := a.heal()
		errs = append(errs, err)
	}
	return errors.Join(append(errs, h.net.Close())...)
}
