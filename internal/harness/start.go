package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/sync/errgroup"
)

// Seats is how many hosts a run makes beside the nodes of services: for its
// clients, and for a store of its own.
func Seats(p scenarios.Plan) int { return p.Scenario.Clients + record.ProbeClients + 1 }

// start makes the network, brings everything up, side by side, and writes the history's header.
func (r *run) start(ctx context.Context, file io.Writer) (err error) {
	r.Enter(record.PhaseStart)
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not everything was up within %v", startLimit))
	defer cancel()
	if r.network = r.cfg.Network; r.network == nil {
		if r.network, err = hosts.NewNetwork(hosts.DefaultPrefix); err != nil {
			return err
		}
	}
	if err := r.possible(); err != nil {
		return err
	}
	if err := r.share(); err != nil {
		return err
	}
	var up errgroup.Group
	if r.cfg.Plan.Scenario.Store.Guarded() {
		up.Go(func() error { return r.startServiceThenStore(ctx) })
	} else {
		up.Go(func() error { return r.startService(ctx) })
		up.Go(func() error { return r.startStore(ctx) })
	}
	up.Go(func() error { return r.spawnAll(ctx) })
	if err := up.Wait(); err != nil {
		return err
	}
	if err := r.introduce(); err != nil {
		return err
	}
	if err := r.openAll(ctx); err != nil {
		return err
	}
	if err := r.strikable(ctx); err != nil {
		return err
	}
	if err := r.beginHistory(file); err != nil {
		return err
	}
	return r.dialStore(ctx)
}

// introduce tells clients and servers each other's link addresses: a hundred
// clients that asked for them all at once would be too many.
func (r *run) introduce() error {
	servers := []*hosts.Host{r.store.Host}
	for _, n := range r.service.Nodes {
		servers = append(servers, n.Host)
	}
	var clients []*hosts.Host
	for _, w := range append(slices.Clone(r.workers), r.probes...) {
		clients = append(clients, w.proc.Host())
	}
	return hosts.Introduce(clients, servers)
}

func (r *run) startService(ctx context.Context) (err error) {
	r.service, err = backends.Start(ctx, r.network,
		backends.Spec{Service: r.cfg.Lock.Service, Logs: r.cfg.Logs, Attached: r.attached(false),
			Members: r.cfg.Lock.Members, Durable: possible.Durable(r.cfg.Plan), Lent: r.cfg.Keys != "",
			OwnLogin: r.cfg.Plan.Scenario.External()})
	return err
}

// storeName is one of our own where the servers have seen other runs.
func (r *run) storeName() string {
	if r.cfg.Keys == "" {
		return ""
	}
	return r.cfg.Keys + "store"
}

// attached are the nodes that run already, of the store's engine or of the lock's service.
func (r *run) attached(store bool) (nodes []agent.Attached) {
	for _, n := range r.cfg.Attached {
		if strings.HasPrefix(n.Name, backends.StorePrefix) == store {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// startServiceThenStore is for a store that lies in the lock's own service.
func (r *run) startServiceThenStore(ctx context.Context) error {
	if err := r.startService(ctx); err != nil {
		return err
	}
	return r.startStore(ctx, r.service.Addrs()...)
}

// startStore starts the store, on servers of its own or, if any are given, on those.
func (r *run) startStore(ctx context.Context, at ...string) (err error) {
	s := r.cfg.Plan.Scenario.Store
	fencing := store.Fencing{Writes: s.Fenced(), Reads: s.ReadsRaise(), AcceptsEqual: s.AcceptsEqual(),
		Guarded: s.Guarded()}
	r.store, err = backends.StartStore(ctx, r.network,
		backends.StoreSpec{Engine: s.EngineName(), Fencing: fencing, At: at, Name: r.storeName(), Logs: r.cfg.Logs,
			Attached: r.attached(true)})
	return err
}

// spawnAll starts the processes of every client.
func (r *run) spawnAll(ctx context.Context) error {
	n := r.cfg.Plan.Scenario.Clients
	var made []*hosts.Host
	for i := range n + record.ProbeClients {
		host, err := r.network.AddHost(fmt.Sprintf("client-%d", i+1))
		if err != nil {
			return err
		}
		made = append(made, host)
	}
	if err := r.network.Await(ctx, made...); err != nil {
		return err
	}
	for i, host := range made {
		w, err := r.spawn(int32(i+1), host)
		if err != nil {
			return err
		}
		if i < n {
			r.workers = append(r.workers, w)
		} else {
			r.probes = append(r.probes, w)
		}
	}
	return nil
}

// beginHistory writes the header and hands the recorder to all who record.
func (r *run) beginHistory(file io.Writer) (err error) {
	if r.Recorder, err = history.NewRecorder(file, r.header(), r.Keys, monotime.Now); err != nil {
		return err
	}
	procs := map[int32]*hosts.Process{}
	for _, w := range append(r.workers, r.probes...) {
		w.Recorder, w.Claims = r.Recorder, r.Claims()
		procs[w.Number] = w.proc
	}
	var nodes, clients []nemesis.Place
	for _, n := range r.service.Nodes {
		nodes = append(nodes, nemesis.Place{Name: n.Name, Host: n.Host, Server: n})
	}
	for _, w := range r.workers {
		clients = append(clients, nemesis.Place{Name: w.Host, Host: w.proc.Host()})
	}
	net := nemesis.NewNet(nodes, clients, nemesis.Place{Name: r.store.Host.Name, Host: r.store.Host})
	apps := map[int32]nemesis.Application{}
	for _, w := range r.workers {
		apps[w.Number] = w.Client
	}
	r.director, err = director.New(director.Setting{Plan: r.cfg.Plan, Recorder: r.Recorder, IDs: &r.IDs, Nodes: nodes,
		Net: net, Procs: procs, Apps: apps, Service: r.service,
		Expire: r.expire, FailOver: r.cfg.FailOver, Leader: r.service.Leader, OnWire: r.cfg.Lock.OnWire, NoteStall: r.stuckWatch.noteStall})
	if err != nil {
		return err
	}
	r.recording.Store(true)
	return nil
}

// openAll connects the workload's clients. The fresh ones are connected when their time comes.
func (r *run) openAll(ctx context.Context) error {
	var up errgroup.Group
	for _, w := range r.workers {
		up.Go(func() error { return r.open(ctx, w) })
	}
	return up.Wait()
}

func (r *run) header() history.Header {
	s := r.cfg.Plan.Scenario
	h := r.Planned()
	h.Started, h.Origin, h.Ready = time.Now().UTC().Truncate(time.Millisecond), monotime.Now()-1,
		int64(r.Elapsed())
	h.Nodes, h.StandIns = len(r.service.Addrs()), append(r.service.StandIns(), r.store.StandIns()...)
	h.Versions = append(append([]history.Part{}, r.cfg.Versions...),
		history.Part{Name: "store", Version: r.store.Version})
	if r.Says != nil {
		h.Versions = append(h.Versions, history.Part{Name: s.Lock, Version: r.Says.Name})
	}
	if r.service.Name != "" {
		h.Versions = append(h.Versions, history.Part{Name: r.service.Name, Version: r.service.Version})
	}
	return h
}

// possible reports whether the plan's faults can strike in this run.
func (r *run) possible() error {
	for i, f := range r.cfg.Plan.Scenario.Faults {
		for _, single := range f.Singles() {
			if err := possible.CheckFault(r.cfg.Lock, single); err != nil {
				return fmt.Errorf("fault %d of %s: %w", i, r.cfg.Plan.Scenario.Name, err)
			}
		}
	}
	if len(r.cfg.Attached) > 0 {
		return possible.GuestsBear(r.cfg.Plan, r.cfg.FailOver != nil)
	}
	return nil
}

// strikable reports whether the clients that are up are such that the plan's faults can strike
// them.
func (r *run) strikable(ctx context.Context) error {
	for _, f := range possible.Singles(r.cfg.Plan) {
		spec := f.Spec()
		for _, w := range r.workers {
			if n := spec.Target.Number(); !spec.Target.Client() || n != 0 && n != w.Number {
				continue
			}
			if err := spec.Ready(ctx, nemesis.Client{Number: w.Number, Proc: w.proc}); err != nil {
				return fmt.Errorf("client %d: %w", w.Number, err)
			}
		}
	}
	return nil
}

// expire has the lock's service end every session that the client has now, and
// returns what the service answered.
func (r *run) expire(ctx context.Context, client int32, at netip.Addr) (ended []string, err error) {
	all := r.sessions.list(client)
	ended, err = r.service.Expire(ctx, backends.Client{Addr: at, Sessions: all})
	if err == nil && len(ended) > 0 { // every one that the client had
		r.sessions.over(all)
	}
	if errors.Is(err, backends.ErrUntold) {
		err = nemesis.ErrUntold
	}
	return ended, err
}

// share makes the folder that the adapters of all clients share.
func (r *run) share() (err error) {
	if r.cfg.Plan.Scenario.External() {
		r.shared, err = hosts.DataDir("shared")
	}
	return err
}
