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

type redisServer struct{ client *goredis.Client }

func openRedis(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	options, err := redisurl.Options(at.Address(), dial)
	if err != nil {
		return nil, err
	}
	options.PoolSize = 1
	goredis.SetLogger(silence{}) // what goes wrong is in the errors
	r := &redisServer{goredis.NewClient(options)}
	if err := r.client.Ping(ctx).Err(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
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

// mostDeleted bounds one DEL.
const mostDeleted = 500

func (r *redisServer) clear(ctx context.Context, _ string, keys []string) error {
	for some := range slices.Chunk(keys, mostDeleted) {
		var all []string
		for _, key := range some {
			all = append(all, lockKey(key))
		}
		if err := r.client.Del(ctx, all...).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (r *redisServer) close() { _ = r.client.Close() }
