package probe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
)

var redisService = Service{
	Program: "redis",
	Forms:   "redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss://… with TLS",
	schemes: []string{"redis", "rediss"},
	ttl:     time.Second, late: time.Second,
	redirects: true,
	open:      openRedis,
	denied:    func(err error) string { return answered(err, "NOPERM") },
	login: func(err error) bool {
		return answered(err, "NOAUTH") != "" || answered(err, "WRONGPASS") != "" || answered(err, "ERR AUTH") != ""
	},
}

// answered returns the server's answer if it begins so.
func answered(err error, prefix string) string {
	var answer goredis.Error
	if errors.As(err, &answer) && strings.HasPrefix(answer.Error(), prefix) {
		return answer.Error()
	}
	return ""
}

// silence is a logger that says nothing.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// redisServer is one, with a client of it alone, and one that follows where the server sends it.
type redisServer struct {
	one    *goredis.Client
	client goredis.UniversalClient
	all    []Member // of its cluster; none: it has no cluster
	// known: its cluster is known to the user who gave the address.
	known bool
}

func openRedis(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	options, err := redisurl.Options(at.Address(), dial)
	if err != nil {
		return nil, err
	}
	options.PoolSize = 1
	goredis.SetLogger(silence{}) // what goes wrong is in the errors
	one := goredis.NewClient(options)
	r := &redisServer{one: one, client: one, known: at.Clusters()}
	if err := r.follow(ctx, at, dial); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// follow connects, and has the server's cluster answer where it has one.
func (r *redisServer) follow(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) error {
	err := r.one.Ping(ctx).Err()
	if err == nil {
		r.all, err = r.gather(ctx, at)
	}
	if err != nil || len(r.all) == 0 {
		return err
	}
	var addrs []string
	for _, m := range r.all {
		addrs = append(addrs, sentOn(at, m.At).Address())
	}
	r.client, _, err = redisurl.Client(addrs, dial, nil)
	return err
}

// At is the address of one of several servers, with whatever clients need from the address under
// which these were found.
func (s Service) At(found endpoint.Endpoint, m Member) endpoint.Endpoint {
	switch {
	case s.redirects:
		return sentOn(found, m.At)
	case m.Sentinel:
		return found.At(m.At)
	}
	return found.Server(m.At)
}

// sentOn is the address of a server that clients are sent on to.
func sentOn(found endpoint.Endpoint, at string) endpoint.Endpoint {
	if found.Scheme() == "" {
		found, _ = endpoint.Parse("redis://" + found.HostPort()) // it is an address already
	}
	if !found.Clusters() {
		found = found.Clustered(found.Host())
	}
	return found.At(at)
}

// lockKey is where the locks that come with lockchaos keep a key.
func lockKey(key string) string { return "lock:{" + key + "}" }

func (r *redisServer) prepare(context.Context, string) error { return nil }

func (r *redisServer) create(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	err := r.client.SetArgs(ctx, lockKey(key), value, goredis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// swapOwn sets a key that has the value, and keeps its expiry.
var swapOwn = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
	return 1
end
return 0`)

func (r *redisServer) swap(ctx context.Context, key, old, fresh string) (bool, error) {
	n, err := swapOwn.Run(ctx, r.client, []string{lockKey(key)}, old, fresh).Int()
	return n == 1, err
}

func (r *redisServer) get(ctx context.Context, key string) (string, error) {
	value, err := r.client.Get(ctx, lockKey(key)).Result()
	if errors.Is(err, goredis.Nil) {
		return "", nil
	}
	return value, err
}

// mostDeleted bounds the keys that are deleted in one round trip.
const mostDeleted = 500

func (r *redisServer) clear(ctx context.Context, _ string, keys []string) error {
	for some := range slices.Chunk(keys, mostDeleted) {
		// one by one: a cluster has them on several nodes
		if _, err := r.client.Pipelined(ctx, func(all goredis.Pipeliner) error {
			for _, key := range some {
				all.Del(ctx, lockKey(key))
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *redisServer) close() {
	_ = r.one.Close()
	if len(r.all) > 0 && r.client != nil {
		_ = r.client.Close()
	}
}
