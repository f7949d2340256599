package redis

import (
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"
)

func lockKey(key string) string  { return "lock:{" + key + "}" }
func tokenKey(key string) string { return "token:{" + key + "}" }

// Script.Run sends the script's hash, and the script itself when the server answers NOSCRIPT. That is no retry:
// the answer says that nothing was carried out.
var (
	// deleteOwn deletes the key if it has our value.
	deleteOwn = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)

	// extendOwn sets the expiry of the key anew if it has our value.
	extendOwn = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)

	// takeWithToken takes the key and a token in one step, so that tokens rise in the order of grants. If the key has our
	// value already, an earlier attempt took it: nobody can have been granted it since, so the counter still stands at that
	// attempt's token. It returns 0 when another has the key.
	takeWithToken = goredis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return redis.call('INCR', KEYS[2])
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return tonumber(redis.call('GET', KEYS[2]))
end
return 0`)
)

// takeSetnx takes the key with a plain SET; where an earlier attempt may have done so, it looks for its own value.
func takeSetnx(ctx context.Context, l *lock, key, value string, again bool) (int64, bool, error) {
	err := l.client.SetArgs(ctx, lockKey(key), value, goredis.SetArgs{Mode: "NX", TTL: l.ttl}).Err()
	if err != goredis.Nil {
		return 0, err == nil, err
	}
	if !again {
		return 0, false, nil
	}
	n, err := extendOwn.Run(ctx, l.client, []string{lockKey(key)}, value, l.ttl.Milliseconds()).Int64()
	return 0, err == nil && n == 1, err
}

func takeFenced(ctx context.Context, l *lock, key, value string, _ bool) (int64, bool, error) {
	token, err := takeWithToken.Run(ctx, l.client, []string{lockKey(key), tokenKey(key)}, value, l.ttl.Milliseconds()).Int64()
	if err == nil && token < 0 {
		err = fmt.Errorf("the token counter %s stands at %d; something else wrote to it", tokenKey(key), token)
	}
	return token, err == nil && token > 0, err
}

func (l *lock) compareAndDelete(ctx context.Context, key, value string) (deleted bool, err error) {
	defer l.cutter.watch(ctx)()
	n, err := deleteOwn.Run(ctx, l.client, []string{lockKey(key)}, value).Int64()
	return n == 1, err
}
