package runtimes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Servers is the external runtime: services run somewhere already, and
// lockchaos was given their addresses. Clients live on the private network.
type Servers struct {
	Locks
	nodes    map[string]remote.Node       // by their names in a recipe
	programs map[string]*backends.Program // what each is a server of
	able     func() func(nemesis.Need) string
}

// newGiven reads the addresses. What can't be done to servers that are not ours
// is left out, aloud; it refuses what leaves nothing to run.
func newGiven(ctx context.Context, f Where, of Locks, plans []scenarios.Plan, say func(string)) (*Servers, error) {
	g, err := ReadServers(f.Nodes)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	// clients and their links are on a private network here, too
	g.Locks, g.able = of, sync.OnceValue(able(ctx))
	var refused []string
	out := map[string][]string{} // why → the scenarios that are left out
	for _, p := range plans {
		if g.unserved(p) != "" {
			continue
		}
		for _, r := range Beyond(p) {
			refused = append(refused, p.Scenario.Name+": "+r.String())
			if names := out[r.why]; !slices.Contains(names, p.Scenario.Name) {
				out[r.why] = append(names, p.Scenario.Name)
			}
		}
	}
	switch left := slices.ContainsFunc(plans, func(p scenarios.Plan) bool { return g.Skip(p) == "" }); {
	case !left && len(refused) > 0:
		return nil, exit.Misuse(fmt.Errorf("with --runtime %s the servers are not lockchaos's own, so faults strike clients and their links only. What can't be injected:\n  %s",
			External, strings.Join(refused, "\n  ")))
	case !left:
		return nil, exit.Misuse(fmt.Errorf("no scenario can be run on these nodes: %s", g.Skip(plans[0])))
	}
	for _, why := range slices.Sorted(maps.Keys(out)) {
		say(fmt.Sprintf("left out, since %s: %s", why, strings.Join(out[why], ", ")))
	}
	return g, g.reach(ctx)
}

// reachLimit bounds a look whether the servers are there.
const reachLimit = 10 * time.Second

// reach connects to each node once, logs in where that is asked for, and hears
// whether it is what it is said to be: better said now than by every scenario.
func (g *Servers) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	for _, n := range g.list() {
		conn, err := n.Dial(ctx)
		if err != nil {
			return fmt.Errorf("connect to %s at %s: %w; does it run there, and is that the address as this machine sees it?", n.Name, n.Shown, err)
		}
		err = backends.Speaks(ctx, conn, g.programs[n.Name])
		conn.Close()
		if err != nil {
			return fmt.Errorf("%s at %s: %w", n.Name, n.Shown, err)
		}
	}
	return nil
}

// ReadServers reads NODE=ADDRESS; a service that one server can be may be named in its place.
func ReadServers(flags []string) (*Servers, error) {
	if len(flags) == 0 {
		return nil, fmt.Errorf("--runtime %s needs the addresses of the servers: --nodes redis=127.0.0.1:6379, or etcd-1=HOST:PORT,etcd-2=HOST:PORT,…", External)
	}
	specs := nodesToGive()
	g := &Servers{nodes: map[string]remote.Node{}, programs: map[string]*backends.Program{}}
	for _, flag := range flags {
		name, address, ok := strings.Cut(flag, "=")
		meant, known := specs[name]
		if !ok || !known {
			var names []string
			for n := range specs {
				names = append(names, n)
			}
			slices.Sort(names)
			return nil, fmt.Errorf("--nodes: no node named %q%s; want NODE=HOST:PORT, and the nodes are %s", name,
				spelling.Suggest(name, names), strings.Join(names, ", "))
		}
		for _, spec := range meant {
			if _, twice := g.nodes[spec.Name]; twice {
				return nil, fmt.Errorf("--nodes: two addresses of %s", spec.Name)
			}
			n, err := givenNode(spec, address)
			if err != nil {
				return nil, fmt.Errorf("--nodes: %s: %w", name, err)
			}
			g.nodes[spec.Name], g.programs[spec.Name] = n, spec.Program
		}
	}
	return g, nil
}

// nodesToGive are the nodes that an address can be given of, by the names that
// they can be called. A service is called by its own name where one server can
// be all of it: that one is each of its nodes then.
func nodesToGive() map[string][]backends.NodeSpec {
	specs := map[string][]backends.NodeSpec{}
	for _, k := range backends.Kinds() {
		for _, n := range k.Nodes {
			specs[ComposeName(k, n)] = []backends.NodeSpec{n}
		}
		if len(k.Nodes) == 1 || k.Alone {
			specs[k.Name] = k.Nodes
		}
	}
	return specs
}

// givenNode is the node at an address: host:port, or of Redis redis://user:password@host:port.
func givenNode(spec backends.NodeSpec, address string) (remote.Node, error) {
	n := remote.Node{Name: spec.Name, Port: spec.Port, Shown: address}
	var login *url.Userinfo
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil {
			return n, errors.New("its address is no URL") // the error would tell the password
		}
		if u.Scheme != "redis" || spec.Program.Name != "redis" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return n, fmt.Errorf("%s: want HOST:PORT; only a Redis may have a URL, redis://USER:PASSWORD@HOST:PORT, without TLS and without a database", u.Redacted())
		}
		login, n.Shown = u.User, u.Host
		if password, given := login.Password(); given {
			redact.Add(password)
		}
	}
	if host, port, err := net.SplitHostPort(n.Shown); err != nil || host == "" || !isPort(port) {
		return n, fmt.Errorf("%q is no address: want HOST:PORT", n.Shown)
	}
	at := n.Shown
	n.Dial = func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
		if err != nil || login == nil {
			return conn, err
		}
		// A client that is given the connection need not know the password.
		password, _ := login.Password()
		if err := backends.LogInRedis(ctx, conn, login.Username(), password); err != nil {
			conn.Close()
			return nil, fmt.Errorf("log in: %w", err)
		}
		return conn, nil
	}
	return n, nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
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
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b remote.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// Close does nothing: the servers are not ours.
func (g *Servers) Close() error { return nil }

// Skip: what has no address can't be tested, what would go past the relays
// can't either, and what strikes the servers is not ours to do.
func (g *Servers) Skip(plan scenarios.Plan) string {
	if why := g.unserved(plan); why != "" {
		return why
	}
	if refused := Beyond(plan); len(refused) > 0 {
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
	if service.Promotes() {
		return "clients of " + service.Name +
			" ask it for the address of its primary, which leads nowhere from the private network"
	}
	if missing := g.Missing(service); len(missing) > 0 {
		return fmt.Sprintf("it needs %s, and --nodes gives no address of %s", service.Name, strings.Join(missing, ", "))
	}
	return ""
}

// Missing are the nodes of a service of which no address was given.
func (g *Servers) Missing(service backends.Kind) (names []string) {
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

// Beyond lists the faults of a plan that can't be injected, each with the reason.
func Beyond(p scenarios.Plan) (refused []refusal) {
	for _, f := range p.Scenario.Faults {
		for _, one := range f.Singles() {
			if why := OutOfReach(one); why != "" {
				refused = append(refused, refusal{one, why})
			}
		}
	}
	return refused
}

// OutOfReach says why a fault can't strike where the servers are not ours; "": it can.
func OutOfReach(f scenarios.Fault) string {
	switch spec := f.Spec(); {
	case spec.Touch().Ends == history.EndsSession:
		return "it would have your service end sessions, as its operator"
	case spec.Target.Client():
		return ""
	case spec.OnLinks():
		return "the links between servers, and between them and other clients, are not on the private network; a client's own links are: target holder, random-client …"
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
	inner, err := remote.Start(ctx, hosts.Sandbox{Stdout: stdout, Stderr: stderr}, g.Of(kind.Service), ScenarioVerb,
		dir)
	if err != nil {
		return err
	}
	return inner.Wait()
}

// Of are the nodes of a service.
func (g *Servers) Of(name string) (nodes []remote.Node) {
	service, _ := backends.Lookup(name)
	for _, n := range service.Nodes {
		nodes = append(nodes, g.nodes[n.Name])
	}
	return nodes
}

// runRemote runs a plan on servers that outer was given the addresses of.
func runRemote(ctx context.Context, cfg harness.Config) error {
	if refused := Beyond(cfg.Plan); len(refused) > 0 {
		return errors.New(refused[0].String())
	}
	joined, err := remote.Join(ctx, cfg.Logs)
	if err != nil {
		return err
	}
	// The service has seen other runs: nothing of theirs may bear the name of a
	// lock, or of a ledger, of this one.
	joined.Keys = ownKeys()
	return harness.Run(ctx, with(cfg, joined))
}

// ownKeys begins the names of what a run keeps in servers that are not its own.
func ownKeys() string { return "lockchaos_" + strings.ToLower(rand.Text()[:8]) + "_" } // a table's name, too
