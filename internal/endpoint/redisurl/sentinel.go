package redisurl

import (
	"context"
	"fmt"
	"net"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Failover are the options of a client that asks sentinels for the primary. They are host:port,
// and call the primary as is given, or URLs, redis+sentinel://user:password@host:port/name, which
// are the same but for where each sentinel is: go-redis has one name and one login for all of them.
// Requests are sent once (see Options). ask connects to sentinels, dial to servers.
func Failover(sentinels []string, primary string, ask, dial endpoint.Dial) (*goredis.FailoverOptions, error) {
	plain := Usual()
	o := &goredis.FailoverOptions{MasterName: primary,
		Protocol: plain.Protocol, MaxRetries: plain.MaxRetries, DialerRetries: plain.DialerRetries, PoolSize: plain.PoolSize,
		ContextTimeoutEnabled: plain.ContextTimeoutEnabled, DisableIdentity: plain.DisableIdentity}
	var at endpoint.Endpoint
	for i, address := range sentinels {
		one, err := endpoint.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		if i > 0 && one.At(at.HostPort()).Address() != at.Address() {
			return nil, fmt.Errorf("the sentinels %s and %s differ in more than where they are: give all of them the same name of the primary, user, password and files",
				at, one)
		}
		at = one
		o.SentinelAddrs = append(o.SentinelAddrs, at.HostPort())
	}
	if at.Sentinel() {
		o.MasterName = at.Database()
		o.Username, o.Password = at.Account()
		o.SentinelUsername, o.SentinelPassword = at.Speaker().Account()
	}
	by := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if slices.Contains(o.SentinelAddrs, addr) {
			return ask(ctx, network, addr)
		}
		return dial(ctx, network, addr)
	}
	var err error
	if o.Dialer, err = at.Dialer(by); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return o, nil
}
