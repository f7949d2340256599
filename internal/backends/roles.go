package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// Promotes reports whether the service has a primary, replicas, and watchers that
// promote one of them when the primary is gone.
func (k Kind) Promotes() bool { return k.Name == redisFailover.Name }

// errPromotes: the service has no roles to tell of.
var errPromotes = errors.New("it has no replica that could be promoted")

// servers are the nodes that are primary or replica.
func (s *Service) servers() (all []*Node) {
	for _, n := range s.Nodes {
		if n.spec.Port == redisPort {
			all = append(all, n)
		}
	}
	return all
}

// Replicas returns the names of all servers that replicate each other, whichever is the primary.
func (s *Service) Replicas() (names []string) {
	for _, n := range s.servers() {
		names = append(names, n.Name)
	}
	return names
}

// sentinels are the nodes that watch the servers.
func (s *Service) sentinels() []*Node {
	return slices.DeleteFunc(slices.Clone(s.Nodes), func(n *Node) bool { return n.spec.Port != sentinelPort })
}

// Primary asks the sentinels which server is the primary, and that one whether it is. Most of them
// must answer. Unlike with Leader, it is an error if those that answer don't all agree.
func (s *Service) Primary(ctx context.Context) (name string, err error) {
	if k, _ := Lookup(s.Name); !k.Promotes() {
		return "", fmt.Errorf("service %s: %w", s.Name, errPromotes)
	}
	sentinels := s.sentinels()
	votes, silent := s.votes(ctx, sentinels, namedBy)
	answers := 0
	for i, of := range votes {
		if of == "" {
			continue
		}
		if answers++; name != "" && of != name {
			return "", sentinels[i].failed(fmt.Errorf("it takes %s for the primary, another sentinel %s", of, name))
		}
		name = of
	}
	if 2*answers <= len(sentinels) {
		return "", fmt.Errorf("%d of %d sentinels name a primary, which is not most of them: %w", answers, len(sentinels), silent)
	}
	role, err := s.Role(ctx, name)
	if err == nil && role != RolePrimary {
		err = fmt.Errorf("the sentinels take %s for the primary, which says that it is: %s", name, role)
	}
	return name, err
}

// namedBy asks a sentinel which server is the primary.
func namedBy(ctx context.Context, s *Service, sentinel *Node) (string, error) {
	info, err := askRedis(ctx, sentinel.Addr, "INFO sentinel")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(info) { // master0:name=…, and others that they watch
		if _, told, is := strings.Cut(line, ":"); is && strings.HasPrefix(told, "name="+sentinel.watches()+",") {
			return s.masterOf(strings.TrimSpace(told))
		}
	}
	return "", fmt.Errorf("it watches no primary that is called %s", sentinel.watches())
}

// watches is what a sentinel calls the primary.
func (n *Node) watches() string {
	if at, err := endpoint.Parse(n.Addr); err == nil && at.Sentinel() {
		return at.Database()
	}
	return logins.RedisPrimary
}

// masterOf finds the server in what a sentinel says of the primary:
// "name=lockchaos,status=ok,address=10.88.0.2:6379,slaves=1,sentinels=3". In
// containers the address may be a name.
func (s *Service) masterOf(told string) (string, error) {
	_, rest, _ := strings.Cut(told, "address=")
	addr, _, _ := strings.Cut(rest, ",")
	host, port, err := net.SplitHostPort(addr)
	for _, n := range s.servers() {
		if at, _ := endpoint.Parse(n.Addr); n.lent && at.HostPort() == addr {
			return n.Name, nil
		}
		if err == nil && (n.Host.Addr.String() == host || n.Name == host) && strconv.Itoa(n.spec.Port) == port {
			return n.Name, nil
		}
	}
	return "", fmt.Errorf("it names no primary that is known: %q", told)
}

// The roles of a server, as it tells them itself.
const (
	RolePrimary = "primary"
	RoleReplica = "replica in sync"
)

// Role asks a server what it is: RolePrimary, RoleReplica, or a replica whose
// link to its primary is down, in words.
func (s *Service) Role(ctx context.Context, node string) (string, error) {
	for _, n := range s.servers() {
		if n.Name != node {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		info, err := askRedis(ctx, n.Addr, "INFO replication")
		if err != nil {
			return "", n.failed(err)
		}
		switch link := field(info, "master_link_status:"); {
		case field(info, "role:") == "master":
			return RolePrimary, nil
		case link == "up":
			return RoleReplica, nil
		default:
			return "replica, its link " + link, nil
		}
	}
	return "", fmt.Errorf("service %s has no server %s", s.Name, node)
}
