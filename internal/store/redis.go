package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

//go:embed redis.lua
var redisScript string

// redisKeeper is the engine on a Redis server: a request is one Lua script, which Redis runs whole
// and alone. A key's state is a hash, the ledger a stream whose entries bear the ledger's numbers.
type redisKeeper struct {
	addr, name, version string
	fencing             Fencing
	client              *redis.Client
	request             *redis.Script
	epoch               string
}

// claimScript begins an epoch.
var claimScript = redis.NewScript(`return {redis.call('HINCRBY', KEYS[1], 'epoch', 1), redis.call('HGET', KEYS[1], 'seq') or '0'}`)

func openRedis(ctx context.Context, s Spec) (Engine, error) {
	k := &redisKeeper{addr: s.Addrs[0], name: s.Name, fencing: s.Fencing, request: redis.NewScript(redisScript)}
	k.client = redis.NewClient(&redis.Options{
		Addr:          k.addr,
		Protocol:      2,
		MaxRetries:    -1, // a hidden retry could write twice
		DialerRetries: 1,
		ReadTimeout:   -1, WriteTimeout: -1, // the context decides
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	info, err := k.client.Info(ctx, "server").Result()
	if _, answered := errors.AsType[redis.Error](err); answered {
		info = "\nredis_version:stand-in" // it answers, and has no such section
	} else if err != nil {
		return nil, errors.Join(fmt.Errorf("ask redis at %s who it is: %w", k.addr, err), k.Close())
	}
	k.version = RedisVersion(info)
	r, err := newRemote(ctx, k, s.Fencing)
	if err != nil {
		return nil, fmt.Errorf("open the ledger in redis at %s: %w", k.addr, err)
	}
	return r, nil
}

// RedisVersion reads in the answer to INFO which server it is: "7.0.15", or "Valkey 8.0.1", which
// has a redis_version too, that of the Redis whose commands it knows. "" is neither.
func RedisVersion(info string) string {
	for _, server := range []struct{ field, name string }{{"valkey_version:", "Valkey "}, {"redis_version:", ""}} {
		if _, rest, ok := strings.Cut(info, "\n"+server.field); ok {
			version, _, _ := strings.Cut(rest, "\r\n")
			return server.name + version
		}
	}
	return ""
}

func (k *redisKeeper) key(what string) string { return k.name + ":" + what }

// Version names the engine and its server's version.
func (k *redisKeeper) Version() string { return "redis " + k.version }

func (k *redisKeeper) claim(ctx context.Context) (last int64, err error) {
	reply, err := claimScript.Run(ctx, k.client, []string{k.key("meta")}).Slice()
	if err != nil {
		return 0, fmt.Errorf("redis at %s: %w", k.addr, err)
	}
	k.epoch = fmt.Sprint(reply[0])
	return strconv.ParseInt(fmt.Sprint(reply[1]), 10, 64)
}

// carryOut runs the script. Numbers travel as text: Lua's own are exact up to 2^53 only.
func (k *redisKeeper) carryOut(ctx context.Context, e *Entry) error {
	keys := []string{k.key("meta"), k.key("register:" + e.Key), k.key("ledger")}
	reply, err := k.request.Run(ctx, k.client, keys, k.epoch, e.At, flag(e.Write), e.Mode, e.Base, e.Token, e.Grant,
		e.Value,
		flag(k.fencing.Writes), flag(k.fencing.Reads), flag(k.fencing.AcceptsEqual), e.Key, e.Op,
		e.Client).StringSlice()
	switch {
	case err != nil:
		return fmt.Errorf("redis at %s: %w", k.addr, err)
	case len(reply) == 1 && reply[0] == "overflow":
		return overflow(e)
	case len(reply) == 1 && reply[0] == "epoch":
		return fmt.Errorf("redis at %s: %w", k.addr, errEpoch)
	case len(reply) != 7:
		return fmt.Errorf("redis at %s answered %q, which is not understood", k.addr, reply)
	}
	e.Refused, e.Conflict = reply[0] == "refused", reply[0] == "conflict"
	return numbers(reply[1:], &e.Seq, &e.At, &e.Version, &e.Value, &e.Replaced, &e.Fence)
}

func (k *redisKeeper) entries(ctx context.Context, after int64, limit int) ([]Entry, error) {
	lines, err := k.client.XRangeN(ctx, k.key("ledger"), fmt.Sprintf("(%d-0", after), "+", int64(limit)).Result()
	if err != nil {
		return nil, fmt.Errorf("redis at %s: %w", k.addr, err)
	}
	var entries []Entry
	for _, line := range lines {
		var e Entry
		field := func(name string) string { s, _ := line.Values[name].(string); return s }
		var client int64
		err := numbers([]string{strings.TrimSuffix(line.ID, "-0"), field("at"), field("op"), field("grant"),
			field("client"), field("token"),
			field("version"), field("value"), field("replaced"), field("fence"), field("base")},
			&e.Seq, &e.At, &e.Op, &e.Grant, &client, &e.Token, &e.Version, &e.Value, &e.Replaced, &e.Fence, &e.Base)
		if err != nil {
			return nil, fmt.Errorf("redis at %s: entry %s of the ledger: %w", k.addr, line.ID, err)
		}
		e.Key, e.Mode, e.Client, e.Write = field("key"), field("mode"), int32(client), field("write") == "1"
		e.Refused, e.Conflict = field("outcome") == "refused", field("outcome") == "conflict"
		entries = append(entries, e)
	}
	return entries, nil
}

// Close gives the connections up.
func (k *redisKeeper) Close() error { return k.client.Close() }

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numbers reads texts into places, one each.
func numbers(texts []string, into ...*int64) (err error) {
	for i, text := range texts {
		if *into[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return err
		}
	}
	return nil
}
