package runtimes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/spelling"
)

// ReadServers reads NODE=ADDRESS; a service that one server can be may be named in its place.
func ReadServers(f Where) (*Servers, error) {
	if len(f.Nodes) == 0 {
		return nil, fmt.Errorf("--runtime %s needs the addresses of the servers: --nodes redis=127.0.0.1:6379, or etcd-1=HOST:PORT,etcd-2=HOST:PORT,…", External)
	}
	specs := nodesToGive()
	g := &Servers{command: f.FailoverCmd, nodes: map[string]remote.Node{}, specs: map[string]backends.NodeSpec{}}
	places := map[string]string{} // the names that were given, by program and address
	var err error
	if g.dial, err = f.dialer(); err != nil {
		return nil, err
	}
	for _, flag := range f.Nodes {
		name, address, ok := strings.Cut(flag, "=")
		meant, known := specs[name]
		if !ok || !known {
			names := slices.Sorted(maps.Keys(specs))
			return nil, fmt.Errorf("--nodes: no node named %q%s; want NODE=HOST:PORT or NODE=URL, and the nodes are %s", name,
				spelling.Suggest(name, names), strings.Join(names, ", "))
		}
		for _, spec := range meant {
			if _, twice := g.nodes[spec.Name]; twice {
				return nil, fmt.Errorf("--nodes: two addresses of %s", spec.Name)
			}
			n, err := g.parseNode(spec, address, f.Files)
			if err != nil {
				return nil, fmt.Errorf("--nodes: %s: %w", name, err)
			}
			place := spec.Speaks() + " " + n.Shown
			if other, taken := places[place]; taken && other != name {
				return nil, fmt.Errorf("--nodes: %s and %s are one server, %s: give each node one of its own; a server that is a whole service, by that one's name (etcd=ADDRESS)",
					other, name, n.Shown)
			}
			places[place] = name
			g.nodes[spec.Name], g.specs[spec.Name] = n, spec
		}
	}
	return g, g.checkNames()
}

// checkNames refuses servers that differ but have one name: clients find a relay by its server's
// name.
func (g *Servers) checkNames() error {
	at := map[string]remote.Node{}
	for _, n := range g.list() {
		e, err := endpoint.Parse(n.Address)
		if err != nil || e.Name() == "" {
			continue // it is no URL, or clients are given another address
		}
		if other, taken := at[e.Name()]; taken && other.Shown != n.Shown {
			return fmt.Errorf("--nodes: %s at %s and %s at %s have the same name: give each server a name of its own (--connect-to NAME:PORT=ADDRESS:PORT)",
				other.Name, other.Shown, n.Name, n.Shown)
		}
		at[e.Name()] = n
	}
	return nil
}

// nodesToGive are the nodes that an address can be given of, by the names that
// they can be called. A service is called by its own name where one server can
// be all of it: that one is each of its nodes then.
func nodesToGive() map[string][]backends.NodeSpec {
	specs := map[string][]backends.NodeSpec{}
	for _, k := range backends.Kinds() {
		if k.Promotes() { // the one knows the others, and where clients look for them
			specs[k.Name] = []backends.NodeSpec{k.Entry()}
			continue
		}
		for _, n := range k.Nodes {
			specs[ComposeName(k, n)] = []backends.NodeSpec{n}
		}
		if len(k.Nodes) == 1 || k.Alone {
			specs[k.Name] = k.Nodes
		}
	}
	return specs
}

// parseNode is the node at an address: host:port, or a URL.
func (g *Servers) parseNode(spec backends.NodeSpec, address string, files endpoint.Files) (remote.Node, error) {
	n := remote.Node{Name: spec.Name, Port: spec.Port}
	address, err := filled(address)
	if err != nil {
		return n, err
	}
	redact.Addresses(address)
	at, err := endpoint.Parse(address)
	if err != nil {
		return n, err
	}
	if err := suitsProgram(at, spec.Speaks()); err != nil {
		return n, err
	}
	n.Shown = at.String()
	if at, err = at.With(files).Absolute(); err != nil {
		return n, err
	}
	if at.Scheme() != "" {
		n.Address = at.Address()
		n.Port, _ = strconv.Atoi(at.Port()) // Parse has looked
	}
	if at.Sealed() && at.Name() == "" {
		n.Leads = []string{at.HostPort()} // its certificate is for that address
	}
	n.Dial = g.dials(at)
	return n, nil
}

// dials returns a function that connects to a server, and says what must be said first.
func (g *Servers) dials(at endpoint.Endpoint) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := g.dial(ctx, "tcp", at.HostPort())
		user, password := at.Account()
		if err != nil || at.Scheme() != "redis" || password == "" {
			return conn, err
		}
		// An adapter that is given the connection need not know the password.
		if err := backends.LogInRedis(ctx, conn, user, password); err != nil {
			conn.Close()
			return nil, fmt.Errorf("log in: %w", err)
		}
		return conn, nil
	}
}

// suitsProgram refuses a URL of another kind of server, and one that clients could not follow.
func suitsProgram(at endpoint.Endpoint, program string) error {
	service, ok := probe.Lookup(program)
	if at.Scheme() == "" && !service.Named {
		return nil
	}
	if !ok {
		return fmt.Errorf("%s: want HOST:PORT; a URL is understood of %s", at, strings.Join(probe.Programs(), ", "))
	}
	if !service.Takes(at.Scheme()) {
		return fmt.Errorf("%s: that is no address of %s: want %s%s", at, program, plain(service), service.Forms)
	}
	if ip, err := netip.ParseAddr(at.Host()); err == nil && at.Sealed() && !ip.Is4() {
		return fmt.Errorf("%s: the private network has no addresses of IPv6: give the name in the server's certificate, and where it leads by --connect-to NAME:%s=%s", at, at.Port(), at.HostPort())
	}
	return nil
}

// plain is the form of an address that is no URL, where there is one.
func plain(s probe.Service) string {
	if s.Named {
		return ""
	}
	return "HOST:PORT or "
}

// variable is how an address refers to a variable of the environment.
var variable = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// mostAddress bounds a file that holds an address.
const mostAddress = 4096

// filled is an address with what it refers to: ${NAME} is a variable of the environment, and @FILE
// a file that holds the address. So no password need stand on a command line. A variable that is
// the user or the password need not be written as URLs want it.
func filled(address string) (string, error) {
	if file, ok := strings.CutPrefix(address, "@"); ok {
		text, err := addressIn(file)
		if err != nil {
			return "", err
		}
		address = strings.TrimSpace(string(text))
	}
	before, login, after := parted(address)
	var missing []string
	fill := func(text string, written func(string) string) string {
		return variable().ReplaceAllStringFunc(text, func(found string) string {
			name := variable().FindStringSubmatch(found)[1]
			value, ok := os.LookupEnv(name)
			if !ok {
				missing = append(missing, name)
			}
			return written(value)
		})
	}
	asItIs := func(value string) string { return value }
	address = fill(before, asItIs) + fill(login, escaped) + fill(after, asItIs)
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment has no %s: set it", strings.Join(missing, ", "))
	}
	return address, nil
}

// addressIn reads a file that holds an address. It may be a pipe, as a shell's <(…) is.
func addressIn(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := outside.Bounded(f, mostAddress)
	if errors.Is(err, outside.ErrTooLong) {
		return nil, fmt.Errorf("%s holds more than an address", file)
	}
	return text, err
}

// escaped is a text as the user or the password of a URL.
func escaped(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// parted is a URL in three parts, of which the second is user and password; of another text all is
// in the first.
func parted(address string) (before, login, after string) {
	begin, end := strings.Index(address, "://"), strings.LastIndex(address, "@")
	if begin < 0 || end < begin {
		return address, "", ""
	}
	begin += len("://")
	return address[:begin], address[begin:end], address[end:]
}

// dialer connects in the user's own network, and goes another way for the names of --connect-to.
func (f Where) dialer() (endpoint.Dial, error) {
	ways := map[string]string{}
	for _, flag := range f.ConnectTo {
		name, at, _ := strings.Cut(flag, "=")
		for _, side := range []string{name, at} {
			if e, err := endpoint.Parse(side); err != nil || e.Scheme() != "" {
				return nil, fmt.Errorf("--connect-to %s: want NAME:PORT=ADDRESS:PORT", flag)
			}
		}
		ways[name] = at
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if other, ok := ways[addr]; ok {
			addr = other
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}, nil
}

// Target is a server that can be probed.
type Target struct {
	Name    string
	At      endpoint.Endpoint
	Dial    endpoint.Dial
	Service probe.Service
}

// Targets are the servers that were given, each once, in the order of their names.
func (g *Servers) Targets() (all []Target, err error) {
	for _, n := range g.list() {
		at, err := endpoint.Parse(cmp.Or(n.Address, n.Shown))
		if err != nil {
			return nil, err
		}
		service, ok := g.kindOf(n)
		if !ok {
			return nil, fmt.Errorf("%s is a server of %s: what can be probed are %s", n.Name, g.program(n).Name, strings.Join(probe.Programs(), ", "))
		}
		all = append(all, Target{n.Name, at, g.dial, service})
	}
	return all, nil
}
