package runtimes

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Servers is the external runtime: services run somewhere already, and
// lockchaos was given their addresses. Clients live on the private network.
type Servers struct {
	Locks
	nodes    map[string]remote.Node // by their names in a recipe
	specs    map[string]backends.NodeSpec
	able     func() func(nemesis.Need) string
	dial     endpoint.Dial // in the user's own network
	command  string        // has the service fail over; "": there is none
	clusters []gathered
	asked    bool     // for their clusters
	notes    []string // what of them has to be said
}

// newGiven reads the addresses. What can't be done to servers that are not ours
// is left out, aloud; it refuses what leaves nothing to run.
func newGiven(ctx context.Context, f Where, of Locks, plans []scenarios.Plan, say func(string)) (*Servers, error) {
	g, err := ReadServers(f)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	// clients and their links are on a private network here, too
	g.Locks, g.able = of, sync.OnceValue(able(ctx))
	out, err := g.sift(plans) // said before anything is asked
	if gathered := g.Gather(ctx); gathered != nil && err == nil {
		return nil, gathered
	}
	if err == nil || len(g.clusters) > 0 {
		out, err = g.sift(plans)
	}
	if err != nil {
		return nil, exit.Misuse(err)
	}
	for _, note := range g.notes {
		say(note)
	}
	for _, why := range slices.Sorted(maps.Keys(out)) {
		say(fmt.Sprintf("left out, since %s: %s", why, strings.Join(out[why], ", ")))
	}
	return g, g.Reach(ctx)
}

// sift returns what is left out, by the reason: scenarios, and locks that the servers are not for.
// It is an error if that leaves nothing to run.
func (g *Servers) sift(plans []scenarios.Plan) (out map[string][]string, err error) {
	var refused []string
	out = map[string][]string{}
	leave := func(why, name string) {
		if !slices.Contains(out[why], name) {
			out[why] = append(out[why], name)
		}
	}
	for _, p := range plans {
		if why := g.unfit(p); why != "" {
			leave(why, p.Scenario.Lock)
			continue
		}
		if g.unserved(p) != "" {
			continue
		}
		for _, r := range Beyond(p, g.reach(p)) {
			refused = append(refused, p.Scenario.Name+": "+r.String())
			leave(r.why, p.Scenario.Name)
		}
	}
	switch left := slices.ContainsFunc(plans, func(p scenarios.Plan) bool { return g.Skip(p) == "" }); {
	case !left && len(refused) > 0:
		return nil, fmt.Errorf("with --runtime %s the servers are not lockchaos's own, so faults strike clients and their links only. What can't be injected:\n  %s",
			External, strings.Join(refused, "\n  "))
	case !left:
		return nil, fmt.Errorf("no scenario can be run on these nodes: %s", g.Skip(plans[0]))
	}
	return out, nil
}

// reachLimit bounds a look whether the servers are there.
const reachLimit = 10 * time.Second

// Reach connects to each node once, logs in where that is asked for, and hears
// whether it is what it is said to be: better said now than by every scenario.
func (g *Servers) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	for _, n := range g.list() {
		if err := g.meet(ctx, n); err != nil {
			return fmt.Errorf("%s at %s: %w", n.Name, n.Shown, err)
		}
	}
	return nil
}

// meet connects to a node as its clients will: one whose address is a URL is logged in to.
func (g *Servers) meet(ctx context.Context, n remote.Node) error {
	if n.Address != "" {
		at, err := endpoint.Parse(n.Address)
		if err != nil {
			return err
		}
		service, _ := g.kindOf(n)
		if g.behind(n) { // it may take no locks now: that it lets clients in is enough
			_, err = service.Members(ctx, at, g.dial)
			return err
		}
		return service.Meet(ctx, at, g.dial)
	}
	if err := g.speaks(ctx, n); err != nil {
		return err
	}
	service, known := g.kindOf(n)
	if !known {
		return nil
	}
	at, err := endpoint.Parse(n.Shown)
	if err != nil {
		return err
	}
	return service.Fits(ctx, at, g.dial)
}

// program is what a node is a server of.
func (g *Servers) program(n remote.Node) *backends.Program {
	if c, is := g.clusterOf(n); is {
		return c.of.Nodes[0].Program
	}
	return g.specs[n.Name].Program
}

// kindOf is the kind of server that a node is.
func (g *Servers) kindOf(n remote.Node) (probe.Service, bool) {
	if at, err := endpoint.Parse(n.Address); err == nil && at.Sentinel() {
		return probe.Lookup("redis-sentinel")
	}
	return probe.Lookup(g.program(n).Name)
}

// behind reports whether clients find the node through others: a replica takes no locks.
func (g *Servers) behind(n remote.Node) bool {
	c, is := g.clusterOf(n)
	if !is || !c.of.Promotes() {
		return false
	}
	service, _ := g.kindOf(n)
	return service.Program != c.of.Entry().Speaks()
}

// speaks reports whether a fresh connection leads to a server of the program.
func (g *Servers) speaks(ctx context.Context, n remote.Node) error {
	conn, err := n.Dial(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w; does it run there, and is that the address as this machine sees it?", err)
	}
	defer conn.Close()
	return backends.Speaks(ctx, conn, g.program(n))
}

// Traits: it has none.
func (g *Servers) Traits() runs.Traits { return runs.Traits{} }

// About says where the services are.
func (g *Servers) About() string {
	var parts []string
	for _, n := range g.list() {
		parts = append(parts, n.Name+" at "+n.Shown)
	}
	return "external: " + strings.Join(parts, ", ") + "; clients on a private network, " + hosts.Kernel()
}

func (g *Servers) list() (nodes []remote.Node) {
	for _, n := range g.nodes {
		if !slices.ContainsFunc(g.clusters, func(c gathered) bool { return c.replaces(n) }) {
			nodes = append(nodes, n)
		}
	}
	for _, c := range g.clusters {
		nodes = append(nodes, c.nodes...)
	}
	slices.SortFunc(nodes, func(a, b remote.Node) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(nodes, samePlace)
}

// samePlace reports whether two nodes of a service are one server, which is all of it.
func samePlace(a, b remote.Node) bool { return a.Shown == b.Shown }

// Close does nothing: the servers are not ours.
func (g *Servers) Close() error { return nil }

// Skip: what has no address can't be tested, what would go past the relays
// can't either, and what strikes the servers is not ours to do.
func (g *Servers) Skip(plan scenarios.Plan) string {
	if why := cmp.Or(g.unfit(plan), g.unserved(plan)); why != "" {
		return why
	}
	if refused := Beyond(plan, g.reach(plan)); len(refused) > 0 {
		return refused[0].String()
	}
	return possible.Incapable(plan, g.able)
}

// unserved says why the service of a plan's lock is out of reach; "": it is there.
func (g *Servers) unserved(plan scenarios.Plan) string {
	kind, err := g.Locks(&plan.Scenario)
	if err != nil {
		return err.Error()
	}
	service, ok := backends.Lookup(kind.Service)
	if !ok {
		return "the lock has no service: --runtime local"
	}
	if missing := g.Missing(service); len(missing) > 0 {
		return fmt.Sprintf("it needs %s, and --nodes gives no address of %s", service.Name, strings.Join(missing, ", "))
	}
	return ""
}

// unfit says why the plan's lock cannot be on the cluster that was found in the place of a node of
// its service; "": it can, or there is none.
func (g *Servers) unfit(plan scenarios.Plan) string {
	kind, err := g.Locks(&plan.Scenario)
	if service, _ := backends.Lookup(kind.Service); err == nil && g.sharded(service) {
		return unclustered(kind, service)
	}
	return ""
}

// sharded reports whether the service's keys are spread over the nodes of a cluster that was found.
func (g *Servers) sharded(service backends.Kind) bool {
	return slices.ContainsFunc(g.clusters, func(c gathered) bool {
		another := len(g.cluster(service)) > 0 && c.of.Name != service.Name
		return c.of.Shards && !another && service.Has(c.of.Nodes[0].Name)
	})
}

// Missing are the nodes of a service of which no address was given.
func (g *Servers) Missing(service backends.Kind) (names []string) {
	if service.Promotes() { // one sentinel knows the others
		if _, ok := g.nodes[service.Entry().Name]; !ok {
			return []string{service.Name}
		}
		return nil
	}
	for _, n := range service.Nodes {
		if _, ok := g.nodes[n.Name]; !ok {
			names = append(names, n.Name)
		}
	}
	return names
}

// refusal is a fault that can't be injected where the servers are not ours, and why.
type refusal struct {
	fault scenarios.Fault
	why   string
}

// String is of the form "crash-restart of minority: the server's process is not lockchaos's own".
func (r refusal) String() string {
	return fmt.Sprintf("%s of %s: %s", r.fault.Kind, r.fault.Target, r.why)
}

// sealed reports whether clients of the plan's lock speak TLS to their service.
func (g *Servers) sealed(p scenarios.Plan) bool {
	kind, err := g.Locks(&p.Scenario)
	return err == nil && g.Sealed(kind.Service)
}

// Sealed reports whether clients of the service speak TLS.
func (g *Servers) Sealed(service string) bool {
	return slices.ContainsFunc(g.Of(service), func(n remote.Node) bool { return speaksTLS(n.Address) })
}

// sealed reports whether clients of the service speak TLS to the addresses of --nodes.
func (f Where) sealed(service string) bool {
	g, err := ReadServers(f)
	return err == nil && g.Sealed(service)
}

func speaksTLS(address string) bool {
	at, err := endpoint.Parse(address)
	return err == nil && at.Sealed()
}

// serverAccess is what can be done to servers that are not ours. sealed: clients speak TLS to them.
// failOver: a command has them fail over.
// lock is on their nodes.
type serverAccess struct {
	sealed, failOver bool
	// told: clients tell of their sessions, which they may end themselves.
	told bool
	// shards: keys are spread over the nodes, or may be.
	shards bool
	lock   clients.Kind
}

// reachOf is what can be done to the servers of a lock.
func reachOf(lock clients.Kind, sealed, failOver bool) serverAccess {
	service, _ := backends.Lookup(lock.Service)
	return serverAccess{sealed: sealed, failOver: failOver, told: service.MustBeTold(), lock: lock}
}

// reach is what can be done to the servers of the plan's lock.
func (g *Servers) reach(p scenarios.Plan) serverAccess {
	kind, _ := g.Locks(&p.Scenario) // one that is unknown is not served
	can := reachOf(g.there(kind), g.sealed(p), g.command != "")
	service, _ := backends.Lookup(kind.Service)
	can.shards = g.sharded(service)
	return can
}

// there is the lock on the nodes of its service; on any, while these were not asked for.
func (g *Servers) there(lock clients.Kind) clients.Kind {
	of, _ := backends.Lookup(lock.Service)
	if g.command != "" {
		lock = possible.MayFailOver(lock)
	}
	if !g.asked && of.Clusters {
		return possible.Vast(lock)
	}
	lock.Members = nil
	for _, n := range g.Of(lock.Service) {
		lock.Members = append(lock.Members, n.Name)
	}
	return lock
}

// Beyond lists the faults of a plan that can't be injected, each with the reason.
func Beyond(p scenarios.Plan, can serverAccess) (refused []refusal) {
	for _, f := range p.Scenario.Faults {
		for _, one := range f.Singles() {
			why := OutOfReach(one, can)
			if err := possible.CheckFault(can.lock, one); err != nil && why == "" {
				why = err.Error()
			}
			if why != "" {
				refused = append(refused, refusal{one, why})
			}
		}
	}
	return refused
}

// OutOfReach says why a fault can't strike where the servers are not ours; "": it can.
func OutOfReach(f scenarios.Fault, can serverAccess) string {
	switch spec := f.Spec(); {
	case can.sealed && spec.Waits() && spec.HitsLock():
		return "TLS hides which packet holds the request, and lockchaos does not open it; faults of whole links work (cut-off, degrade …)"
	case f.Kind == nemesis.KindFailover && can.failOver:
		return ""
	case f.Kind == nemesis.KindFailover:
		return "the service is not lockchaos's own: --failover-cmd says how it is made to fail over"
	case spec.Touch().Ends == history.EndsSession && can.told:
		return ""
	case spec.Touch().Ends == history.EndsSession:
		return "it would have your service end sessions, as its operator"
	case spec.Target.Client():
		return ""
	case spec.OnLinks() && spec.Peers == nemesis.PeersClients && can.shards && spec.Target.Drawn():
		return "a node of a Redis Cluster that is drawn at random may have none of the run's keys: name the node in a suite of your own, as redis-1"
	case spec.OnLinks() && spec.Peers == nemesis.PeersClients:
		return ""
	case spec.OnLinks():
		return "the links between servers, and between them and other clients, are not on the private network; those of clients are: target holder, random-client …, or peers: clients"
	case spec.OnClocks():
		return "the clock of a server is its machine's"
	}
	return "the server's process is not lockchaos's own"
}

// Run runs the plan in a sandbox, with relays to the servers.
func (g *Servers) Run(ctx context.Context, plan scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	kind, err := g.Locks(&plan.Scenario)
	if err != nil {
		return err
	}
	nodes := g.Of(kind.Service)
	inner, err := remote.Start(ctx, hosts.Sandbox{Stdout: stdout, Stderr: stderr}, nodes, g.failOver(nodes), ScenarioVerb, dir)
	if err != nil {
		return err
	}
	return inner.Wait()
}

// Of are the nodes of a service.
func (g *Servers) Of(name string) (nodes []remote.Node) {
	service, _ := backends.Lookup(name)
	if nodes := g.cluster(service); len(nodes) > 0 {
		return nodes
	}
	for _, n := range service.Nodes {
		nodes = append(nodes, g.nodes[n.Name])
	}
	return slices.CompactFunc(nodes, samePlace)
}

// runRemote runs a plan on servers that outer was given the addresses of.
func runRemote(ctx context.Context, cfg harness.Config) error {
	joined, ask, err := remote.Join(ctx, cfg.Logs)
	if err != nil {
		return err
	}
	sealed := slices.ContainsFunc(joined.Nodes, func(a agent.Attached) bool { return speaksTLS(a.Address) })
	if cfg.FailOver = askOuter(ask); ask != nil {
		cfg.Lock = possible.MayFailOver(cfg.Lock)
	}
	cfg.Lock.Members = backends.Members(joined.Nodes)
	if refused := Beyond(cfg.Plan, reachOf(cfg.Lock, sealed, ask != nil)); len(refused) > 0 {
		return errors.Join(errors.New(refused[0].String()), joined.Network.Close())
	}
	// The service has seen other runs: nothing of theirs may bear the name of a
	// lock, or of a ledger, of this one.
	joined.Keys = ownKeys()
	return harness.Run(ctx, with(cfg, joined))
}

// ownKeys begins the names of what a run keeps in servers that are not its own.
func ownKeys() string { return "lockchaos_" + strings.ToLower(rand.Text()[:8]) + "_" } // a table's name, too
