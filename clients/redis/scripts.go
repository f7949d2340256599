package redis

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"
)

// LockKey is the name of the server's key for a lock.
func LockKey(key string) string { return "lock:{" + key + "}" }

func tokenKey(key string) string { return "token:{" + key + "}" }

// Script.Run sends the script's hash, and the script itself when the server answers
// NOSCRIPT. That is no retry: the answer says that nothing was carried out.
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

	// takeWithToken takes the key and a token in one step, so that tokens rise in
	// the order of grants. If the key has our value already, an earlier attempt
	// took it: nobody can have been granted it since, so the counter still stands
	// at that attempt's token. It returns 0 when another has the key.
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

// takeSetnx takes the key with a plain SET; where an earlier attempt may have
// done so, it looks for its own value.
func takeSetnx(ctx context.Context, r Request) (Answer, error) {
	err := r.Client.SetArgs(ctx, LockKey(r.Key), r.Value, goredis.SetArgs{Mode: "NX", TTL: r.TTL}).Err()
	if err != goredis.Nil {
		return Answer{Taken: err == nil}, err
	}
	if !r.Again {
		return Answer{}, nil
	}
	taken, err := r.Run(ctx, extendOwn, LockKey(r.Key))
	return Answer{Taken: taken == 1}, err
}

func takeFenced(ctx context.Context, r Request) (Answer, error) {
	token, err := r.Run(ctx, takeWithToken, LockKey(r.Key), tokenKey(r.Key))
	if err == nil && token < 0 {
		err = fmt.Errorf("the token counter %s stands at %d; something else wrote to it", tokenKey(r.Key), token)
	}
	return Answer{Token: token, Taken: err == nil && token > 0}, err
}

// FreeOwn deletes the key if it has the value. It is how all but the locks with a queue and the
// semaphore are given back.
func FreeOwn(ctx context.Context, r Request) (deleted bool, err error) {
	return r.Confirms(ctx, deleteOwn, LockKey(r.Key))
}

// HasOwn reports whether the key has the value.
func HasOwn(ctx context.Context, r Request) (has bool, err error) {
	value, err := r.Client.Get(ctx, LockKey(r.Key)).Result()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return err == nil && value == r.Value, err
}
