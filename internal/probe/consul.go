package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/consulurl"
)

var consulService = Service{
	Program: "consul",
	Forms:   "http://:TOKEN@HOST:PORT, or https://… with TLS",
	schemes: []string{"http", "https"},
	under:   []string{"lockchaos/"},
	open:    openConsul,
	denied: func(err error) string {
		if body := forbidden(err); !strings.Contains(body, unknownToken) {
			return body
		}
		return ""
	},
	login: func(err error) bool { return strings.Contains(forbidden(err), unknownToken) },
}

// unknownToken is how Consul answers a token that it does not know.
const unknownToken = "ACL not found"

// forbidden is the answer of a server that refuses a request; "": it is another error.
func forbidden(err error) string {
	if answer, ok := errors.AsType[api.StatusError](err); ok && answer.Code == http.StatusForbidden {
		return strings.TrimSpace(answer.Body)
	}
	return ""
}

type consulServer struct {
	*api.Client
	transport *http.Transport
}

func openConsul(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	config, transport, err := consulurl.Config([]string{at.Address()}, dial)
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(config)
	if err != nil {
		return nil, err
	}
	c := &consulServer{client, transport}
	if _, err := c.self(ctx); err != nil {
		c.close()
		answer, answered := errors.AsType[api.StatusError](err)
		if answered && strings.Contains(answer.Body, "HTTPS server") {
			return nil, errSecure
		}
		return nil, err
	}
	return c, nil
}

// agent is what a server says of itself.
type agent struct {
	Config      struct{ Version, Datacenter, NodeName string }
	DebugConfig struct{ SessionTTLMin string }
}

// self asks the server what it is. The right to that is agent:read.
func (c *consulServer) self(ctx context.Context) (a agent, err error) {
	_, err = c.Raw().Query("/v1/agent/self", &a, (&api.QueryOptions{}).WithContext(ctx))
	return a, err
}

// sessionTTL is the shortest life of a session that every Consul grants.
const sessionTTL = "10s"

// prepare opens a session and ends it: locks have one each.
func (c *consulServer) prepare(ctx context.Context, prefix string) error {
	write := (&api.WriteOptions{}).WithContext(ctx)
	id, _, err := c.Session().Create(&api.SessionEntry{Name: prefix, TTL: sessionTTL}, write)
	if err == nil {
		_, err = c.Session().Destroy(id, write)
	}
	return err
}

// create writes a key that has never been there. Only sessions expire, after 10 s by default.
func (c *consulServer) create(ctx context.Context, key, value string, _ time.Duration) (bool, error) {
	return c.put(ctx, &api.KVPair{Key: key, Value: []byte(value)})
}

func (c *consulServer) put(ctx context.Context, pair *api.KVPair) (bool, error) {
	done, _, err := c.KV().CAS(pair, (&api.WriteOptions{}).WithContext(ctx))
	return done, err
}

// read asks the leader, which makes sure that it is one.
func (c *consulServer) read(ctx context.Context, key string) (*api.KVPair, error) {
	pair, _, err := c.KV().Get(key, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
	return pair, err
}

func (c *consulServer) swap(ctx context.Context, key, old, fresh string) (bool, error) {
	pair, err := c.read(ctx, key)
	if err != nil || pair == nil || string(pair.Value) != old {
		return false, err
	}
	return c.put(ctx, &api.KVPair{Key: key, Value: []byte(fresh), ModifyIndex: pair.ModifyIndex})
}

func (c *consulServer) get(ctx context.Context, key string) (string, error) {
	pair, err := c.read(ctx, key)
	if err != nil || pair == nil {
		return "", err
	}
	return string(pair.Value), nil
}

func (c *consulServer) clear(ctx context.Context, prefix string, _ []string) error {
	_, err := c.KV().DeleteTree(prefix, (&api.WriteOptions{}).WithContext(ctx))
	return err
}

func (c *consulServer) close() { c.transport.CloseIdleConnections() }

// facts asks the server for itself, its leader and its peers. It writes nothing.
func (c *consulServer) facts(ctx context.Context) ([]Fact, error) {
	began := time.Now()
	self, err := c.self(ctx)
	if err != nil {
		return nil, err
	}
	trip := time.Since(began)
	asked := (&api.QueryOptions{}).WithContext(ctx)
	leader, err := c.Status().LeaderWithQueryOptions(asked)
	if err != nil {
		return nil, fmt.Errorf("ask for the leader: %w", err)
	}
	peers, err := c.Status().PeersWithQueryOptions(asked)
	if err != nil {
		return nil, fmt.Errorf("ask for the servers: %w", err)
	}
	role := Fact{Name: "role", Text: self.Config.NodeName + ", the leader is " + leader}
	if leader == "" {
		role.Text, role.Warning = self.Config.NodeName+", no leader is known", "without a leader nothing is written"
	}
	many := Fact{Name: "replication", Text: fmt.Sprintf("%d servers in the data centre %s", len(peers), self.Config.Datacenter)}
	if len(peers) < leastServers {
		many.Warning = "fewer than three servers stop when one is away, and one that loses its disk forgets all locks"
	}
	return []Fact{{Name: "version", Text: "Consul " + self.Config.Version}, role, many,
		{Name: "clock", Text: "Consul tells no time; its sessions run by the leader's monotonic clock"},
		{Name: "round trip", Text: trip.Round(time.Microsecond).String()},
		{Name: "persistence", Text: "each write is on the disks of a majority before it is answered"},
		{Name: "eviction", Text: "none"}, sessionLimit(self.DebugConfig.SessionTTLMin)}, nil
}

// sessionLimit says how short a session may be.
func sessionLimit(told string) Fact {
	f := Fact{Name: "limits", Text: "sessions of " + told + " or longer, kept for up to twice as long"}
	shortest, err := time.ParseDuration(told)
	switch {
	case err != nil:
		f.Text = "it does not tell how short a session may be"
	case shortest == 0:
		f.Text = "sessions of " + sessionTTL + " or longer, kept for up to twice as long"
	}
	return f
}
