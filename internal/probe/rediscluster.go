package probe

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Member is one of several servers that send clients on to each other.
type Member struct {
	// At is where clients are sent; Also are other addresses of it that are announced. Each is
	// host:port.
	At   string
	Also []string
	// Replica: it has copies of what another has.
	Replica bool
	// Sentinel: it is none of the Redis servers, but knows them.
	Sentinel bool
	// Unmet says why it does not answer where it is announced; nil: it does, or that is not known.
	Unmet error
}

// gatherer is a server that may be one of several that know each other.
type gatherer interface {
	members(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) ([]Member, error)
}

// Members asks a server for all of its cluster, in the order of their addresses. None: it is alone.
func (s Service) Members(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) ([]Member, error) {
	one, err := s.open(ctx, at, dial)
	if err != nil {
		return nil, s.Explain(at, err)
	}
	defer one.close()
	if g, ok := one.(gatherer); ok {
		return g.members(ctx, at, dial)
	}
	return nil, nil
}

func (r *redisServer) members(context.Context, endpoint.Endpoint, endpoint.Dial) ([]Member, error) {
	return r.all, nil
}

// gather asks CLUSTER SLOTS, as clients do. A user who may not ask INFO is not told whether there
// is a cluster.
func (r *redisServer) gather(ctx context.Context, at endpoint.Endpoint) ([]Member, error) {
	text, err := r.one.Info(ctx, "cluster").Result()
	if err != nil && answered(err, "NOPERM") == "" {
		return nil, fmt.Errorf("INFO cluster: %w", err)
	}
	if err != nil || fields(text)["cluster_enabled"] != "1" {
		return nil, nil
	}
	//lint:ignore SA1019 CLUSTER SHARDS is of Redis 7, and many a managed cluster is older
	slots, err := r.one.ClusterSlots(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("CLUSTER SLOTS: %w", err)
	}
	var all []Member
	for _, s := range slots {
		for i, node := range s.Nodes {
			m := member(node, at)
			m.Replica = i > 0
			if !slices.ContainsFunc(all, func(other Member) bool { return other.At == m.At }) {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

// member reads what a cluster announces of a node. One of which it does not say where it is, is
// where the client has asked.
func member(node goredis.ClusterNode, at endpoint.Endpoint) (m Member) {
	host, port, _ := net.SplitHostPort(node.Addr)
	if unknown(host) {
		host = at.Host()
	}
	m.At = net.JoinHostPort(host, port)
	for _, name := range []string{"ip", "hostname"} {
		if other := node.NetworkingMetadata[name]; !unknown(other) && other != host {
			m.Also = append(m.Also, net.JoinHostPort(other, port))
		}
	}
	return m
}

// unknown reports whether a cluster says so of a host.
func unknown(host string) bool { return host == "" || host == "?" }

// clusterMode says which nodes a cluster has, and what that means for a lock.
func clusterMode(all []Member) Fact {
	var masters, replicas []string
	for _, m := range all {
		if m.Replica {
			replicas = append(replicas, m.At)
		} else {
			masters = append(masters, m.At)
		}
	}
	text := fmt.Sprintf("a Redis Cluster, masters %s", strings.Join(masters, ", "))
	if len(replicas) > 0 {
		text += ", replicas " + strings.Join(replicas, ", ")
	}
	return Fact{Name: "mode", Text: text, Warning: "replicas are behind their masters: a failover may forget a lock that was granted. " +
		"Locks of one key work, locks of several keys and those that need independent servers do not"}
}
